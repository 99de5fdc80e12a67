package dist

import (
	"math"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// fromLeft forms V of X from U, or V of R where that spares a product. Where U has only its first columns, so
// has V. It is collective.
func fromLeft(o outcome, u *matrix.Matrix) (*matrix.Matrix, float64, error) {
	var w *matrix.Matrix
	var err error
	if o.kept != nil {
		w, err = matrix.Product(o.kept, u, true)
	} else {
		w, err = matrix.TransposedProduct(o.x, u)
	}
	if err != nil {
		return nil, 0, err
	}
	count := w.M
	if u.N < len(o.Sigma) {
		count = u.N
	}
	if v, residual, done, err := corrected(w, o.Sigma, count); done || err != nil {
		return v, residual, err
	}
	return orthonormalRight(w, o.Sigma, count)
}

// What corrected takes: σ down to leastSigma·σ₁; columns whose Gram matrix departs from I by nearOrthonormal
// at most. After a correction it departs by three times the square of that, which is nothing from
// correctedOnce on.
const (
	leastSigma      = 0x1p-30
	nearOrthonormal = 0x1p-16
	correctedOnce   = 0x1p-28
)

// corrected is orthonormalRight by products alone, where the columns of w, divided by the singular values,
// are nearly orthonormal: vᵀ·v = I + S + Sᵀ with a small upper triangular S. Then R of a QR factorization is
// (I + S)·diag(σ) but for the square of S, v·(I − S) is V, and S·diag(σ) is the residual. A second correction
// takes the square away. If it is not done w is as it was, but for rounding. On GPUs it is not: it takes more
// memory than a QR factorization does. It is collective.
func corrected(w *matrix.Matrix, sigma []float64, count int) (v *matrix.Matrix, residual float64, done bool,
	err error) {
	if !w.HostMemory() || count != w.N || !(sigma[w.N-1] >= leastSigma*sigma[0]) {
		return nil, 0, false, nil
	}
	if err := w.Divide(nil, sigma); err != nil {
		return nil, 0, false, err
	}
	for size := 1.0; size > correctedOnce; {
		var off []float64
		if off, size, _, err = matrix.Correct(w, nearOrthonormal, math.Inf(1), 0); err != nil {
			return nil, 0, false, err
		}
		if off == nil {
			return nil, 0, false, w.Scale(nil, sigma)
		}
		for j := range off {
			off[j] *= sigma[j] / sigma[0]
		}
		residual += kernels.Norm2(off)
	}
	return w, relative(residual, sigma), true, nil
}

// relative returns a residual of V, in units of σ₁, relative to ‖X‖_F·n·ε.
func relative(residual float64, sigma []float64) float64 {
	all := 0.0
	for _, x := range sigma {
		all += x / sigma[0] * (x / sigma[0])
	}
	return residual / (math.Sqrt(all) * float64(len(sigma)) * kernels.Epsilon)
}

// orthonormalRight returns the right singular vectors of a matrix x, in the order of its singular values,
// from the left ones u, without what the Jacobi method would have had to carry: w = xᵀ·u = V·diag(σ) + E with
// ‖E‖ of the order of ε·‖x‖. The columns of large σ are as good as those of V; the others become orthonormal
// in a QR factorization from the largest σ to the smallest, V·R, which x − u·Rᵀ·Vᵀ = 0 makes exact for any E.
// So ‖R − diag(σ)‖_F is the residual, and it is returned relative to ‖x‖_F·n·ε. See docs/numerics.md §4. w is
// overwritten. v has so many columns: those of w, and after these some for σ = 0. It is collective.
func orthonormalRight(w *matrix.Matrix, sigma []float64, count int) (v *matrix.Matrix, residual float64,
	err error) {
	q, err := matrix.Factor(w)
	if err != nil {
		return nil, 0, err
	}
	// How far R is from ±diag(σ), column by column.
	diagonal, err := w.Diagonal()
	if err != nil {
		return nil, 0, err
	}
	signs := matrix.Signs(diagonal)
	difference := make([]float64, w.N)
	for j, e := range diagonal {
		difference[j] = math.Abs(e) - sigma[j]
	}
	if err := w.SetDiagonal(difference); err != nil {
		return nil, 0, err
	}
	off, err := w.Norms()
	if err != nil {
		return nil, 0, err
	}
	for j := range off {
		off[j] /= sigma[0]
	}
	w.Free()
	defer q.Free()
	if v, err = q.Form(0, count); err != nil {
		return nil, 0, err
	}
	for len(signs) < count {
		signs = append(signs, 1)
	}
	return v, relative(kernels.Norm2(off), sigma), v.Scale(nil, signs)
}
