package residual

import (
	"math"

	"jmpi/internal/matio"
	"jmpi/internal/parallel"
)

// chunk is the number of rows over which inner products are summed without compensation.
const chunk = 4096

// orthogonality returns ‖QᵀQ − I‖_F / (k·ε) of the matrix Q with k columns in f, and with a
// signature ‖QᵀDQ − diag(I_P, −I)‖_F / (‖Q‖_F²·ε); 0 for k = 0. Where columns were cut k counts them too.
// It computes as many rows of QᵀDQ at a time, right of the diagonal, as fit in the budget.
func (d *factors) orthogonality(f *matio.File, j *signature) (float64, error) {
	if f.Cols == 0 {
		return 0, nil
	}
	k := int(f.Cols)
	height := int(min(f.Cols, max(1, d.budget/f.Cols)))
	squares, size := 0.0, 0.0
	for p := 0; p < k; p += height {
		g := newGram(p, min(p+height, k), k)
		err := d.panels(f, func(i0 int64, q panel) error {
			if p == 0 && j != nil {
				size += q.sumSquares()
			}
			g.add(q, j.times(i0, q))
			return nil
		})
		if err != nil {
			return 0, err
		}
		squares += g.departure(j)
	}
	if j == nil {
		size = float64(k)
	}
	if d.cut != nil {
		size = float64(d.order())
	}
	return math.Sqrt(squares) / (size * epsilon), nil
}

// gram holds rows p0 ≤ i < p1 and columns p0 ≤ j < k of QᵀDQ, of which those right of the diagonal
// (and some beside it) are computed, as unevaluated sums hi + lo.
type gram struct {
	p0, rows, cols int
	hi, lo         []float64 // rows×cols, column-major
}

func newGram(p0, p1, k int) gram {
	g := gram{p0: p0, rows: p1 - p0, cols: k - p0}
	g.hi, g.lo = make([]float64, g.rows*g.cols), make([]float64, g.rows*g.cols)
	return g
}

// add adds the inner products over the rows of a panel of Q and the same of DQ.
func (g gram) add(q, dq panel) {
	tiles(g.rows, g.cols, func(i0, i1, j0, j1 int) {
		if j1 <= i0 {
			return // left of the diagonal
		}
		c := make([]float64, (i1-i0)*(j1-j0))
		a, b := q.data[(g.p0+i0)*q.rows:], dq.data[(g.p0+j0)*q.rows:]
		for r := 0; r < q.rows; r += chunk {
			innerProducts(i1-i0, j1-j0, min(chunk, q.rows-r), a[r:], q.rows, b[r:], q.rows, c, i1-i0)
			for j := j0; j < j1; j++ {
				from, to := i0+j*g.rows, i1+j*g.rows
				accumulate(g.hi[from:to], g.lo[from:to], c[(j-j0)*(i1-i0):])
				if i0 <= j && j < i1 {
					// A unit column's square is judged to ε/k: what the plain sum lost is added.
					x, y := a[(j-i0)*q.rows+r:][:min(chunk, q.rows-r)], b[(j-j0)*q.rows+r:]
					g.lo[j+j*g.rows] += sumError(x, y, c[(j-j0)*(i1-i0)+j-i0])
				}
			}
		}
	})
}

// sumError returns Σ xᵢ·yᵢ − sum, for a sum of these products that is close.
func sumError(x, y []float64, sum float64) float64 {
	hi, lo := -sum, 0.0
	for i, e := range x {
		p := e * y[i]
		lo += math.FMA(e, y[i], -p)
		s := hi + p
		t := s - hi
		lo += (hi - (s - t)) + (p - t)
		hi = s
	}
	return hi + lo
}

// accumulate adds x to hi + lo, collecting in lo what hi cannot hold.
func accumulate(hi, lo, x []float64) {
	for i, h := range hi {
		s := h + x[i]
		t := s - h
		lo[i] += (h - (s - t)) + (x[i] - t)
		hi[i] = s
	}
}

// squares returns Σ dᵢ·dⱼ·gᵢⱼ² over these rows of QᵀQ and the columns that mirror them, where D = diag(d)
// holds the signs of the columns of Q.
func (g gram) squares(signs *signature) float64 {
	sums := make([]float64, g.cols)
	parallel.All(g.cols, 1, func(j int) {
		for i := range min(j+1, g.rows) {
			x := g.hi[i+j*g.rows] + g.lo[i+j*g.rows]
			x *= x * signs.row(g.p0+i) * signs.row(g.p0+j)
			if i != j {
				x *= 2
			}
			sums[j] += x
		}
	})
	total := 0.0
	for _, x := range sums {
		total += x
	}
	return total
}

// departure returns the sum of the squares of QᵀDQ − diag(I_P, −I) over these rows, together with
// the columns that mirror them.
func (g gram) departure(signs *signature) float64 {
	sums := make([]float64, g.cols)
	parallel.All(g.cols, 1, func(j int) {
		for i := range min(j+1, g.rows) {
			x := g.hi[i+j*g.rows]
			if i == j {
				x = (x - signs.column(g.p0+j)) + g.lo[i+j*g.rows]
				sums[j] += x * x
			} else {
				x += g.lo[i+j*g.rows]
				sums[j] += 2 * x * x
			}
		}
	})
	total := 0.0
	for _, x := range sums {
		total += x
	}
	return total
}
