package commtest

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"jmpi/kernels"
)

// A Block is memory outside the Go heap, as a back end's buffers are.
type Block struct {
	Bytes  []byte
	mapped []byte
}

// NewBlock returns n ≥ 0 zeroed bytes. Free gives them back.
func NewBlock(n int) (*Block, error) {
	mapped, err := unix.Mmap(-1, 0, max(n, 1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", n, err)
	}
	return &Block{Bytes: mapped[:n:n], mapped: mapped}, nil
}

// Address is where the byte at this offset lies.
func (b *Block) Address(offset int) kernels.Address {
	return kernels.Address(uintptr(unsafe.Pointer(&b.mapped[0]))) + kernels.Address(offset)
}

// Len is the number of bytes.
func (b *Block) Len() int64 { return int64(len(b.Bytes)) }

// Free ends the use of the block.
func (b *Block) Free() error { return unix.Munmap(b.mapped) }

// message is the content of one message: bytes that depend on all of its coordinates.
type message struct{ from, to, tag, number int }

// fill writes the message of this length; check compares.
func (m message) fill(b []byte) {
	s := m.seed()
	for i := range b {
		s = next(s)
		b[i] = byte(s >> 56)
	}
}

func (m message) check(b []byte) error {
	s := m.seed()
	for i := range b {
		s = next(s)
		if b[i] != byte(s>>56) {
			return fmt.Errorf("message %d of tag %d from rank %d to rank %d: byte %d of %d is wrong",
				m.number, m.tag, m.from, m.to, i, len(b))
		}
	}
	return nil
}

func (m message) seed() uint64 {
	s := uint64(1)
	for _, x := range []int{m.from, m.to, m.tag, m.number} {
		s = next(s ^ uint64(x+1))
	}
	return s
}

// next is a step of Knuth's linear congruential generator MMIX.
func next(s uint64) uint64 { return s*6364136223846793005 + 1442695040888963407 }
