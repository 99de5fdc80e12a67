package matio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30

// TestPiecesOfAll: without samples every byte is in one piece.
func TestPiecesOfAll(t *testing.T) {
	const piece = pieceBytes
	for _, size := range []int64{0, 1, piece - 1, piece, piece + 1, 16 * mib, 16*mib + 1, 100*mib + 12345} {
		p := pieces{size: size, all: true}
		end := int64(0)
		for i := range p.count() {
			offset, n := p.at(i)
			if offset != end || n < 1 || n > pieceBytes {
				t.Fatalf("%d bytes: piece %d has %d from %d on, not from %d on", size, i, n, offset, end)
			}
			end += int64(n)
		}
		if end != size {
			t.Errorf("%d bytes: the pieces end at %d", size, end)
		}
	}
}

// TestSamples: the first sample is the head of the file. Each other one begins at a page of its stratum. The
// strata have equal sizes and cover the file. The places are the same whenever they are asked for.
func TestSamples(t *testing.T) {
	for _, size := range []int64{16*mib + 1, 17 * mib, 123456789, gib, 1 << 40} {
		p := pieces{size: size}
		if offset, n := p.at(0); offset != 0 || n != pieceBytes {
			t.Errorf("%d bytes: the first sample has %d bytes from %d on", size, n, offset)
		}
		next, pages := int64(0), (size+pageBytes-1)/pageBytes
		for i := int64(1); i < p.count(); i++ {
			first, end := p.stratum(i)
			if width, least := end-first, pages/(samples-1); first != next || width < least || width > least+1 {
				t.Fatalf("%d bytes: stratum %d has the pages [%d, %d), not from %d on", size, i, first, end, next)
			}
			next = end
			offset, n := p.at(i)
			page := offset / pageBytes
			if offset%pageBytes != 0 || page < first || page >= end || n < 1 || offset+int64(n) > size {
				t.Errorf("%d bytes: sample %d has %d from %d on, stratum [%d, %d)", size, i, n, offset, first, end)
			}
			if again, _ := (pieces{size: size}).at(i); again != offset {
				t.Errorf("%d bytes: sample %d is at %d, then at %d", size, i, offset, again)
			}
		}
		if next != pages {
			t.Errorf("%d bytes: the strata end at page %d of %d", size, next, pages)
		}
	}
}

// TestSamplesMeetATenth: a sample begins in one of a tenth of the blocks of a file, of 4 KiB to 4 MiB. These
// lie in a row, or far apart at equal distances, or in any such pattern.
func TestSamplesMeetATenth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int64{40 * mib, 333*mib + 4097, gib, 100 * gib} {
		p := pieces{size: size}
		for _, block := range []int64{4 * kib, 64 * kib, mib, 4 * mib} {
			blocks := (size + block - 1) / block
			met := func(differs func(b int64) bool) bool {
				for i := int64(1); i < p.count(); i++ {
					if offset, _ := p.at(i); differs(offset / block) {
						return true
					}
				}
				return false
			}
			for _, factor := range append(coprime(rng, 10000, blocks), 1) {
				start := rng.Int64N(blocks)
				if !met(func(b int64) bool { return (b*factor+start)%blocks < (blocks+9)/10 }) {
					t.Errorf("%d bytes, blocks of %d: none is met, factor %d, start %d", size, block, factor, start)
				}
			}
		}
	}
}

// coprime returns count numbers that have no factor in common with n.
func coprime(rng *rand.Rand, count int, n int64) (x []int64) {
	for len(x) < count {
		a, b := 1+rng.Int64N(n), n
		candidate := a
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			x = append(x, candidate)
		}
	}
	return x
}

// TestChecksum: any change changes the Sum of all bytes. A change in a tenth of the pages or in the header
// changes that of samples. The Sum does not depend on the shares.
func TestChecksum(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, cols := range []int64{1, 100, 1700} { // of 8192 bytes; the last has less than 16 MiB
		testChecksum(t, rng, cols*1024, true)
	}
	testChecksum(t, rng, 3000*1024, false) // 23 MiB
}

// testChecksum changes a file of count numbers.
func testChecksum(t *testing.T, rng *rand.Rand, count int64, small bool) {
	image := npyImage(1, "<f8", true, fmt.Sprintf("(%d, 1)", count), make([]byte, 8*count))
	f, err := newFile("a.npy", bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(all bool, shares int) (s Sum) {
		for share := range shares {
			part, err := f.Checksum(all, share, shares)
			if err != nil {
				t.Fatal(err)
			}
			s = s.Plus(part)
		}
		return s
	}
	all, sampled := sum(true, 1), sum(false, 1)
	if shared := sum(true, 7); shared != all {
		t.Errorf("%d numbers: the Sum of all is %x, shared out %x", count, all, shared)
	}
	if shared := sum(false, 3); shared != sampled {
		t.Errorf("%d numbers: the Sum of samples is %x, shared out %x", count, sampled, shared)
	}
	for range 5 {
		at := rng.IntN(len(image)) // one number
		image[at] ^= 1
		if sum(true, 1) == all {
			t.Errorf("%d numbers: the Sum of all is the same after a change of byte %d", count, at)
		}
		if small && sum(false, 1) == sampled {
			t.Errorf("%d numbers: the Sum of a small file is the same after a change of byte %d", count, at)
		}
		image[at] ^= 1

		const ten = 10 * pageBytes
		for from := 0; from+ten <= len(image); from += ten { // one number in a tenth of the pages
			image[from+rng.IntN(ten)] ^= 1
		}
		if len(image) > ten && sum(false, 1) == sampled {
			t.Errorf("%d numbers: the Sum of samples is the same after a tenth of the pages changed", count)
		}
		copy(image[len(image)-int(8*count):], make([]byte, 8*count))
	}
	image[20] ^= 1 // in the header
	if sum(false, 1) == sampled {
		t.Errorf("%d numbers: the Sum of samples is the same after a change of the header", count)
	}
	image[20] ^= 1
	if sum(false, 1) != sampled || sum(true, 1) != all {
		t.Errorf("%d numbers: the Sums are not those of the bytes", count)
	}
}

// TestChecksumOfPlaces: pieces in another order have another Sum.
func TestChecksumOfPlaces(t *testing.T) {
	image := numbers(3 * pieceBytes / 8)
	swapped := slices.Concat(image[pieceBytes:2*pieceBytes], image[:pieceBytes], image[2*pieceBytes:])
	var sums [2]Sum
	for i, data := range [][]byte{image, swapped} {
		f, err := newFile(fmt.Sprintf("a.%dx1.colmajor.f64", len(data)/8), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if sums[i], err = f.Checksum(false, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	if sums[0] == sums[1] {
		t.Error("pieces that changed places have the same Sum")
	}
}
