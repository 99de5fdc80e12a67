package dense

// void openblas_set_num_threads(int);
// void dgeqrt_(const int *m, const int *n, const int *nb, double *a, const int *lda, double *t, const int *ldt, double *work, int *info);
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/netlib/blas/netlib"
)

// openblas is OpenBLAS behind gonum's interface, which is row-major: a column-major m×n matrix with leading
// dimension ld is a row-major n×m matrix with stride ld, so all products appear transposed. It runs on the calling thread.
var openblas netlib.Implementation

func init() { C.openblas_set_num_threads(1) }

// Product does c ← α·op(a)·op(b) + β·c for column-major matrices: c is m×n, the inner dimension k.
func Product(transA, transB bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		a, b = []float64{0}, []float64{0} // BLAS looks at their lengths
	}
	openblas.Dgemm(transpose(transB), transpose(transA), n, m, k, alpha, b, max(1, ldb), a, max(1, lda), beta, c, max(1, ldc))
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

// checkSizes refuses what LAPACK's 32-bit integers cannot count.
func checkSizes(sizes ...int) error {
	for _, n := range sizes {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("dense: a size of %d is beyond the integers of LAPACK", n)
		}
	}
	return nil
}

func pointer(x []float64) *C.double { return (*C.double)(unsafe.SliceData(x)) }

// qrt overwrites the m×n panel a, m ≥ n, leading dimension m, by its QR factorization, R on and above the diagonal and the reflectors
// below, and returns the n×n matrix T of its reflectors.
func qrt(m, n int, a []float64) (t []float64, err error) {
	if err := checkSizes(m, n); err != nil || n == 0 {
		return nil, err
	}
	t = make([]float64, n*n)
	work := make([]float64, n*n)
	rows, columns, info := C.int(m), C.int(n), C.int(0)
	C.dgeqrt_(&rows, &columns, &columns, pointer(a), &rows, pointer(t), &columns, pointer(work), &info)
	if info != 0 {
		return nil, fmt.Errorf("dense: dgeqrt of a %d×%d matrix: info = %d", m, n, int(info))
	}
	return t, nil
}
