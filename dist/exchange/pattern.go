package exchange

import (
	"fmt"
	"unsafe"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// pattern is known content of device memory: 64-bit words that depend on their number and on a seed.
// It is written and read through a block of the device's host memory.
type pattern struct {
	be    kernels.Memory
	host  kernels.Address
	bytes int64 // of host
}

func newPattern(be kernels.Memory, bytes int64) (*pattern, error) {
	host, err := be.AllocHost(bytes)
	if err != nil {
		return nil, err
	}
	return &pattern{be, host, bytes}, nil
}

func (p *pattern) free() error { return p.be.FreeHost(p.host) }

// word i of the pattern of a seed; never 0.
func word(seed, i int64) uint64 { return uint64(i+1)<<16 ^ uint64(seed) }

// write fills bytes of device memory, a multiple of 8.
func (p *pattern) write(device kernels.Address, bytes, seed int64) error {
	return p.each(bytes, func(offset int64, words []uint64) error {
		for i := range words {
			words[i] = word(seed, offset/kernels.WordBytes+int64(i))
		}
		return p.be.Store(device+kernels.Address(offset), p.host, int64(len(words))*kernels.WordBytes)
	})
}

// check compares bytes of device memory with what write has written elsewhere.
func (p *pattern) check(device kernels.Address, bytes, seed int64) error {
	return p.each(bytes, func(offset int64, words []uint64) error {
		if err := p.be.Fetch(p.host, device+kernels.Address(offset),
			int64(len(words))*kernels.WordBytes); err != nil {
			return err
		}
		for i, w := range words {
			if w != word(seed, offset/kernels.WordBytes+int64(i)) {
				return fmt.Errorf("byte %d of %d arrived wrong", offset+int64(i)*kernels.WordBytes, bytes)
			}
		}
		return nil
	})
}

// clear sets bytes of device memory to zero.
func (p *pattern) clear(device kernels.Address, bytes int64) error {
	return p.each(bytes, func(offset int64, words []uint64) error {
		clear(words)
		return p.be.Store(device+kernels.Address(offset), p.host, int64(len(words))*kernels.WordBytes)
	})
}

// each calls f for pieces of device memory with host memory of the same size.
func (p *pattern) each(bytes int64, f func(offset int64, words []uint64) error) error {
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(comm.HostBytes(p.host, p.bytes)))),
		p.bytes/kernels.WordBytes)
	for offset := int64(0); offset < bytes; offset += p.bytes {
		if err := f(offset, words[:min(p.bytes, bytes-offset)/kernels.WordBytes]); err != nil {
			return err
		}
	}
	return nil
}
