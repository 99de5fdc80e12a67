package dense

import "gonum.org/v1/gonum/blas"

// Sums over the rows are formed in pieces of so many rows, and these added pairwise. The terms may all
// be of one sign, as for columns that are nearly the same, or even of one size. Then sums that are
// formed one after the other are rounded in one direction, and Q is as far from orthogonal as they are
// wrong: 30 ε for 256 equal terms.
const (
	sumRows    = 32  // summed by BLAS one after the other
	leafRows   = 256 // of which the sums of sumRows rows are added one after the other
	vectorRows = 128 // the same for a vector, which BLAS sums in some parts at a time
)

// inner returns yᵀ·c for the m×r matrix y and the m×n matrix c.
func inner(m, r, n int, y []float64, ldy int, c []float64, ldc int) []float64 {
	if m > leafRows {
		half := m / 2
		return add(inner(half, r, n, y, ldy, c, ldc), inner(m-half, r, n, y[half:], ldy, c[half:], ldc))
	}
	w := make([]float64, r*n)
	for i := 0; i < m; i += sumRows {
		Product(true, false, r, n, min(sumRows, m-i), 1, y[i:], ldy, c[i:], ldc, 1, w, r)
	}
	return w
}

// project returns cᵀ·x for the m×n matrix c with leading dimension ld.
func project(m, n int, c []float64, ld int, x []float64) []float64 {
	if m > vectorRows {
		half := m / 2
		return add(project(half, n, c, ld, x), project(m-half, n, c[half:], ld, x[half:]))
	}
	w := make([]float64, n)
	if m > 0 {
		openblas.Dgemv(blas.NoTrans, n, m, 1, c, ld, x, 1, 0, w, 1)
	}
	return w
}

// add does x ← x + y, and returns x.
func add(x, y []float64) []float64 {
	for i, e := range y {
		x[i] += e
	}
	return x
}
