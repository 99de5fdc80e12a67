package dist

import (
	"fmt"
	"math"

	"jmpi/internal/dense"
)

// rightVectors returns the right singular vectors of a matrix x, in the order of its singular values, from the left ones u, without what the Jacobi
// method would have had to carry: w = xᵀ·u = V·diag(σ) + E with ‖E‖ of the order of ε·‖x‖. The columns of large σ are as good as
// those of V; the others become orthonormal in a QR factorization from the largest σ to the smallest, V·R, which x − u·Rᵀ·Vᵀ = 0 makes
// exact for any E. So ‖R − diag(σ)‖_F is the residual, and it is returned relative to ‖x‖_F·n·ε. See docs/numerics.md §4. w is
// overwritten. It is collective.
func rightVectors(w *sheet, sigma []float64) (v *sheet, residual float64, err error) {
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
	if v, err = q.form(w.threads, w.n); err != nil {
		return nil, 0, err
	}
	v.columns(func(j int, y []float64) error {
		if w.column(j)[j] < 0 {
			negate(y)
		}
		return nil
	})
	return v, math.Sqrt(sum/all) / (float64(w.n) * 0x1p-52), nil
}

// transposedProduct returns xᵀ·u. It is collective.
func transposedProduct(x, u *sheet) (*sheet, error) {
	w := newSheet(x.comm, x.threads, x.n, u.n)
	return w, x.pass(func(i0, i1 int, a []float64) {
		w.each(func(c int, y []float64) error {
			j0, j1 := w.span(c)
			dense.Product(true, false, i1-i0, j1-j0, x.m, 1, a, x.m, u.own[c], x.m, 0, y[i0:], w.m)
			return nil
		})
	})
}

// lowerProduct returns x·u for a lower triangular x. It is collective.
func lowerProduct(x, u *sheet) (*sheet, error) {
	w := newSheet(x.comm, x.threads, x.m, u.n)
	return w, x.pass(func(i0, i1 int, a []float64) {
		w.each(func(c int, y []float64) error {
			j0, j1 := w.span(c)
			dense.Product(false, false, x.m-i0, j1-j0, i1-i0, 1, a[i0:], x.m, u.own[c][i0:], u.m, 1, y[i0:], w.m)
			return nil
		})
	})
}

// pass calls f with every block, its columns i0 ≤ i < i1, one after the other on all ranks.
func (s *sheet) pass(f func(i0, i1 int, a []float64)) error {
	for b := range s.blocks() {
		a, err := s.broadcast(b)
		if err != nil {
			return fmt.Errorf("dist: product: %w", err)
		}
		i0, i1 := s.span(b)
		f(i0, i1, a)
	}
	return nil
}
