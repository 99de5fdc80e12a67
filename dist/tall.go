package dist

import (
	"fmt"
	"math"
	"slices"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
)

// readTall reads a tall matrix in slabs, and reduces it to its triangular factor. The slabs stay nil if the
// rows are of so different size that the reduction would lose the small ones. It is collective.
func readTall(s site, t Task, in input) (input, error) {
	slabs, smallest, columns, err := readSlabs(s, t, in)
	if err := comm.Agree(s.comm, comm.KindOf(err), err); err != nil {
		return in, err
	}
	in.began = time.Now()
	if columns, err = matrix.Maxima(s.comm, columns); err != nil {
		return in, fmt.Errorf("dist: columns: %w", err)
	}
	if in.exponent, err = matrix.CommonExponent(s.comm, slices.Max(columns)); err != nil {
		return in, err
	}
	ends := []int64{math.MinInt64} // minus the exponent of the smallest row
	if smallest < math.Inf(1) {
		_, e := math.Frexp(smallest)
		ends[0] = int64(-e)
	}
	if err := s.comm.AllreduceMax(ends); err != nil {
		return in, fmt.Errorf("dist: rows: %w", err)
	}
	if ends[0] != math.MinInt64 && math.Ldexp(1, in.exponent+matrix.Top+int(ends[0])) > gradedRatio {
		return in, slabs.Free()
	}
	in.slabs, in.outOfRange.Columns = slabs, tooSmall(columns)
	err = s.timed("precondition", func() (err error) {
		in.x, err = slabs.Reduce(-in.exponent)
		return err
	})
	if err == nil && !t.needs().Left {
		err = slabs.Free()
	}
	return in, err
}

// readSlabs reads the slabs of this rank, and tells the least max-norm of a row, and those of the columns.
func readSlabs(s site, t Task, in input) (slabs *matrix.Slabs, smallest float64, columns []float64,
	err error) {
	if slabs, err = matrix.NewSlabs(s.where, t.M, t.N); err == nil {
		smallest, columns, err = slabs.Read(s.source(t, in))
	}
	return slabs, smallest, columns, err
}
