package gen

import (
	"cmp"
	"math"
	"slices"

	"jmpi/internal/dd"
)

const (
	referenceTolerance = 0x1p-90 // on the cosine of two columns
	referenceSweeps    = 60
)

// ReferenceSigma returns the min(m,n) singular values, non-increasing, of the m×n matrix a,
// column-major with leading dimension ld ≥ m, by the one-sided Jacobi method in double-double: a
// second opinion for tests. It takes well under a second for n ≤ 128.
//
// Each σ has a relative error of about 1e-27 times the condition of a after its columns (for
// m < n its rows) are scaled to norm 1, so gradings of the columns cost nothing, as long as the
// entries stay above 1e-100 times the largest one. If a has a NaN or an Inf, or the iteration
// does not converge, all values are NaN.
func ReferenceSigma(a []float64, m, n, ld int) []float64 {
	columns, exponent := widen(a, m, n, ld)
	sigma := make([]float64, len(columns))
	for i := range sigma {
		sigma[i] = math.NaN()
	}
	for range referenceSweeps {
		if !sweep(columns) {
			for j, x := range columns {
				sigma[j] = math.Ldexp(dd.Dot(x, x).Sqrt().Float64(), exponent)
			}
			break
		}
	}
	slices.SortFunc(sigma, func(x, y float64) int { return cmp.Compare(y, x) })
	return sigma
}

// widen returns the columns of a·2^(−exponent), or its rows if m < n, the largest entry between
// ½ and 1, in decreasing order of their norms: the order in which Jacobi converges fastest.
func widen(a []float64, m, n, ld int) (columns [][]dd.Float, exponent int) {
	at := func(i, j int) float64 { return a[i+j*ld] }
	if m < n {
		m, n = n, m
		at = func(i, j int) float64 { return a[j+i*ld] }
	}
	largest := 0.0
	for j := range n {
		for i := range m {
			largest = max(largest, math.Abs(at(i, j)))
		}
	}
	_, exponent = math.Frexp(largest)
	columns = make([][]dd.Float, n)
	for j := range columns {
		columns[j] = make([]dd.Float, m)
		for i := range m {
			columns[j][i] = dd.From(math.Ldexp(at(i, j), -exponent))
		}
	}
	slices.SortFunc(columns, func(x, y []dd.Float) int { return dd.Dot(y, y).Cmp(dd.Dot(x, x)) })
	return columns, exponent
}

// sweep rotates every pair of columns that is not orthogonal, larger norm first, and tells
// whether there was one.
func sweep(columns [][]dd.Float) (rotated bool) {
	for p := range columns {
		for q := p + 1; q < len(columns); q++ {
			x, y := columns[p], columns[q]
			xx, yy, xy := dd.Dot(x, x), dd.Dot(y, y), dd.Dot(x, y)
			if xx.Cmp(yy) < 0 {
				columns[p], columns[q] = y, x
				x, y, xx, yy = y, x, yy, xx
			}
			if math.Abs(xy.Hi) <= referenceTolerance*math.Sqrt(xx.Hi)*math.Sqrt(yy.Hi) {
				continue
			}
			c, s, _ := diagonalize(xx, xy, yy)
			dd.Rotate(c, s, x, y)
			rotated = true
		}
	}
	return rotated
}
