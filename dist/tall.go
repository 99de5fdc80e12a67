package dist

import (
	"fmt"
	"math"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
)

// TallRatio is the ratio of rows to columns from which a matrix is reduced to its triangular factor before anything else.
const TallRatio = matrix.TallRatio

// tall says whether the matrix is reduced to a triangular factor by slabs of its rows.
func (d *Decomposition) tall() bool {
	return d.task.Rows != nil && d.task.reducible()
}

// readTall reads a tall matrix and reduces it. It returns true, and has done nothing, if the rows are of so different size that the
// reduction would lose the small ones.
func (d *Decomposition) readTall() (graded bool, err error) {
	s := matrix.NewSlabs(d.comm, d.task.Threads, d.task.M, d.task.N)
	largest, smallest, err := s.Read(d.task.Rows, d.order)
	if err := comm.Agree(d.comm, comm.BadInput, err); err != nil {
		return false, err
	}
	if d.exponent, err = matrix.CommonExponent(d.comm, largest); err != nil {
		return false, err
	}
	ends := []int64{math.MinInt64} // minus the exponent of the smallest row
	if largest > 0 {
		_, e := math.Frexp(smallest)
		ends[0] = int64(-e)
	}
	if err := d.comm.AllreduceMax(ends); err != nil {
		return false, fmt.Errorf("dist: rows: %w", err)
	}
	if ends[0] != math.MinInt64 && math.Ldexp(1, d.exponent+matrix.Top+int(ends[0])) > gradedRatio {
		return true, nil
	}
	s.Scale(-d.exponent)
	if err := s.Reduce(); err != nil {
		return false, err
	}
	d.slabs = s
	d.a = matrix.New(d.comm, d.task.Threads, s.N, s.N)
	for b := range d.a.Blocks() {
		j0, j1 := d.a.Span(b)
		var part []float64
		if d.comm.Rank() == 0 {
			part = s.Factor[0][j0*s.N : j1*s.N]
		}
		x, err := comm.FromRank(d.comm, 0, part)
		if err != nil {
			return false, err
		}
		if d.a.Own[b] != nil {
			copy(d.a.Own[b], x)
		}
	}
	delete(s.Factor, 0)
	return false, nil
}
