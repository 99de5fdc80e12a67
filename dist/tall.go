package dist

import (
	"fmt"
	"math"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
)

// readTall reads a tall matrix and reduces it. The slabs stay nil if the rows are of so different size that
// the reduction would lose the small ones. It is collective.
func readTall(s site, t Task, in input) (input, error) {
	slabs := matrix.NewSlabs(s.comm, s.Threads, t.M, t.N)
	largest, smallest, err := slabs.Read(t.Rows, in.signature.order)
	if err := comm.Agree(s.comm, comm.BadInput, err); err != nil {
		return in, err
	}
	if in.exponent, err = matrix.CommonExponent(s.comm, largest); err != nil {
		return in, err
	}
	ends := []int64{math.MinInt64} // minus the exponent of the smallest row
	if largest > 0 {
		_, e := math.Frexp(smallest)
		ends[0] = int64(-e)
	}
	if err := s.comm.AllreduceMax(ends); err != nil {
		return in, fmt.Errorf("dist: rows: %w", err)
	}
	if ends[0] != math.MinInt64 && math.Ldexp(1, in.exponent+matrix.Top+int(ends[0])) > gradedRatio {
		return in, nil
	}
	slabs.Scale(-in.exponent)
	if err := slabs.Reduce(); err != nil {
		return in, err
	}
	in.slabs = slabs
	in.x, err = slabs.TakeFactor()
	return in, err
}
