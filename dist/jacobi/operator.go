package jacobi

import (
	"jmpi/dist/comm"
	"jmpi/dist/matrix"
)

// onDevices is the G of a Solution, or its accumulated transformation W.
type onDevices struct {
	*spread
	right bool // W
}

// Times is that of matrix.Operator. The columns are those of the matrix that was solved, in their order.
func (o onDevices) Times(transposed bool, x []float64, count int) ([]float64, error) {
	n, long := o.n, o.m
	if o.right || transposed {
		long = n
	}
	sum := make([]float64, 2*long*count) // of this rank
	err := o.each(func(r *runner, slot, column int) error {
		j0, j1 := o.layout.Macro(column)
		p := o.panel(r, slot, column, o.right)
		if transposed {
			part, err := r.dev.Backend.Product(p, true, x, count)
			if err != nil {
				return err
			}
			for k := range count {
				copy(sum[k*n+j0:k*n+j1], part[k*(j1-j0):])
			}
			return nil
		}
		factors := make([]float64, 0, (j1-j0)*count)
		for k := range count {
			factors = append(factors, x[k*n+j0:k*n+j1]...)
		}
		part, err := r.dev.Backend.Product(p, false, factors, count)
		if err == nil {
			matrix.AddPair(sum, part)
		}
		return err
	})
	if err := comm.Agree(o.comm, comm.BadResource, err); err != nil {
		return nil, err
	}
	return matrix.SumTwice(o.comm, sum) // transposed: of each element all terms but one are zero
}
