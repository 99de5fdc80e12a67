package matrix

import (
	"errors"
	"sync"

	"jmpi/kernels"
)

// memory is what matrices have of a device.
type memory struct {
	mu   sync.Mutex
	used map[kernels.Address]bool
}

// buffer is device memory that grows as needed. What it holds is valid until it is asked for again.
type buffer struct {
	at    kernels.Address
	bytes int64
}

// alloc returns memory of the device.
func (dev *device) alloc(bytes int64) (kernels.Address, error) {
	m := &dev.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	a, err := dev.Alloc(bytes)
	if err == nil {
		if m.used == nil {
			m.used = map[kernels.Address]bool{}
		}
		m.used[a] = true
	}
	return a, err
}

// release gives memory back, once.
func (dev *device) release(a kernels.Address) error {
	m := &dev.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.used[a] {
		return nil
	}
	delete(m.used, a)
	return dev.Backend.Free(a)
}

// freeAll gives all memory back.
func (dev *device) freeAll() error {
	m := &dev.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for a := range m.used {
		err = errors.Join(err, dev.Backend.Free(a))
	}
	clear(m.used)
	return err
}

// panel returns a zero m×n matrix in memory of its own.
func (dev *device) panel(m, n int) (kernels.Panel, error) {
	p := kernels.Panel{M: m, N: n, Ld: dev.leading(m)}
	var err error
	p.Data, err = dev.alloc(p.Bytes())
	return p, err
}

// leading returns the leading dimension of a matrix with m rows. On a GPU it is aligned.
func (dev *device) leading(m int) int {
	l := dev.Limits()
	if l.HostMemory {
		return max(m, 1)
	}
	return max(1, (m+l.Align-1)/l.Align) * l.Align
}

// need returns an m×n matrix in the buffer. What it held is lost, and what it holds now is undefined.
func (b *buffer) need(dev *device, m, n int) (kernels.Panel, error) {
	p := kernels.Panel{M: m, N: n, Ld: dev.leading(m)}
	if p.Bytes() > b.bytes {
		if err := dev.release(b.at); err != nil {
			return p, err
		}
		*b = buffer{}
		at, err := dev.alloc(p.Bytes())
		if err != nil {
			return p, err
		}
		*b = buffer{at, p.Bytes()}
	}
	p.Data = b.at
	return p, nil
}
