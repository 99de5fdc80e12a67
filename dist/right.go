package dist

import (
	"fmt"
	"math"

	"jmpi/internal/dense"
)

// rightVectors returns the right singular vectors of x, in the order of its singular values, from the left ones u, without what the Jacobi method
// would have had to carry: xᵀ·u = V·diag(σ) + E with ‖E‖ of the order of ε·‖x‖. The columns of large σ are as good as
// those of V; the others become orthonormal in a QR factorization from the largest σ to the smallest, V·R, which x − u·Rᵀ·Vᵀ = 0 makes exact for any E. So
// ‖R − diag(σ)‖_F is the residual, and it is returned relative to ‖x‖_F·n·ε. See docs/numerics.md §4. u is m×n with orthonormal columns; x may be lower
// triangular, which saves work. It is collective.
func rightVectors(x, u *sheet, lower bool, sigma []float64) (v *sheet, residual float64, err error) {
	w := newSheet(x.comm, x.threads, x.n, u.n)
	if err := multiply(w, x, u, lower); err != nil {
		return nil, 0, fmt.Errorf("dist: right vectors: %w", err)
	}
	q, _, err := w.factor(w.natural())
	if err != nil {
		return nil, 0, err
	}
	off := make([]float64, w.n) // squared, of R − ±diag(σ) in units of the largest σ
	w.columns(func(j int, r []float64) error {
		for i, e := range r[:min(j+1, w.m)] {
			if i == j {
				e = math.Abs(e) - sigma[j]
			}
			off[j] += e / sigma[0] * (e / sigma[0])
		}
		return nil
	})
	if off, err = w.gatherColumns(func(j int) float64 { return off[j] }); err != nil {
		return nil, 0, err
	}
	sum, all := 0.0, 0.0
	for j, e := range off {
		sum += e
		all += sigma[j] / sigma[0] * (sigma[j] / sigma[0])
	}
	if v, err = q.form(x.threads, w.n); err != nil {
		return nil, 0, err
	}
	v.columns(func(j int, y []float64) error {
		if w.column(j)[j] < 0 {
			negate(y)
		}
		return nil
	})
	return v, math.Sqrt(sum/all) / (float64(x.n) * 0x1p-52), nil
}

// multiply does w ← xᵀ·u; x may be lower triangular.
func multiply(w, x, u *sheet, lower bool) error {
	for b := range x.blocks() {
		a, err := x.broadcast(b)
		if err != nil {
			return err
		}
		i0, i1 := x.span(b)
		zero := 0 // rows of a
		if lower {
			zero = i0
		}
		w.each(func(c int, y []float64) error {
			j0, j1 := w.span(c)
			dense.Product(true, false, i1-i0, j1-j0, x.m-zero, 1, a[zero:], x.m, u.own[c][zero:], x.m, 0, y[i0:], w.m)
			return nil
		})
	}
	return nil
}
