package matrix

import (
	"math"

	"jmpi/dist/comm"
)

// Grading has the sizes of the rows and columns of a matrix.
type Grading struct {
	Rows     []float64 // max-norms
	Columns  []float64 // 2-norms
	Balanced []float64 // max-norms of the rows, the columns being scaled to norm 1
}

// Measure measures the rows and columns. It is collective.
func Measure(s *Matrix) (g Grading, err error) {
	if g.Columns, err = s.Norms(); err != nil {
		return g, err
	}
	own := make([][]float64, len(s.own)) // the max-norms of rows, then the balanced ones
	err = s.each(func(i int, dev *device) error {
		rows, err := dev.RowMaxima(s.shares[i], nil)
		if err != nil {
			return err
		}
		balanced, err := dev.RowMaxima(s.shares[i], s.local(i, g.Columns, 1))
		own[i] = append(rows, balanced...)
		return err
	})
	if err != nil {
		return g, err
	}
	rows := make([]float64, 2*s.M)
	for _, part := range own {
		larger(rows, part)
	}
	all, err := comm.Gather(s.Comm, rows)
	if err != nil {
		return g, err
	}
	rows = make([]float64, 2*s.M)
	for _, part := range all {
		larger(rows, part)
	}
	g.Rows, g.Balanced = rows[:s.M], rows[s.M:]
	return g, nil
}

// larger does x ← max(x, y), element by element.
func larger(x, y []float64) {
	for i, e := range y {
		x[i] = max(x[i], e)
	}
}

// Ratio returns the ratio of the largest to the smallest number that is not zero, 1 if there is none.
func Ratio(x []float64) float64 {
	largest, smallest := 0.0, math.Inf(1)
	for _, e := range x {
		if e > 0 {
			largest, smallest = max(largest, e), min(smallest, e)
		}
	}
	if largest == 0 {
		return 1
	}
	return largest / smallest
}

// RelativeSizes returns, for each column, how large it is when the largest element of each row is 1. It is
// collective.
func RelativeSizes(s *Matrix, rows []float64) ([]float64, error) {
	return s.perColumn(func(i int, dev *device) ([]float64, error) {
		return dev.ColumnMaxima(s.shares[i], rows)
	})
}
