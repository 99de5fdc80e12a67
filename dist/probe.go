package dist

import (
	"fmt"
	"math"
	"slices"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// probe is X·z for a few random vectors z. It is known before anything is done to X.
type probe []float64

// probes is how many vectors there are. probeLimit is how far X·z and what a decomposition makes of z may be
// apart: so many times max(m, n)·ε·‖X‖_F, and ‖V‖_F times as far for a hyperbolic SVD; and UᵀU·w and w: so
// many times max(m, n)·ε. It is twice the limit that the check has of the residual and of ‖UᵀU − I‖_F.
const (
	probes     = 2
	probeLimit = 20
)

func probeVectors(n int) []float64 { return randomNormal(n, probes, 4) }

// probeOf tries a matrix. It is collective.
func probeOf(x *matrix.Matrix) (probe, error) { return x.Times(false, probeVectors(x.N), probes) }

// holds fails if Uᵀ·(X·z) is not S·(Vᵀ·z), or columns of U, or of V of an SVD, are not orthonormal. It looks
// where there are both kinds of vectors: all of them, or the first ones. sigma are those of A, norm is ‖V‖_F
// of a hyperbolic SVD. It is collective.
func (o origin) holds(u, v *matrix.Matrix, sigma []float64, norm float64) error {
	if u == nil || v == nil || len(o.probe) == 0 {
		return nil
	}
	left, err := o.project("U", u, o.probe, true)
	if err != nil {
		return err
	}
	right, err := o.project("V", v, probeVectors(v.M), !o.hyperbolic())
	if err != nil {
		return err
	}
	for k := range probes {
		for j := range v.N {
			right[k*v.N+j] *= math.Ldexp(sigma[j], -o.exponent)
		}
	}
	return o.agree(left, right, norm)
}

// project returns Uᵀ·x, and fails if the columns of U, as they should be, are not orthonormal: if UᵀU·w is
// not w. It is collective.
func (o origin) project(name string, u *matrix.Matrix, x []float64, orthonormal bool) ([]float64, error) {
	if !orthonormal {
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

// holdsDirect is holds for X = G·Vᵀ, where both are block-columns of the Jacobi method. A hyperbolic SVD has
// been measured. It is collective.
func (o outcome) holdsDirect() error {
	if o.hyperbolic() || !o.Converged || o.method.v != Accumulate || len(o.probe) == 0 {
		return nil
	}
	vz, err := o.W().Times(true, probeVectors(o.n), probes)
	if err != nil {
		return err
	}
	gvz, err := o.G().Times(false, vz, probes)
	if err != nil {
		return err
	}
	return o.agree(o.probe, gvz, 0)
}

// agree fails if what X and its decomposition make of the probes is too far apart.
func (o origin) agree(x, y []float64, norm float64) error {
	limit := probeLimit * kernels.Epsilon * float64(max(o.m, o.n))
	if o.hyperbolic() {
		limit *= max(math.Sqrt(float64(o.n)), norm)
	}
	if off := farthest(x, y); !(off <= limit*o.total.Norm) {
		return wrong("the decomposition is not that of the matrix: A·z and U·S·Vᵀ·z are apart by %.2g·‖A‖ for a "+
			"random vector z, and rounding errors explain %.2g", off/o.total.Norm, limit)
	}
	return nil
}

// farthest returns the largest distance of two vectors of the same probe.
func farthest(x, y []float64) (most float64) {
	n := len(x) / probes
	for k := range probes {
		if off := distance(x[k*n:(k+1)*n], y[k*n:(k+1)*n]); !(off <= most) {
			most = off
		}
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
