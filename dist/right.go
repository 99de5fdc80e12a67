package dist

import (
	"context"
	"fmt"
	"math"

	"jmpi/internal/dense"
	"jmpi/kernels"
)

// chooseV decides how the right singular vectors of the preconditioned matrix are found.
func (d *Decomposition) chooseV() {
	needed := d.wants.right
	if d.pre.transposed {
		needed = d.wants.left
	}
	switch {
	case d.hyperbolic():
		d.V = Choice{"accumulate", "it shows whether a hyperbolic SVD is right"}
	case !needed:
		d.V = Choice{"none", "not needed for the vectors that are wanted"}
	case d.task.V != "auto" && d.task.V != "":
		d.V = Choice{d.task.V, "as asked for"}
	case !d.devices[0].Limits().HostMemory:
		d.V = Choice{"accumulate", "the products at the end would run on the hosts, and GPUs are faster"}
	case d.pre.graded:
		d.V = Choice{"accumulate", "the matrix is graded: so the vectors of small singular values are accurate too"}
	default:
		d.V = Choice{"solve", "faster, and as small a residual"}
	}
}

// residualLimit is the largest residual of right vectors that were not accumulated, relative to ε·N·‖A‖_F as the check has it.
var residualLimit = 1.0

// collect returns the vectors of the matrix that the Jacobi method has worked on. Where right vectors that were not accumulated do not
// serve, the method is run again.
func (d *Decomposition) collect(ctx context.Context) (u, v *sheet, err error) {
	if d.again != nil {
		return d.again.u, d.again.v, nil
	}
	if u, v, err = d.Solution.collect(d.task.Threads); err != nil {
		return nil, nil, err
	}
	d.Solution.Free()
	if d.V.Used != "solve" {
		return u, v, nil
	}
	if v, d.Residual, err = d.rightVectors(u); err != nil || d.Residual <= residualLimit {
		return u, v, err
	}
	if kept := d.pre.kept; kept != nil {
		d.pre.kept = nil
		if d.pre.second, err = d.lower(kept); err != nil {
			return nil, nil, err
		}
	}
	d.V = Choice{"accumulate", fmt.Sprintf("the vectors formed at the end left a residual of %.2g", d.Residual)}
	d.Residual = 0
	if err := d.solve(ctx); err != nil {
		return nil, nil, err
	}
	u, v, err = d.Solution.collect(d.task.Threads)
	d.Solution.Free()
	return u, v, err
}

// rightVectors forms V of what the Jacobi method has worked on, or of R where that spares a product.
func (d *Decomposition) rightVectors(u *sheet) (*sheet, float64, error) {
	var w *sheet
	var err error
	if d.pre.kept != nil {
		w, err = product(d.pre.kept, u, true)
	} else {
		w, err = transposedProduct(d.a, u)
	}
	if err != nil {
		return nil, 0, err
	}
	return rightVectors(w, d.Solution.Sigma)
}

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
	if v, err = q.form(w.threads, 0, w.n); err != nil {
		return nil, 0, err
	}
	v.columns(func(j int, y []float64) error {
		if w.column(j)[j] < 0 {
			dense.Negate(y)
		}
		return nil
	})
	return v, math.Sqrt(sum/all) / (float64(w.n) * kernels.Epsilon), nil
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

// product returns x·u; x may be lower triangular. It is collective.
func product(x, u *sheet, lower bool) (*sheet, error) {
	w := newSheet(x.comm, x.threads, x.m, u.n)
	return w, x.pass(func(i0, i1 int, a []float64) {
		first := 0 // row of a that is not zero
		if lower {
			first = i0
		}
		w.each(func(c int, y []float64) error {
			j0, j1 := w.span(c)
			dense.Product(false, false, x.m-first, j1-j0, i1-i0, 1, a[first:], x.m, u.own[c][i0:], u.m, 1, y[first:], w.m)
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
