package cuda

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// memory keeps the caller's allocations.
type memory struct {
	mu     sync.Mutex
	blocks map[kernels.Address]bool // true: host memory
}

func (m *memory) add(a kernels.Address, host bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocks == nil {
		m.blocks = map[kernels.Address]bool{}
	}
	m.blocks[a] = host
}

// remove forgets an allocation; it fails if there is none of that kind.
func (m *memory) remove(a kernels.Address, host bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is, ok := m.blocks[a]; !ok || is != host {
		return fmt.Errorf("%w: %#x", kernels.ErrAddress, uintptr(a))
	}
	delete(m.blocks, a)
	return nil
}

// usage counts what is allocated on a device, by the caller and by the primitives.
type usage struct {
	mu        sync.Mutex
	sizes     map[kernels.Address]int64
	now, peak int64
}

func (u *usage) add(a kernels.Address, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sizes == nil {
		u.sizes = map[kernels.Address]int64{}
	}
	u.sizes[a] = bytes
	u.now += bytes
	u.peak = max(u.peak, u.now)
}

// remove returns the bytes that were allocated there.
func (u *usage) remove(a kernels.Address) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	bytes := u.sizes[a]
	u.now -= bytes
	delete(u.sizes, a)
	return bytes
}

// room returns how much more may be allocated until it is as much as at any time before.
func (u *usage) room() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.peak - u.now
}

// most returns the largest number of bytes that were allocated at a time.
func (u *usage) most() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.peak
}

func (m *memory) close(d *device) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for a, host := range m.blocks {
		if host {
			err = errors.Join(err, d.freeHost(a))
		} else {
			err = errors.Join(err, d.free(a))
		}
	}
	m.blocks = nil
	return err
}

// alloc returns device memory. The device must be entered.
func (d *device) alloc(bytes int64) (a kernels.Address, err error) {
	if bytes < 0 {
		return 0, fmt.Errorf("%w: %d bytes", kernels.ErrShape, bytes)
	}
	if bytes > d.bytes {
		return 0, fmt.Errorf("%w: %d bytes, the device has %d", kernels.ErrMemory, bytes, d.bytes)
	}
	if err := d.spare.trim(max(d.usage.room()-bytes, d.bytes/spareShare), d.release); err != nil {
		return 0, err
	}
	take := func() error {
		return d.check("cuMemAlloc", nvidia.Invoke(d.cuMemAlloc, uintptr(unsafe.Pointer(&a)),
			uintptr(max(bytes, 1))))
	}
	if err = take(); err != nil && d.spare.held() > 0 { // others may have taken memory of the device
		if err = d.spare.trim(0, d.release); err == nil {
			err = take()
		}
	}
	if err != nil {
		return 0, fmt.Errorf("%d bytes, the device has %d in all: %w", bytes, d.bytes, err)
	}
	d.usage.add(a, bytes)
	return a, nil
}

// allocZero is alloc, zeroed before whatever is queued next.
func (d *device) allocZero(bytes int64) (kernels.Address, error) {
	a, err := d.alloc(bytes)
	if err != nil || bytes == 0 {
		return a, err
	}
	return a, d.zeroBytes(d.stream, a, bytes)
}

func (d *device) zeroBytes(stream uintptr, a kernels.Address, bytes int64) error {
	return d.check("cuMemsetD8Async", nvidia.Invoke(d.cuMemsetD8Async, uintptr(a), 0, uintptr(bytes), stream))
}

// free waits for the work that is queued.
func (d *device) free(a kernels.Address) error {
	d.usage.remove(a)
	return d.release(a)
}

// release gives memory back to the driver.
func (d *device) release(a kernels.Address) error {
	return d.check("cuMemFree", nvidia.Invoke(d.cuMemFree, uintptr(a)))
}

// allocHost returns pinned host memory that all devices of the process know.
func (d *device) allocHost(bytes int64) (a kernels.Address, err error) {
	if bytes < 0 {
		return 0, fmt.Errorf("%w: %d bytes", kernels.ErrShape, bytes)
	}
	return a, d.check("cuMemHostAlloc", nvidia.Invoke(d.cuMemHostAlloc, uintptr(unsafe.Pointer(&a)),
		uintptr(max(bytes, 1)), hostPortable))
}

