package reference

import (
	"errors"
	"math"
	"math/bits"
	"sync/atomic"

	"jmpi/internal/dd"
)

const (
	tolerance = 0x1p-96 // on the cosine of two columns
	maxSweeps = 40
)

// orthogonalize makes the columns of x orthogonal to each other by the one-sided Jacobi method,
// until a sweep rotates none. In step s of a sweep column i meets column i⊕s.
func (x *scaled) orthogonalize() error {
	n := len(x.columns)
	squares := make([]dd.Float, n) // of the norms of the scaled columns
	for range maxSweeps {
		parallel(n, grain, func(j int) { squares[j] = x.normalize(j) })
		var rotations atomic.Int64
		for s := 1; s < 1<<bits.Len(uint(max(n-1, 0))); s++ {
			parallel(n, grain, func(p int) {
				if q := p ^ s; p < q && q < n && x.rotate(p, q, squares) {
					rotations.Add(1)
				}
			})
		}
		if rotations.Load() == 0 {
			return nil
		}
	}
	return errors.New("the Jacobi method does not converge")
}

// normalize moves a power of two into the exponent of column j, so that its norm is about 1, and
// returns the square of the norm.
func (x *scaled) normalize(j int) dd.Float {
	column := x.columns[j]
	_, e := math.Frexp(math.Sqrt(dd.Dot(column, column).Hi))
	for i, v := range column {
		column[i] = v.Ldexp(-e)
	}
	x.exponents[j] += e
	return dd.Dot(column, column)
}

// rotate makes columns p and q orthogonal, the one of larger norm being p afterwards, and tells
// whether they were not.
//
// Let the columns be x and 2^d·y, after division by the scale of the first, ‖x‖ ≥ ‖2^d·y‖. Then the
// tangent of the angle that makes (c·x − s·2^d·y) and (s·x + c·2^d·y) orthogonal is 2^d·τ with
//
//	τ = 2·xᵀy/(δ + sign(δ)·√(δ² + (2·2^d·xᵀy)²)),  δ = 2^2d·yᵀy − xᵀx
//
// and y becomes c·(y + τ·x), x becomes c·(x − 2^2d·τ·y): no large or small number is needed.
func (x *scaled) rotate(p, q int, squares []dd.Float) bool {
	xy := dd.Dot(x.columns[p], x.columns[q])
	if math.Abs(xy.Hi) <= tolerance*math.Sqrt(squares[p].Hi)*math.Sqrt(squares[q].Hi) {
		return false
	}
	d := x.exponents[q] - x.exponents[p]
	if squares[p].Hi < math.Ldexp(squares[q].Hi, 2*d) {
		x.swap(p, q)
		squares[p], squares[q], d = squares[q], squares[p], -d
	}
	one, xy2, ratio := dd.From(1), xy.Scale(2), math.Ldexp(1, 2*d)
	delta, off := squares[q].Scale(ratio).Sub(squares[p]), xy2.Scale(math.Ldexp(1, d))
	root := delta.Mul(delta).Add(off.Mul(off)).Sqrt()
	if delta.Hi < 0 {
		root = root.Neg()
	}
	tau := xy2.Div(delta.Add(root))
	c := one.Div(one.Add(tau.Mul(tau).Scale(ratio)).Sqrt())
	t := c.Mul(tau)
	dd.Combine(c, t.Scale(ratio), t, x.columns[p], x.columns[q])
	for _, j := range []int{p, q} {
		squares[j] = dd.Dot(x.columns[j], x.columns[j])
	}
	return true
}
