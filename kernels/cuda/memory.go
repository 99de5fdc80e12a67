package cuda

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// unit is what sizes of allocations are multiples of, so that matrices of nearly the same size follow each
// other in the same memory.
const unit = 64 << 10

// rounded is the size of a block for so many bytes.
func rounded(bytes int64) int64 {
	if bytes < 0 {
		return bytes
	}
	return max(1, (bytes+unit-1)/unit) * unit
}

// spareShare says how much of what was given back may be kept in any case, as a share of the device's memory.
const spareShare = 64

// newHeap returns the heap of the device, which must be entered for it. To get memory from the driver, and to
// return it, waits for what is queued, on other devices too. See docs/decisions/054-between-the-kernels.md.
func (d *device) newHeap() *kernels.Heap {
	get := func(bytes int64) (a kernels.Address, err error) {
		if bytes > d.bytes {
			return 0, fmt.Errorf("%w: %d bytes, the device has %d", kernels.ErrMemory, bytes, d.bytes)
		}
		code := nvidia.Invoke(d.cuMemAlloc, uintptr(unsafe.Pointer(&a)), uintptr(max(bytes, 1)))
		if err := d.check("cuMemAlloc", code); err != nil {
			return 0, fmt.Errorf("%d bytes, the device has %d in all: %w", bytes, d.bytes, err)
		}
		return a, nil
	}
	put := func(a kernels.Address, _ int64) error {
		return d.check("cuMemFree", nvidia.Invoke(d.cuMemFree, uintptr(a)))
	}
	return &kernels.Heap{Get: get, Put: put, Spare: d.bytes / spareShare}
}

// allocZero returns memory of a primitive, zeroed before whatever is queued next on its lane.
func (d *device) allocZero(bytes int64) (kernels.Address, error) {
	a, err := d.heap.New(bytes)
	if err != nil || bytes == 0 {
		return a, err
	}
	return a, d.zeroBytes(a, bytes)
}

// zeroBytes queues that memory is zeroed.
func (d *device) zeroBytes(a kernels.Address, bytes int64) error {
	return d.check("cuMemsetD8Async", nvidia.Invoke(d.cuMemsetD8Async, uintptr(a), 0, uintptr(bytes), d.stream))
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
		d.turns.mu.Lock()
		defer d.turns.mu.Unlock()
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

// Alloc queues that the memory is zeroed. It waits for nothing where memory is used again.
func (d *device) Alloc(bytes int64) (a kernels.Address, err error) {
	err = d.entered("Alloc", func() error {
		if a, _, err = d.heap.Alloc(rounded(bytes)); err != nil || bytes == 0 {
			return err
		}
		if err = d.zeroBytes(a, bytes); err != nil {
			err = errors.Join(err, d.heap.Return(a))
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return a, nil
}

// Free keeps the memory for the next allocation of its size. What is queued may still use it.
func (d *device) Free(a kernels.Address) error {
	if err := errors.Join(d.flush(), d.heap.Free(a)); err != nil {
		return fmt.Errorf("cuda: Free: %w", err)
	}
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
	d.host.add(a)
	return a, nil
}

func (d *device) FreeHost(a kernels.Address) error {
	return d.bound("FreeHost", func() error {
		if err := d.host.remove(a); err != nil {
			return err
		}
		return d.freeHost(a)
	})
}

// hostMemory is the caller's pinned memory.
type hostMemory struct {
	mu     sync.Mutex
	blocks map[kernels.Address]bool
}

func (m *hostMemory) add(a kernels.Address) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocks == nil {
		m.blocks = map[kernels.Address]bool{}
	}
	m.blocks[a] = true
}

func (m *hostMemory) remove(a kernels.Address) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.blocks[a] {
		return fmt.Errorf("%w: %#x", kernels.ErrAddress, uintptr(a))
	}
	delete(m.blocks, a)
	return nil
}

func (m *hostMemory) close(d *device) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for a := range m.blocks {
		err = errors.Join(err, d.freeHost(a))
	}
	m.blocks = nil
	return err
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
		if err := d.heap.Return(b.address); err != nil { // waits until the device is done with it
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
		err = errors.Join(err, d.heap.Return(b.address))
	}
	s.buffers = nil
	return err
}
