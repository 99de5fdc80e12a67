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
	// the max-norms of rows, then the balanced ones
	both, err := s.perRow(2, func(i int, dev *device) ([]float64, error) {
		rows, err := dev.RowMaxima(s.shares[i], nil)
		if err != nil {
			return nil, err
		}
		balanced, err := dev.RowMaxima(s.shares[i], s.local(i, g.Columns, 1))
		return append(rows, balanced...), err
	})
	if err == nil {
		g.Rows, g.Balanced = both[:s.M], both[s.M:]
	}
	return g, err
}

// RowMaxima returns the max-norms of the rows. It is collective.
func (s *Matrix) RowMaxima() ([]float64, error) {
	return s.perRow(1, func(i int, dev *device) ([]float64, error) { return dev.RowMaxima(s.shares[i], nil) })
}

// ColumnMaxima returns the max-norms of the columns. It is collective.
func (s *Matrix) ColumnMaxima() ([]float64, error) { return RelativeSizes(s, nil) }

// perRow gathers the largest of what f finds on each device: so many numbers for each row. It is collective.
func (s *Matrix) perRow(numbers int, f func(i int, dev *device) ([]float64, error)) ([]float64, error) {
	own := make([][]float64, len(s.own))
	err := s.each(func(i int, dev *device) (err error) {
		own[i], err = f(i, dev)
		return err
	})
	if err != nil {
		return nil, err
	}
	most := make([]float64, numbers*s.M)
	for _, part := range own {
		larger(most, part)
	}
	return Maxima(s.Comm, most)
}

// Maxima returns the largest of the numbers of all ranks, place by place. It is collective.
func Maxima(c comm.Comm, x []float64) ([]float64, error) {
	all, err := comm.Gather(c, x)
	if err != nil {
		return nil, err
	}
	most := make([]float64, len(x))
	for _, part := range all {
		larger(most, part)
	}
	return most, nil
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
