package matiotest

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

// Damage returns a copy of a file with one to three of the damages that files get and people make: bits that
// flip, bytes that are lost, doubled, moved or overwritten, an end that is missing, one that is too much, and
// words of the format in the place of others.
func Damage(random *rand.Rand, image []byte, words []string) []byte {
	image = slices.Clone(image)
	for range max(1, random.IntN(4)) {
		image = damage(random, image, words)
	}
	return image
}

func damage(random *rand.Rand, image []byte, words []string) []byte {
	if len(image) == 0 {
		return []byte{byte(random.IntN(256))}
	}
	// Half of the damages are where a header is.
	within := len(image)
	if random.IntN(2) == 0 {
		within = min(within, 128)
	}
	at := random.IntN(within)
	length := 1 + random.IntN(min(16, len(image)-at))
	switch random.IntN(9) {
	case 0:
		image[at] ^= 1 << random.IntN(8)
	case 1:
		image[at] = byte(random.IntN(256))
	case 2: // lost
		image = slices.Delete(image, at, at+length)
	case 3: // doubled
		image = slices.Insert(image, at, slices.Clone(image[at:at+length])...)
	case 4:
		image = image[:at]
	case 5: // bytes follow
		for range 1 + random.IntN(16) {
			image = append(image, byte(random.IntN(256)))
		}
	case 6: // moved
		part := slices.Clone(image[at : at+length])
		image = slices.Delete(image, at, at+length)
		image = slices.Insert(image, random.IntN(len(image)+1), part...)
	case 7: // a block that was never written
		clear(image[at : at+length])
	case 8:
		image = exchange(random, image, words)
	}
	return image
}

// exchange puts one of the words in the place of another one that is there, or anywhere.
func exchange(random *rand.Rand, image []byte, words []string) []byte {
	if len(words) == 0 {
		return image
	}
	word := []byte(words[random.IntN(len(words))])
	old := []byte(words[random.IntN(len(words))])
	if at := bytes.Index(image, old); at >= 0 {
		return slices.Replace(image, at, at+len(old), word...)
	}
	return slices.Insert(image, random.IntN(len(image)+1), word...)
}
