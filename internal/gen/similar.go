package gen

import (
	"math/rand/v2"

	"jmpi/internal/dd"
	"jmpi/internal/parallel"
)

// grain is the number of columns that one core takes at a time from the O(n²) steps below.
const grain = 16

// similar returns U·diag(lambda)·Uᵀ, n×n, column-major, in double-double, with U a product of
// n − 1 random Householder reflectors: LAPACK's xLAGSY. Both triangles are stored, and equal but
// for rounding in double-double.
//
// Step i, from n−2 to 0, applies the reflector H = I − τ·v·vᵀ of order n − i to the trailing
// block B: H·B·H = B − v·yᵀ − y·vᵀ with y = x − ½·τ·(xᵀ·v)·v and x = τ·B·v.
func similar(lambda []float64, seed uint64, purpose string) []dd.Float {
	n := len(lambda)
	a := make([]dd.Float, n*n)
	for i, l := range lambda {
		a[i+i*n] = dd.From(l)
	}
	y := make([]dd.Float, n)
	for i := n - 2; i >= 0; i-- {
		v, tau := reflector(stream(seed, purpose, i), n-i)
		y := y[:n-i]
		column := func(j int) []dd.Float { return a[i+(i+j)*n : n+(i+j)*n] }
		parallel.Chunks(n-i, grain, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				y[j] = tau.Mul(dd.Dot(column(j), v))
			}
		})
		alpha := tau.Mul(dd.Dot(y, v)).Scale(-0.5)
		dd.Axpy(alpha, v, y)
		parallel.Chunks(n-i, grain, func(lo, hi int) {
			for j := lo; j < hi; j++ {
				dd.Axpy(y[j].Neg(), v, column(j))
				dd.Axpy(v[j].Neg(), y, column(j))
			}
		})
	}
	return a
}

// reflector draws v and τ of the reflector I − τ·v·vᵀ that sends a random direction x to an axis:
// v = (x + sign(x₁)·‖x‖·e₁)/(x₁ + sign(x₁)·‖x‖), so that v₁ = 1, and τ = 1 + |x₁|/‖x‖.
func reflector(r *rand.Rand, n int) (v []dd.Float, tau dd.Float) {
	v = make([]dd.Float, n)
	for i := range v {
		v[i] = dd.From(r.NormFloat64())
	}
	norm := dd.Dot(v, v).Sqrt()
	if v[0].Hi < 0 {
		norm = norm.Neg()
	}
	top := v[0].Add(norm)
	for i := range v {
		v[i] = v[i].Div(top)
	}
	v[0] = dd.From(1)
	return v, top.Div(norm)
}
