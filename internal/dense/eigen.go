package dense

// void dsyevd_(const char *job, const char *triangle, const int *n, double *a, const int *lda, double *w,
//	double *work, const int *lwork, int *iwork, const int *liwork, int *info);
import "C"

import "unsafe"

// Eigenvectors overwrites a symmetric matrix of order k, column-major, by its eigenvectors, as orthonormal
// columns, that of the least eigenvalue first. It reads the upper triangle. It is LAPACK's method of divide
// and conquer, which OpenBLAS has. It tells whether that has converged; otherwise a is undefined.
func Eigenvectors(k int, a []float64) bool {
	if k == 0 {
		return true
	}
	_ = a[k*k-1]
	work, iwork := make([]float64, 1+6*k+2*k*k), make([]C.int, 3+5*k)
	values := make([]float64, k)
	job, triangle, n := C.char('V'), C.char('U'), C.int(k)
	lwork, liwork, info := C.int(len(work)), C.int(len(iwork)), C.int(0)
	number := func(x []float64) *C.double { return (*C.double)(unsafe.SliceData(x)) }
	C.dsyevd_(&job, &triangle, &n, number(a), &n, number(values), number(work), &lwork, unsafe.SliceData(iwork),
		&liwork, &info)
	return info == 0
}
