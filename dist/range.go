package dist

import (
	"errors"
	"slices"

	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
)

// LeastShare is how small a column may be beside the largest one, so that products of columns stay in the
// range of float64. The Jacobi method leaves columns of 2⁻⁹⁹⁰ of the largest as they are (kernels.Pivots).
// What is between the two is for singular values that are smaller than the columns.
const LeastShare = 0x1p-950

// OutOfRange counts the columns of A, and the rows of a square one, that are not zero but smaller than
// LeastShare times the largest. Singular values of their size may have no correct digit, or be 0.
type OutOfRange struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

// explain returns what is to be told of an error: where a hyperbolic SVD is refused and columns are out of
// range, that they are.
func (o OutOfRange) explain(err error) error {
	var f *comm.Failure
	if o.Columns == 0 || !errors.As(err, &f) || f.Kind != comm.NoDecomposition {
		return err
	}
	return jacobi.NotHeld("the sizes of the columns span too much for it; leave out those that are smaller "+
		"than %.0e times the largest, %d in all", LeastShare, o.Columns)
}

// outOfRange counts those of a matrix before it is scaled, by the max-norms of its columns. It is
// collective.
func outOfRange(x *matrix.Matrix, columns []float64) (o OutOfRange, err error) {
	if o.Columns = tooSmall(columns); x.M > x.N { // there are other rows
		return o, nil
	}
	rows, err := x.RowMaxima()
	if err == nil {
		o.Rows = tooSmall(rows)
	}
	return o, err
}

// tooSmall counts the sizes that are not zero, and smaller than LeastShare times the largest.
func tooSmall(sizes []float64) (count int) {
	least := LeastShare * slices.Max(sizes)
	for _, x := range sizes {
		if x > 0 && x < least {
			count++
		}
	}
	return count
}
