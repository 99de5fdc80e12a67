package cpu

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"jmpi/kernels"
)

// memory keeps the device's allocations: anonymous mappings outside the Go heap, so that panels
// may be handed to C and to MPI as they are. What is freed is kept for the next allocation of the same size,
// since the system takes longer to give zeroed pages than it takes to clear these. With what is kept the
// device never has more than the most that was allocated at a time.
type memory struct {
	mu         sync.Mutex
	blocks     map[kernels.Address][]byte
	kept       [][]byte // the oldest first
	used, most int64    // bytes in blocks, now and at most
	idle       int64    // bytes kept
}

// mapZeroed maps bytes > 0 of zeroed memory, aligned to a page.
func mapZeroed(bytes int64) ([]byte, error) {
	if int64(int(bytes)) != bytes {
		return nil, fmt.Errorf("%w: %d bytes", kernels.ErrMemory, bytes)
	}
	b, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes: mmap: %w", kernels.ErrMemory, bytes, err)
	}
	// Large pages spare address translations on columns that lie far apart; without them it is only slower.
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return b, nil
}

func (m *memory) alloc(bytes int64) (kernels.Address, error) {
	if bytes < 0 {
		return 0, fmt.Errorf("%w: %d bytes", kernels.ErrShape, bytes)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.take(max(bytes, 1))
	if err != nil {
		return 0, err
	}
	a := kernels.Address(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	if m.blocks == nil {
		m.blocks = make(map[kernels.Address][]byte)
	}
	m.blocks[a] = b
	m.used += int64(len(b))
	m.most = max(m.most, m.used)
	return a, nil
}

// take returns zeroed memory: kept, or new, for which others that are kept make room.
func (m *memory) take(bytes int64) ([]byte, error) {
	for i, b := range slices.Backward(m.kept) {
		if int64(len(b)) == bytes {
			m.kept = slices.Delete(m.kept, i, i+1)
			m.idle -= bytes
			clear(b)
			return b, nil
		}
	}
	for len(m.kept) > 0 && m.used+m.idle+bytes > m.most {
		b := m.kept[0]
		m.kept = m.kept[1:]
		m.idle -= int64(len(b))
		if err := unix.Munmap(b); err != nil {
			return nil, err
		}
	}
	return mapZeroed(bytes)
}

func (m *memory) free(a kernels.Address) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blocks[a]
	if !ok {
		return fmt.Errorf("%w: %#x", kernels.ErrAddress, uintptr(a))
	}
	delete(m.blocks, a)
	m.kept = append(m.kept, b)
	m.used, m.idle = m.used-int64(len(b)), m.idle+int64(len(b))
	return nil
}

func (m *memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for _, b := range m.blocks {
		err = errors.Join(err, unix.Munmap(b))
	}
	for _, b := range m.kept {
		err = errors.Join(err, unix.Munmap(b))
	}
	m.blocks, m.kept, m.used, m.idle = nil, nil, 0, 0
	return err
}

func (d *device) Alloc(bytes int64) (kernels.Address, error) {
	a, err := d.memory.alloc(bytes)
	if err != nil {
		return 0, fmt.Errorf("cpu: alloc: %w", err)
	}
	return a, nil
}

func (d *device) Free(a kernels.Address) error {
	if err := d.memory.free(a); err != nil {
		return fmt.Errorf("cpu: free: %w", err)
	}
	return nil
}

// workspace is scratch memory of one thread, which grows as needed.
type workspace struct{ block []byte }

// floats returns n float64 of scratch memory, aligned to a page, contents undefined.
func (w *workspace) floats(n int) ([]float64, error) { return scratchOf[float64](w, n) }

// scratchOf is floats for elements of any type.
func scratchOf[T any](w *workspace, n int) ([]T, error) {
	var x T
	bytes := int64(n) * int64(unsafe.Sizeof(x))
	if int64(len(w.block)) < bytes {
		if err := w.release(); err != nil {
			return nil, err
		}
		b, err := mapZeroed(bytes)
		if err != nil {
			return nil, err
		}
		w.block = b
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(w.block))), n), nil
}

func (w *workspace) release() error {
	if w.block == nil {
		return nil
	}
	b := w.block
	w.block = nil
	return unix.Munmap(b)
}

// floats returns the n elements at address a, which lies outside the Go heap.
func floats(a kernels.Address, n int) []float64 { return numbers[float64](a, n) }

// elements returns the memory of a panel of float64 from its first to its last element.
func elements(p kernels.Panel) []float64 { return elementsOf[float64](p) }

// column returns column j of a panel of float64.
func column(p kernels.Panel, j int) []float64 { return columnOf[float64](p, j) }

// real are the types of a panel's elements.
type real interface{ float32 | float64 }

// numbers, elementsOf and columnOf are floats, elements and column for elements of any type.
func numbers[T real](a kernels.Address, n int) []T {
	return unsafe.Slice(*(**T)(unsafe.Pointer(&a)), n)
}

func elementsOf[T real](p kernels.Panel) []T {
	if p.M == 0 || p.N == 0 {
		return nil
	}
	return numbers[T](p.Data, p.Ld*(p.N-1)+p.M)
}

func columnOf[T real](p kernels.Panel, j int) []T { return numbers[T](p.Columns(j, j+1).Data, p.M) }
