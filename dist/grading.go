package dist

import (
	"math"
	"sort"
	"sync"

	"jmpi/internal/dense"
)

// gradedRatio is the ratio of the largest to the smallest of the rows' max-norms, or of the columns' norms, from which a matrix counts as graded.
const gradedRatio = 128

// steepRatio is the ratio of the rows' max-norms from which on a hyperbolic SVD goes by way of the SVD: hyperbolic rotations of columns whose rows are
// graded leave V less J-orthogonal, and take more than twice as many sweeps.
const steepRatio = 1 << 14

// grading has the sizes of the rows and columns of a matrix.
type grading struct {
	rows     []float64 // max-norms
	columns  []float64 // 2-norms
	balanced []float64 // max-norms of the rows, the columns being scaled to norm 1
}

// grading measures the rows and columns. It is collective.
func (s *sheet) grading() (g grading, err error) {
	norms := make([]float64, s.n)
	rows := make([]float64, 2*s.m) // of the blocks of this rank: the max-norms, then the balanced ones
	var mu sync.Mutex
	err = s.each(func(b int, x []float64) error {
		j0, j1 := s.span(b)
		most := make([]float64, 2*s.m)
		for j := j0; j < j1; j++ {
			column := x[(j-j0)*s.m : (j-j0+1)*s.m]
			norms[j] = dense.Norm(column)
			for i, e := range column {
				e = math.Abs(e)
				most[i] = max(most[i], e)
				if e > 0 {
					most[s.m+i] = max(most[s.m+i], e/norms[j])
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		larger(rows, most)
		return nil
	})
	if err != nil {
		return g, err
	}
	all, err := gather(s.comm, rows)
	if err != nil {
		return g, err
	}
	rows = make([]float64, 2*s.m)
	for _, part := range all {
		larger(rows, part)
	}
	g.rows, g.balanced = rows[:s.m], rows[s.m:]
	g.columns, err = s.gatherColumns(func(j int) float64 { return norms[j] })
	return g, err
}

// larger does x ← max(x, y), element by element.
func larger(x, y []float64) {
	for i, e := range y {
		x[i] = max(x[i], e)
	}
}

// ratio returns the ratio of the largest to the smallest number that is not zero, 1 if there is none.
func ratio(x []float64) float64 {
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

// decreasing returns the indices of x by decreasing x.
func decreasing(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return x[order[a]] > x[order[b]] })
	return order
}
