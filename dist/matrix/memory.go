package matrix

import (
	"errors"
	"sync"

	"jmpi/kernels"
)

// memory is what matrices have of a device.
type memory struct {
	mu    sync.Mutex
	bytes map[kernels.Address]int64
	// what was given back while it is held: memory for others of the same size. To get it from the device, and
	// to give it back, waits for all that is queued
	held  bool
	spare map[kernels.Address]int64
}

// buffer is device memory that grows as needed. What it holds is valid until it is asked for again.
type buffer struct {
	at    kernels.Address
	bytes int64
}

// alloc returns zeroed memory.
func (dev *device) alloc(bytes int64) (kernels.Address, error) {
	m := &dev.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for a, long := range m.spare {
		if long == bytes && bytes > 0 {
			delete(m.spare, a)
			m.bytes[a] = bytes
			words := int(bytes / kernels.WordBytes)
			return a, dev.Zero(kernels.Panel{M: words, N: 1, Ld: words, Data: a})
		}
	}
	return dev.more(bytes)
}

// more returns memory of the device that nobody has had of late. The memory must be locked.
func (dev *device) more(bytes int64) (kernels.Address, error) {
	if err := dev.freeSpare(); err != nil { // so there is never more at a time than without it
		return 0, err
	}
	a, err := dev.Alloc(bytes)
	if err == nil {
		if dev.memory.bytes == nil {
			dev.memory.bytes, dev.memory.spare = map[kernels.Address]int64{}, map[kernels.Address]int64{}
		}
		dev.memory.bytes[a] = bytes
	}
	return a, err
}

// release gives memory back, once.
func (dev *device) release(a kernels.Address) error {
	m := &dev.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	bytes, known := m.bytes[a]
	if !known {
		return nil
	}
	delete(m.bytes, a)
	if m.held {
		m.spare[a] = bytes
		return nil
	}
	return dev.Backend.Free(a)
}

// freeSpare gives the device what is held. The memory must be locked.
func (dev *device) freeSpare() error {
	var err error
	for a := range dev.memory.spare {
		err = errors.Join(err, dev.Backend.Free(a))
	}
	clear(dev.memory.spare)
	return err
}

// freeAll gives all memory back.
func (dev *device) freeAll() error {
	m := &dev.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	err := dev.freeSpare()
	for a := range m.bytes {
		err = errors.Join(err, dev.Backend.Free(a))
	}
	clear(m.bytes)
	return err
}

// Hold keeps memory of matrices that are freed for others of the same size, until what it returns is called.
// In between nobody else should need memory of the devices. On hosts it is of no use.
func (d *Devices) Hold() (release func() error) {
	for _, dev := range d.own {
		dev.memory.held = !d.HostMemory()
	}
	return func() error {
		return d.each(func(_ int, dev *device) error {
			dev.memory.mu.Lock()
			defer dev.memory.mu.Unlock()
			dev.memory.held = false
			return dev.freeSpare()
		})
	}
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
		if b.bytes > 0 {
			if err := dev.Sync(); err != nil {
				return p, err
			}
			if err := dev.release(b.at); err != nil {
				return p, err
			}
		}
		*b = buffer{}
		dev.memory.mu.Lock()
		at, err := dev.more(p.Bytes()) // copies beside what is queued write it
		dev.memory.mu.Unlock()
		if err != nil {
			return p, err
		}
		*b = buffer{at, p.Bytes()}
	}
	p.Data = b.at
	return p, nil
}
