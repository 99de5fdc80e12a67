package cpu

// void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
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
		err = d.each(len(b.G), func(w *workspace, i int) error {
			if b.Tally[i].Broken == 0 {
				return nil
			}
			return qr(w, b.G[i], b.R[i])
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: QR: %w", err)
	}
	return nil
}

// qr puts the triangular factor of g into r: the factor of the first rows is
// stacked on the next rows and factored again, so that the work stays in the cache (a flat-tree TSQR).
func qr(w *workspace, g kernels.Pivot, r kernels.Panel) error {
	k := r.N
	if k == 0 {
		return nil
	}
	ld := qrRows + k
	work, err := w.floats((ld + 1 + qrWork) * k)
	if err != nil {
		return err
	}
	a, tau, work := work[:ld*k], work[ld*k:(ld+1)*k], work[(ld+1)*k:]
	have := 0 // rows of the factor so far
	for row := 0; row < g.P.M; {
		take := min(ld-have, g.P.M-row)
		for j := range k {
			copy(a[j*ld+have:j*ld+have+take], pivotColumn(g, j)[row:row+take])
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
		c := column(r, j)
		copy(c, a[j*ld:j*ld+have])
		clear(c[have:])
	}
	return nil
}

// pivotColumn returns column j of [P Q].
func pivotColumn(g kernels.Pivot, j int) []float64 {
	if j < g.P.N {
		return column(g.P, j)
	}
	return column(g.Q, j-g.P.N)
}

// geqrf factors the m×n matrix a (column-major) by Householder reflectors.
func geqrf(m, n int, a []float64, lda int, tau, work []float64) error {
	rows, columns, ld, lwork, info := C.int(m), C.int(n), C.int(lda), C.int(len(work)), C.int(0)
	C.dgeqrf_(&rows, &columns, scratch(a), &ld, scratch(tau), scratch(work), &lwork, &info)
	if info != 0 {
		return fmt.Errorf("dgeqrf of a %d×%d matrix: info = %d", m, n, int(info))
	}
	return nil
}
