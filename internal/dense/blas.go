package dense

// #cgo LDFLAGS: -lopenblas
// void openblas_set_num_threads(int);
import "C"

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/netlib/blas/netlib"
)

// openblas is OpenBLAS behind gonum's interface, which is row-major: a column-major m×n matrix with
// leading dimension ld is a row-major n×m matrix with stride ld, so all products appear transposed. It
// runs on the calling thread.
var openblas netlib.Implementation

func init() { C.openblas_set_num_threads(1) }

// Product does c ← α·op(a)·op(b) + β·c for column-major matrices: c is m×n, the inner dimension k.
func Product(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		a, b = []float64{0}, []float64{0} // BLAS looks at their lengths
	}
	openblas.Dgemm(transpose(transB), transpose(transA), n, m, k, alpha, b, max(1, ldb), a, max(1, lda), beta, c,
		max(1, ldc))
}

func transpose(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// Norm returns ‖x‖₂; BLAS scales where squares could over- or underflow.
func Norm(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return openblas.Dnrm2(len(x), x, 1)
}

// Length returns ‖x‖₂ as Norm does, but faster and less exact: good for comparing.
func Length(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	if s := openblas.Ddot(len(x), x, 1, x, 1); s > 0x1p-900 && s < 0x1p1000 {
		return math.Sqrt(s)
	}
	return Norm(x)
}
