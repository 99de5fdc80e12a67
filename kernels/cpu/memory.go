package cpu

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"jmpi/kernels"
)

// newHeap returns the heap of a device: anonymous mappings outside the Go heap, so that panels may be handed
// to C and to MPI as they are. The system takes longer to give zeroed pages than it takes to clear kept ones.
func newHeap() *kernels.Heap {
	return &kernels.Heap{
		Get: func(bytes int64) (kernels.Address, error) {
			b, err := mapZeroed(bytes)
			return kernels.Address(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), err
		},
		Put: func(a kernels.Address, bytes int64) error { return unix.Munmap(numbers[byte](a, int(bytes))) },
	}
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

func (d *device) Alloc(bytes int64) (kernels.Address, error) {
	if bytes == 0 {
		bytes = 1
	}
	a, again, err := d.heap.Alloc(bytes)
	if err != nil {
		return 0, fmt.Errorf("cpu: alloc: %w", err)
	}
	if again {
		clear(numbers[byte](a, int(bytes)))
	}
	return a, nil
}

func (d *device) Free(a kernels.Address) error {
	if err := d.heap.Free(a); err != nil {
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
func numbers[T real | byte](a kernels.Address, n int) []T {
	return unsafe.Slice(*(**T)(unsafe.Pointer(&a)), n)
}

func elementsOf[T real](p kernels.Panel) []T {
	if p.M == 0 || p.N == 0 {
		return nil
	}
	return numbers[T](p.Data, p.Ld*(p.N-1)+p.M)
}

func columnOf[T real](p kernels.Panel, j int) []T { return numbers[T](p.Columns(j, j+1).Data, p.M) }
