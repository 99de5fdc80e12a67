package residual

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"jmpi/internal/matio"
)

// defaultBudget is the size of a buffer, 128 MiB.
const defaultBudget = 128 << 20 / 8

// panel is some rows of a matrix, column-major with leading dimension rows.
type panel struct {
	rows, cols int
	data       []float64
}

// panels reads f in panels of rows, each at most d.budget numbers but at least one row, and calls
// visit with the first row and the panel, which visit may overwrite.
func (d *factors) panels(f *matio.File, visit func(i0 int64, p panel) error) error {
	if f.Rows == 0 || f.Cols == 0 {
		return nil
	}
	height := min(f.Rows, max(1, d.budget/f.Cols))
	data := make([]float64, height*f.Cols)
	for i0 := int64(0); i0 < f.Rows; i0 += height {
		p := panel{int(min(height, f.Rows-i0)), int(f.Cols), data}
		if err := f.ReadRows(i0, i0+int64(p.rows), p.data, p.rows); err != nil {
			return err
		}
		if err := visit(i0, p); err != nil {
			return err
		}
	}
	return nil
}

// eachColumn calls f on every column, on all cores.
func (p panel) eachColumn(f func(j int, column []float64)) {
	parallel(p.cols, func(j int) { f(j, p.data[j*p.rows:(j+1)*p.rows]) })
}

// sumSquares returns the sum of the squares of all entries.
func (p panel) sumSquares() float64 {
	sums := make([]float64, p.cols)
	p.eachColumn(func(j int, column []float64) {
		for _, x := range column {
			sums[j] += x * x
		}
	})
	total := 0.0
	for _, x := range sums {
		total += x
	}
	return total
}

// largest returns the largest magnitude, NaN if there is one.
func largest(x []float64) float64 {
	size := 0.0
	for _, v := range x {
		size = max(size, math.Abs(v))
	}
	return size
}

// parallel calls f(i) for 0 ≤ i < n, on all cores.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	group.Wait()
}
