package residual

import (
	"math"
	"slices"

	"jmpi/internal/matio"
	"jmpi/internal/parallel"
)

// defaultBudget is the size of a buffer, 128 MiB.
const defaultBudget = 128 << 20 / 8

// panel is some rows of a matrix, column-major with leading dimension rows.
type panel struct {
	rows, cols int
	data       []float64
}

// view is the matrix in a file, or its transpose.
type view struct {
	file       *matio.File
	transposed bool
}

func (v view) shape() (rows, cols int64) {
	if v.transposed {
		return v.file.Cols, v.file.Rows
	}
	return v.file.Rows, v.file.Cols
}

// read reads the rows from i0 on into p, as many as it has.
func (v view) read(i0 int64, p panel) error {
	if v.transposed {
		return v.file.ReadColumnsT(i0, i0+int64(p.rows), p.data, p.rows)
	}
	return v.file.ReadRows(i0, i0+int64(p.rows), p.data, p.rows)
}

// panels reads f in panels of rows; see panelsOf.
func (d *factors) panels(f *matio.File, visit func(i0 int64, p panel) error) error {
	return d.panelsOf([]view{{file: f}}, func(i0 int64, p []panel) error { return visit(i0, p[0]) })
}

// panelsOf reads matrices with equally many rows in panels of the same rows, each at most d.budget numbers
// but at least one row, and calls visit with the first row and the panels, which visit may overwrite.
func (d *factors) panelsOf(views []view, visit func(i0 int64, p []panel) error) error {
	rows, widest := int64(0), int64(0)
	for _, v := range views {
		var cols int64
		rows, cols = v.shape()
		widest = max(widest, cols)
	}
	if rows == 0 || widest == 0 {
		return nil
	}
	height := min(rows, max(1, d.budget/widest))
	panels := make([]panel, len(views))
	for l, v := range views {
		_, cols := v.shape()
		panels[l] = panel{int(height), int(cols), make([]float64, height*cols)}
	}
	for i0 := int64(0); i0 < rows; i0 += height {
		for l, v := range views {
			panels[l].rows = int(min(height, rows-i0))
			if err := v.read(i0, panels[l]); err != nil {
				return err
			}
		}
		if err := visit(i0, panels); err != nil {
			return err
		}
	}
	return nil
}

// columns returns columns j0 ≤ j < j1, in the same memory.
func (p panel) columns(j0, j1 int) panel {
	return panel{p.rows, j1 - j0, p.data[j0*p.rows : j1*p.rows]}
}

// scaleColumns multiplies each column j by factor(j).
func (p panel) scaleColumns(factor func(j int) float64) {
	p.eachColumn(func(j int, column []float64) {
		f := factor(j)
		for i := range column {
			column[i] *= f
		}
	})
}

// eachColumn calls f on every column, on all cores.
func (p panel) eachColumn(f func(j int, column []float64)) {
	parallel.All(p.cols, 1, func(j int) { f(j, p.data[j*p.rows:(j+1)*p.rows]) })
}

// columnSquares returns the sum of the squares of each column.
func (p panel) columnSquares() []float64 {
	sums := make([]float64, p.cols)
	p.eachColumn(func(j int, column []float64) { sums[j] = dot(column, column) })
	return sums
}

// sumSquares returns the sum of the squares of all entries.
func (p panel) sumSquares() float64 {
	total := 0.0
	for _, x := range p.columnSquares() {
		total += x
	}
	return total
}

func (p panel) clone() panel { return panel{p.rows, p.cols, slices.Clone(p.data)} }

func newPanel(rows, cols int) panel { return panel{rows, cols, make([]float64, rows*cols)} }

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// largest returns the largest magnitude, NaN if there is one.
func largest(x []float64) float64 {
	size := 0.0
	for _, v := range x {
		size = max(size, math.Abs(v))
	}
	return size
}
