package cpu

// void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
//		const int *lwork, int *info);
// void sgeqrf_(const int *m, const int *n, float *a, const int *lda, float *tau, float *work,
//		const int *lwork, int *info);
import "C"

import (
	"fmt"

	"jmpi/kernels"
)

// qrRows is the number of rows that are factored at a time; qrWork the workspace a column that
// LAPACK may use.
const (
	qrRows = 2048
	qrWork = 64
)

func (d *device) QR(b *kernels.Batch) error {
	err := b.Check(kernels.Needs{G: true, R: true, Tally: true})
	if err == nil {
		factor := qr[float64]
		if b.Single != nil {
			factor = qr[float32]
		}
		err = d.each(len(b.G), func(w *workspace, i int) error {
			if b.Tally[i].Broken == 0 {
				return nil
			}
			return factor(w, b.G[i], b.R[i])
		})
	}
	return named("QR", err)
}

// qr puts the triangular factor of g into r: the factor of the first rows is
// stacked on the next rows and factored again, so that the work stays in the cache (a flat-tree TSQR).
func qr[T real](w *workspace, g kernels.Pivot, r kernels.Panel) error {
	k := r.N
	if k == 0 {
		return nil
	}
	ld := qrRows + k
	work, err := scratchOf[T](w, (ld+1+qrWork)*k)
	if err != nil {
		return err
	}
	a, tau, work := work[:ld*k], work[ld*k:(ld+1)*k], work[(ld+1)*k:]
	have := 0 // rows of the factor so far
	for row := 0; row < g.P.M; {
		take := min(ld-have, g.P.M-row)
		for j := range k {
			copy(a[j*ld+have:j*ld+have+take], pivotColumn[T](g, j)[row:row+take])
		}
		if err := geqrf(have+take, k, a, ld, tau, work); err != nil {
			return err
		}
		have = min(have+take, k)
		for j := range have {
			clear(a[j*ld+j+1 : j*ld+have])
		}
		row += take
	}
	for j := range k {
		c := columnOf[T](r, j)
		copy(c, a[j*ld:j*ld+have])
		clear(c[have:])
	}
	return nil
}

// pivotColumn returns column j of [P Q].
func pivotColumn[T real](g kernels.Pivot, j int) []T {
	if j < g.P.N {
		return columnOf[T](g.P, j)
	}
	return columnOf[T](g.Q, j-g.P.N)
}

// geqrf factors the m×n matrix a (column-major) by Householder reflectors.
func geqrf[T real](m, n int, a []T, lda int, tau, work []T) error {
	rows, columns, ld, lwork, info := C.int(m), C.int(n), C.int(lda), C.int(len(work)), C.int(0)
	if _, single := any(a).([]float32); single {
		C.sgeqrf_(&rows, &columns, (*C.float)(scratch(a)), &ld, (*C.float)(scratch(tau)), (*C.float)(scratch(work)),
			&lwork, &info)
	} else {
		C.dgeqrf_(&rows, &columns, (*C.double)(scratch(a)), &ld, (*C.double)(scratch(tau)),
			(*C.double)(scratch(work)), &lwork, &info)
	}
	if info != 0 {
		return fmt.Errorf("geqrf of a %d×%d matrix: info = %d", m, n, int(info))
	}
	return nil
}
