package cpu

// #include "kernels.h"
import "C"

import (
	"unsafe"

	"gonum.org/v1/netlib/blas/netlib"

	"jmpi/kernels"
)

const (
	// float64 in a vector of our kernels; columns are best aligned to it
	lanes    = C.JMPI_VECTOR_BYTES / kernels.WordBytes
	maxOrder = C.JMPI_MAX_ORDER // largest order of a factor for our kernels; larger ones go to OpenBLAS
)

// openblas is OpenBLAS behind gonum's interface, which is row-major: a column-major m×n panel with leading
// dimension ld is a row-major n×m matrix with stride ld, so all products appear transposed.
var openblas netlib.Implementation

// pointer returns the C pointer to address a.
func pointer(a kernels.Address) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// address is the reverse, for a slice outside the Go heap.
func address[T any](x []T) kernels.Address { return kernels.Address(uintptr(scratch(x))) }

// scratch returns the C pointer to a slice outside the Go heap.
func scratch[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// cPivot returns the pivot as our kernels take it.
func cPivot(g kernels.Pivot) C.struct_jmpi_pivot {
	return C.struct_jmpi_pivot{
		m: C.int64_t(g.P.M),
		p: pointer(g.P.Data), np: C.int64_t(g.P.N), ldp: C.int64_t(g.P.Ld),
		q: pointer(g.Q.Data), nq: C.int64_t(g.Q.N), ldq: C.int64_t(g.Q.Ld),
	}
}
