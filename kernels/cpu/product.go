package cpu

// #include "kernels.h"
//
// static void combine(const struct jmpi_kernels *s, int64_t m, int64_t n, const void *p, int64_t ldp,
//		const double *x, double *high, double *low)
// {
//	s->combine(m, n, p, ldp, x, high, low);
// }
import "C"

import (
	"fmt"
	"unsafe"

	"gonum.org/v1/gonum/blas/gonum"

	"jmpi/kernels"
)

func (d *device) Product(p kernels.Panel, transposed bool, x []float64, count int) ([]float64, error) {
	long, err := p.CheckVectors(transposed, x, count)
	if err != nil {
		return nil, fmt.Errorf("cpu: Product: %w", err)
	}
	all := long * count
	if !transposed {
		all *= 2 // the high parts, and the low ones
	}
	y := make([]float64, all)
	if transposed {
		// Go's own loop: those of a threaded BLAS may cut a long sum by the number of threads.
		blas := gonum.Implementation{}
		err = d.eachColumn(p, func(j int, c []float64) {
			for k := range count {
				y[k*p.N+j] = blas.Ddot(p.M, c, 1, x[k*p.M:(k+1)*p.M], 1)
			}
		})
	} else {
		low := y[long*count:]
		err = d.eachRows(p.M, pieceRows, func(_ *workspace, i0, i1 int) error {
			rows := p.Rows(i0, i1)
			for k := 0; k < count && p.N > 0; k++ {
				at := k*p.M + i0
				C.combine(d.kernels[kernels.Float64], C.int64_t(rows.M), C.int64_t(p.N), pointer(rows.Data),
					C.int64_t(p.Ld), (*C.double)(unsafe.SliceData(x[k*p.N:])), (*C.double)(unsafe.SliceData(y[at:])),
					(*C.double)(unsafe.SliceData(low[at:])))
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("cpu: Product: %w", err)
	}
	return y, nil
}
