package matrix

import (
	"math"
	"sync"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
)

// Grading has the sizes of the rows and columns of a matrix.
type Grading struct {
	Rows     []float64 // max-norms
	Columns  []float64 // 2-norms
	Balanced []float64 // max-norms of the rows, the columns being scaled to norm 1
}

// Measure measures the rows and columns. It is collective.
func Measure(s *Matrix) (g Grading, err error) {
	norms := make([]float64, s.N)
	rows := make([]float64, 2*s.M) // of the blocks of this rank: the max-norms, then the balanced ones
	var mu sync.Mutex
	s.Each(func(b int, x []float64) {
		j0, j1 := s.Span(b)
		most := make([]float64, 2*s.M)
		for j := j0; j < j1; j++ {
			column := x[(j-j0)*s.M : (j-j0+1)*s.M]
			norms[j] = dense.Norm(column)
			for i, e := range column {
				e = math.Abs(e)
				most[i] = max(most[i], e)
				if e > 0 {
					most[s.M+i] = max(most[s.M+i], e/norms[j])
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		larger(rows, most)
	})
	all, err := comm.Gather(s.Comm, rows)
	if err != nil {
		return g, err
	}
	rows = make([]float64, 2*s.M)
	for _, part := range all {
		larger(rows, part)
	}
	g.Rows, g.Balanced = rows[:s.M], rows[s.M:]
	g.Columns, err = s.GatherColumns(func(j int) float64 { return norms[j] })
	return g, err
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

// Shares returns, for each column, how large it is when the largest element of each row is 1. It is
// collective.
func Shares(s *Matrix, rows []float64) ([]float64, error) {
	share := make([]float64, s.N)
	s.Columns(func(j int, x []float64) {
		for i, e := range x {
			if e != 0 {
				share[j] = max(share[j], math.Abs(e)/rows[i])
			}
		}
	})
	return s.GatherColumns(func(j int) float64 { return share[j] })
}
