package matio

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
)

const (
	// pieceBytes are read and hashed at once.
	pieceBytes = 64 << 10
	// samples is how many pieces are summed at most, unless all are asked for: 16 MiB.
	samples = 256
	// pageBytes is the unit in which file caches and most file systems keep bytes. Samples begin at a page.
	pageBytes = 4 << 10
)

// Sum is a checksum of a file. Processes can share the work: the Sums of the shares are added.
type Sum [4]uint64

// Plus returns the Sum of two shares.
func (s Sum) Plus(t Sum) Sum {
	for i := range s {
		s[i] += t[i]
	}
	return s
}

// Checksum returns a share of the Sum of the file, 0 ≤ share < shares. The Sum is that of all bytes if all is
// set or there are at most 16 MiB, otherwise that of 256 samples of 64 KiB. The places of the samples depend
// on the size of the file alone. If a tenth of the pages of 4 KiB differ in a copy of the file, wherever they
// lie, its Sum is the same with a probability of at most 0.9²⁵⁵ = 2e-12.
func (f *File) Checksum(all bool, share, shares int) (Sum, error) {
	p := pieces{size: f.size, all: all || f.size <= samples*pieceBytes}
	buffer := make([]byte, pieceBytes)
	var sum Sum
	var err error
	for i := int64(share); i < p.count() && err == nil; i += int64(shares) {
		offset, n := p.at(i)
		if err = readFull(f.r, f.path, buffer[:n], offset); err == nil {
			sum = sum.Plus(SumOf(offset, buffer[:n]))
		}
	}
	if e := f.unchanged(); e != nil {
		err = e
	}
	return sum, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SumOf returns the Sum of a piece of a file. The polynomials of the two CRCs have no common factor and
// degree 64 together. So a change within 64 bits, as that of one number, always changes one of the CRCs. Any
// other change keeps both with a probability of 2⁻⁶⁴. The SHA-256 makes the Sums of the pieces as good as
// independent.
func SumOf(offset int64, piece []byte) (s Sum) {
	var words [16]byte
	binary.LittleEndian.PutUint64(words[:], uint64(offset))
	binary.LittleEndian.PutUint32(words[8:], crc32.ChecksumIEEE(piece))
	binary.LittleEndian.PutUint32(words[12:], crc32.Checksum(piece, castagnoli))
	hash := sha256.Sum256(words[:])
	for w := range s {
		s[w] = binary.LittleEndian.Uint64(hash[8*w:])
	}
	return s
}

// pieces are the parts of a file that a checksum is made of: all, one after the other, or samples. The first
// sample holds the header. There is one more in each of 255 strata of equal size, at a random page of it.
type pieces struct {
	size int64
	all  bool
}

// count returns how many there are.
func (p pieces) count() int64 {
	if p.all {
		return (p.size + pieceBytes - 1) / pieceBytes
	}
	return samples
}

// at returns the place of piece i in the file.
func (p pieces) at(i int64) (offset int64, n int) {
	switch {
	case p.all:
		offset = i * pieceBytes
	case i > 0:
		first, end := p.stratum(i)
		page := first + rand.New(rand.NewPCG(uint64(p.size), uint64(i))).Int64N(end-first)
		offset = page * pageBytes
	}
	return offset, int(min(pieceBytes, p.size-offset))
}

// stratum returns the pages, from the first to before the end, in which sample i > 0 may begin.
func (p pieces) stratum(i int64) (first, end int64) {
	pages := (p.size + pageBytes - 1) / pageBytes
	width, more := pages/(samples-1), pages%(samples-1)
	edge := func(i int64) int64 { return i*width + min(i, more) }
	return edge(i - 1), edge(i)
}