func (d *device) freeHost(a kernels.Address) error {
	return d.check("cuMemFreeHost", nvidia.Invoke(d.cuMemFreeHost, uintptr(a)))
}

// entered is bound for what is queued on the first lane alone.
func (d *device) entered(operation string, f func() error) error {
	return d.bound(operation, func() error {
		if err := d.meet(); err != nil {
			return err
		}
		return f()
	})
}

// bound calls f on a thread that is bound to the device, and names the operation if it fails.
func (d *device) bound(operation string, f func() error) error {
	err := d.enter()
	if err == nil {
		defer d.leave()
		err = f()
	}
	if err != nil {
		return fmt.Errorf("cuda: %s: %w", operation, err)
	}
	return nil
}

// checked is entered for what was asked for rightly; otherwise it returns what is wrong.
func (d *device) checked(operation string, wrong error, f func() error) error {
	if wrong != nil {
		return fmt.Errorf("cuda: %s: %w", operation, wrong)
	}
	return d.entered(operation, f)
}

// Alloc waits until the memory is zero. It waits for what is queued only where memory is used again.
func (d *device) Alloc(bytes int64) (a kernels.Address, err error) {
	size := bytes
	if bytes >= 0 {
		size = spareSize(bytes)
	}
	a = d.spare.take(size)
	again := a != 0
	if again {
		d.usage.add(a, size)
	}
	err = d.move("Alloc", again, func(x mover) (err error) {
		if !again {
			a, err = d.alloc(size)
		}
		if err == nil && bytes > 0 {
			err = d.zeroBytes(x.stream, a, bytes)
		}
		if err != nil && a != 0 {
			err = errors.Join(err, d.free(a))
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	d.memory.add(a, false)
	return a, nil
}

// Free keeps the memory for the next allocation of its size. What is queued may still use it.
func (d *device) Free(a kernels.Address) error {
	if err := d.memory.remove(a, false); err != nil {
		return fmt.Errorf("cuda: Free: %w", err)
	}
	d.spare.keep(a, d.usage.remove(a))
	return nil
}

func (d *device) AllocHost(bytes int64) (a kernels.Address, err error) {
	err = d.bound("AllocHost", func() error {
		a, err = d.allocHost(bytes)
		return err
	})
	if err != nil {
		return 0, err
	}
	d.memory.add(a, true)
	return a, nil
}

func (d *device) FreeHost(a kernels.Address) error {
	return d.bound("FreeHost", func() error {
		if err := d.memory.remove(a, true); err != nil {
			return err
		}
		return d.freeHost(a)
	})
}

// scratch are buffers of the primitives, by what they hold. They grow, and keep their contents only
// until then.
type scratch struct{ buffers map[string]buffer }

type buffer struct {
	address kernels.Address
	bytes   int64
}

// need returns a buffer of at least so many bytes, zeroed when it is new.
func (d *device) need(what string, bytes int64) (kernels.Address, error) {
	b := d.scratch.buffers[what]
	if b.bytes >= bytes && b.bytes > 0 {
		return b.address, nil
	}
	if b.bytes > 0 {
		delete(d.scratch.buffers, what)
		if err := d.free(b.address); err != nil { // waits until the device is done with it
			return 0, err
		}
	}
	a, err := d.allocZero(max(bytes, 1))
	if err != nil {
		return 0, fmt.Errorf("workspace for %s: %w", what, err)
	}
	if d.scratch.buffers == nil {
		d.scratch.buffers = map[string]buffer{}
	}
	d.scratch.buffers[what] = buffer{a, max(bytes, 1)}
	return a, nil
}

func (s *scratch) close(d *device) error {
	var err error
	for _, b := range s.buffers {
		err = errors.Join(err, d.free(b.address))
	}
	s.buffers = nil
	return err
}
