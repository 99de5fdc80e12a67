package dist

import (
	"math"

	"jmpi/kernels"
)

// traceLimit is how far the sum of the squares of the singular values may be from that of the elements of
// the matrix: so many times max(m, n)·ε of the latter, and ‖V‖² times as far for a hyperbolic SVD. It follows
// from the limit of the residual that the check has.
const traceLimit = 20

// signedSquare returns the sum of the squares of x, in units of size², the ones from number positive on with
// the sign −.
func signedSquare(x []float64, positive int, size float64) (sum float64) {
	for j, e := range x {
		square := (e / size) * (e / size)
		if j >= positive {
			square = -square
		}
		sum += square
	}
	return sum
}

// total has sums of squares of the elements of a matrix.
type total struct {
	Norm   float64 // ‖X‖_F
	Signed float64 // the trace of X·D·Xᵀ, in units of ‖X‖_F²
}

// totalOf returns them, from the norms of the columns.
func totalOf(norms []float64, positive int) (t total) {
	if t.Norm = kernels.Norm2(norms); t.Norm > 0 {
		t.Signed = signedSquare(norms, positive, t.Norm)
	}
	return t
}

// holdsTotal fails if singular values do not have the sum of squares that the matrix has: the trace of
// X·D·Xᵀ is that of S²·D. The two come from the ends of the run. So it finds what changes the sum in between:
// a device or a library that computes wrong, or an operation that came too early. sigma are those of X, in
// the order of the signs.
func (o outcome) holdsTotal(sigma []float64) error {
	if !o.Converged || !(o.total.Norm > 0) {
		return nil
	}
	limit := traceLimit * kernels.Epsilon * float64(max(o.m, o.n))
	if o.hyperbolic() {
		limit *= max(float64(o.n), o.VNorm*o.VNorm)
	}
	sum := signedSquare(sigma, o.signature.positive, o.total.Norm)
	if off := math.Abs(sum - o.total.Signed); !(off <= limit) {
		return wrong("the squares of the singular values do not add up to those of the matrix: they are off by "+
			"%.2g of the sum, and rounding errors explain %.2g", off, limit)
	}
	return nil
}
