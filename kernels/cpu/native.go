package cpu

// #include "kernels.h"
import "C"

import (
	"unsafe"

	"gonum.org/v1/netlib/blas/netlib"

	"jmpi/kernels"
)

const (
	lanes    = C.JMPI_LANES     // width of the vectors of our kernels; columns are best aligned to it
	maxOrder = C.JMPI_MAX_ORDER // largest order of a factor for our kernels; larger ones go to OpenBLAS
)

// openblas is OpenBLAS behind gonum's interface, which is row-major: a column-major m×n panel with leading
// dimension ld is a row-major n×m matrix with stride ld, so all products appear transposed.
var openblas netlib.Implementation

// doubles returns the C pointer to address a.
func doubles(a kernels.Address) *C.double { return *(**C.double)(unsafe.Pointer(&a)) }

// scratch returns the C pointer to a slice outside the Go heap.
func scratch(x []float64) *C.double { return (*C.double)(unsafe.SliceData(x)) }

// cPivot returns the pivot as our kernels take it.
func cPivot(g kernels.Pivot) C.struct_jmpi_pivot {
	return C.struct_jmpi_pivot{
		m: C.int64_t(g.P.M),
		p: doubles(g.P.Data), np: C.int64_t(g.P.N), ldp: C.int64_t(g.P.Ld),
		q: doubles(g.Q.Data), nq: C.int64_t(g.Q.N), ldq: C.int64_t(g.Q.Ld),
	}
}
