package dist

import (
	"fmt"
	"math"
	"slices"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// probe is Xᵀ·y for a few random vectors y. It is known before anything is done to X.
type probe []float64

// probes is how many vectors there are. probeLimit is how far Xᵀ·y and what a decomposition makes of y may be
// apart: so many times max(m, n)·ε·‖X‖_F, and ‖V‖_F² times as far for a hyperbolic SVD; and UᵀU·w and w: so
// many times max(m, n)·ε. It is twice the limit that the check has of the residual and of ‖UᵀU − I‖_F.
const (
	probes     = 2
	probeLimit = 20
)

// probeRoom is how many numbers of all ranks together may meet on each, for a sum over the columns of a
// matrix.
const probeRoom = 1 << 24

func probeVectors(m int) []float64 { return randomNormal(m, probes, 4) }

// probeOf tries a matrix. It is collective.
func probeOf(x *matrix.Matrix) (probe, error) { return x.Times(true, probeVectors(x.M), probes) }

// holds fails if Vᵀ·D·(Xᵀ·y) is not J·S·(Uᵀ·y), D and J being the identity for an SVD, or if columns of U, or
// of V of an SVD, are not orthonormal. It looks where there are both kinds of vectors: all of them, or the
// first ones. sigma are those of A, norm is ‖V‖_F of a hyperbolic SVD. It is collective.
func (o origin) holds(u, v *matrix.Matrix, sigma []float64, norm float64) error {
	if u == nil || v == nil || len(o.probe) == 0 {
		return nil
	}
	left, err := o.project("U", u, probeVectors(u.M), true)
	if err != nil {
		return err
	}
	for k := range probes {
		for j := range u.N {
			left[k*u.N+j] *= math.Ldexp(sigma[j], -o.exponent)
		}
	}
	dxy := []float64(o.probe)
	if o.hyperbolic() {
		left = matrix.Reflected(left, probes, o.signature.positive)
		dxy = matrix.Reflected(dxy, probes, o.signature.positive)
	}
	right, err := o.project("V", v, dxy, !o.hyperbolic())
	if err != nil {
		return err
	}
	return o.agree(left, right, norm)
}

// project returns Uᵀ·x, and fails if the columns of U, as they should be, are not orthonormal: if UᵀU·w is
// not w. Very many ranks do not look. It is collective.
func (o origin) project(name string, u *matrix.Matrix, x []float64, orthonormal bool) ([]float64, error) {
	if !orthonormal || 2*probes*u.M*u.Comm.Size() > probeRoom {
		return u.Times(true, x, probes)
	}
	w := randomNormal(u.N, probes, 5)
	uw, err := u.Times(false, w, probes)
	if err != nil {
		return nil, err
	}
	both, err := u.Times(true, slices.Concat(x, uw), 2*probes)
	if err != nil {
		return nil, err
	}
	limit := probeLimit * kernels.Epsilon * float64(max(o.m, o.n))
	if off := farthest(both[len(w):], w); !(off <= limit) {
		return nil, wrong("the columns of %s are not orthonormal: %sᵀ·%s·w and w are apart by %.2g for a random "+
			"vector w, and rounding errors explain %.2g", name, name, name, off, limit)
	}
	return both[:len(w)], nil
}

// holdsDirect is holds for X·V = G, where both are block-columns of the Jacobi method. A hyperbolic SVD has
// been measured. It is collective.
func (o outcome) holdsDirect() error {
	if o.hyperbolic() || !o.Converged || o.method.v != Accumulate || len(o.probe) == 0 {
		return nil
	}
	left, err := o.G().Times(true, probeVectors(o.m), probes)
	if err != nil {
		return err
	}
	right, err := o.W().Times(true, o.probe, probes)
	if err != nil {
		return err
	}
	return o.agree(left, right, 0)
}

// agree fails if what X and its decomposition make of the probes is too far apart.
func (o origin) agree(x, y []float64, norm float64) error {
	limit := probeLimit * kernels.Epsilon * float64(max(o.m, o.n))
	if o.hyperbolic() {
		limit *= max(float64(o.n), norm*norm)
	}
	if off := farthest(x, y); !(off <= limit*o.total.Norm) {
		return wrong("the decomposition is not that of the matrix: Aᵀ·y and V·S·Uᵀ·y are apart by %.2g·‖A‖ for a "+
			"random vector y, and rounding errors explain %.2g", off/o.total.Norm, limit)
	}
	return nil
}

// farthest returns the largest distance of two vectors of the same probe, or NaN if there is none.
func farthest(x, y []float64) (most float64) {
	n := len(x) / probes
	for k := range probes {
		most = worse(most, distance(x[k*n:(k+1)*n], y[k*n:(k+1)*n]), 1)
	}
	return most
}

// wrong is the failure of a run whose result is further from a decomposition than rounding errors explain.
// All ranks know it.
func wrong(format string, a ...any) error {
	return &comm.Failure{Kind: comm.BadResource, Text: fmt.Sprintf(format, a...) +
		": a device or a library has computed wrong; run again, with --backend cpu or on other devices, and " +
		"report it with what jmpi env prints"}
}
