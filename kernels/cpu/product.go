package cpu

import (
	"fmt"

	"gonum.org/v1/gonum/blas/gonum"

	"jmpi/kernels"
)

func (d *device) Product(p kernels.Panel, transposed bool, x []float64, count int) ([]float64, error) {
	long, err := p.CheckVectors(transposed, x, count)
	if err != nil {
		return nil, fmt.Errorf("cpu: Product: %w", err)
	}
	y := make([]float64, long*count)
	if transposed {
		// Go's own loop: those of a threaded BLAS may cut a long sum by the number of threads.
		blas := gonum.Implementation{}
		err = d.eachColumn(p, func(j int, c []float64) {
			for k := range count {
				y[k*p.N+j] = blas.Ddot(p.M, c, 1, x[k*p.M:(k+1)*p.M], 1)
			}
		})
	} else {
		low := make([]float64, long*count)
		err = d.eachRows(p.M, pieceRows, func(_ *workspace, i0, i1 int) error {
			for j := range p.N {
				c := column(p, j)[i0:i1]
				for k := range count {
					at := k * p.M
					kernels.AddTwice(y[at+i0:at+i1], low[at+i0:at+i1], x[k*p.N+j], c)
				}
			}
			return nil
		})
		y = append(y, low...)
	}
	if err != nil {
		return nil, fmt.Errorf("cpu: Product: %w", err)
	}
	return y, nil
}
