package cuda

import (
	"errors"
	"slices"
	"sync"

	"jmpi/kernels"
)

// spare is device memory that the caller has given back, kept for the next allocation of its size. See
// docs/decisions/054-between-the-kernels.md.
type spare struct {
	mu     sync.Mutex
	blocks []spareBlock // the one that was given back last is the last
	bytes  int64        // of all
}

type spareBlock struct {
	address kernels.Address
	bytes   int64
}

// spareShare says how much may be kept in any case, as a share of the device's memory. Beyond that, what is
// kept and what is in use never add up to more than was in use at a time.
const spareShare = 64

// spareSize is the size of a block for so many bytes. All are multiples of a unit, so that matrices of nearly
// the same size follow each other.
func spareSize(bytes int64) int64 {
	const unit = 64 << 10
	return max(1, (bytes+unit-1)/unit) * unit
}

// take returns a block of that size, 0 if there is none.
func (s *spare) take(bytes int64) kernels.Address {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range slices.Backward(s.blocks) {
		if b.bytes == bytes {
			s.blocks = slices.Delete(s.blocks, i, i+1)
			s.bytes -= bytes
			return b.address
		}
	}
	return 0
}

// keep adds a block.
func (s *spare) keep(a kernels.Address, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = append(s.blocks, spareBlock{a, bytes})
	s.bytes += bytes
}

// held returns how many bytes are kept.
func (s *spare) held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// trim releases blocks, the oldest first, until at most so many bytes are kept.
func (s *spare) trim(most int64, release func(kernels.Address) error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.blocks) > 0 && s.bytes > max(0, most) {
		b := s.blocks[0]
		s.blocks = slices.Delete(s.blocks, 0, 1)
		s.bytes -= b.bytes
		err = errors.Join(err, release(b.address))
	}
	return err
}
