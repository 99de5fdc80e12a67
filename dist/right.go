package dist

import (
	"context"
	"fmt"
	"math"

	"jmpi/dist/matrix"
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
func (d *Decomposition) collect(ctx context.Context) (u, v *matrix.Matrix, err error) {
	if d.again != nil {
		return d.again.u, d.again.v, nil
	}
	if u, v, err = d.Solution.Collect(d.task.Threads); err != nil {
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
	u, v, err = d.Solution.Collect(d.task.Threads)
	d.Solution.Free()
	return u, v, err
}

// rightVectors forms V of what the Jacobi method has worked on, or of R where that spares a product.
func (d *Decomposition) rightVectors(u *matrix.Matrix) (*matrix.Matrix, float64, error) {
	var w *matrix.Matrix
	var err error
	if d.pre.kept != nil {
		w, err = matrix.Product(d.pre.kept, u, true)
	} else {
		w, err = matrix.TransposedProduct(d.a, u)
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
func rightVectors(w *matrix.Matrix, sigma []float64) (v *matrix.Matrix, residual float64, err error) {
	q, _, err := w.Factor(w.Natural())
	if err != nil {
		return nil, 0, err
	}
	off := make([]float64, w.N) // squared, of R − ±diag(σ) in units of the largest σ
	w.Columns(func(j int, r []float64) error {
		for i, e := range r[:min(j+1, w.M)] {
			if i == j {
				e = math.Abs(e) - sigma[j]
			}
			off[j] += e / sigma[0] * (e / sigma[0])
		}
		return nil
	})
	if off, err = w.GatherColumns(func(j int) float64 { return off[j] }); err != nil {
		return nil, 0, err
	}
	sum, all := 0.0, 0.0
	for j, e := range off {
		sum += e
		all += sigma[j] / sigma[0] * (sigma[j] / sigma[0])
	}
	if v, err = q.Form(w.Threads, 0, w.N); err != nil {
		return nil, 0, err
	}
	v.Columns(func(j int, y []float64) error {
		if w.Column(j)[j] < 0 {
			dense.Negate(y)
		}
		return nil
	})
	return v, math.Sqrt(sum/all) / (float64(w.N) * kernels.Epsilon), nil
}
