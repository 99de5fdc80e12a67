package dist

import (
	"context"
	"errors"
	"fmt"
	"math"

	"jmpi/dist/checkpoint"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// pair is U and V.
type pair struct{ u, v *matrix.Matrix }

// bySVD computes the hyperbolic SVD of X by way of its SVD; o has what was computed before, and why is the
// reason, empty if there is nothing. Hyperbolic rotations of columns of different signs that nearly agree are
// large; where many columns take part in them, their errors exceed what the input's own errors do to the
// result, ε·‖V‖². Here only orthogonal transformations touch X, and the large part of V comes from one
// factorization with complete pivoting ([Sla98], docs/numerics.md §9):
//
//	X = U₁·Σ·Yᵀ           the SVD
//	M = Σ·(YᵀJY)·Σ        known to ε·σ_i·σ_j, which moves a hyperbolic singular value by ε·‖v‖²
//	M = G·J·Gᵀ            symmetric indefinite factorization: the columns of G have no near agreement
//	G = U₂·S·V₂ᵀ          hyperbolic SVD, by small rotations
//	X = (U₁·U₂)·S·Vᵀ,  V = J·Y·Σ⁻¹·G·J·V₂
//
// If this result does not hold either, there is none. It is collective.
func bySVD(ctx context.Context, s site, t Task, o outcome, why string) (outcome, error) {
	if why != "" {
		t.Log.Info().Str("why", why).Msg("computing the hyperbolic SVD again, by way of the SVD")
		o.Free()
	}
	p := o.prepared
	w := p.ways(t)
	w.bySVD = true
	if err := s.fits(t, w, true); err != nil {
		return o, err
	}
	var f factors
	describe := func(c *checkpoint.Codec) { f.describe(c, s.where) }
	err := s.timed("precondition", func() (err error) {
		return longStage(t, "factors", "the SVD for the hyperbolic one", describe, func() (bool, error) {
			f, err = factor(ctx, s, t, p)
			return true, err
		})
	})
	if err != nil {
		return outcome{prepared: p}, err
	}
	small := p
	small.x = f.g
	if o, err = solve(ctx, s, t, small); err != nil {
		return o, err
	}
	o.x = p.x
	err = s.timed("vectors", func() (err error) {
		if o.formed, err = f.join(o); err != nil {
			return err
		}
		dense.Ldexp(o.Sigma, -f.shift)
		if o.Converged {
			o.fidelity, err = judge(o, why)
		}
		return err
	})
	return o, err
}

// judge measures the vectors of the second way, and refuses them if they are further from a decomposition
// than rounding errors explain. It is collective.
func judge(o outcome, why string) (*Fidelity, error) {
	f, err := fidelityOf(o)
	if err == nil && f.Signs > 1 {
		if err = o.formed.polish(o.positive); err == nil {
			f, err = fidelityOf(o)
		}
	}
	if err != nil {
		return nil, err
	}
	if f.Again = why; !f.holds() || o.VNorm*o.VNorm > hugeV {
		near := ""
		if o.VNorm*o.VNorm > 2*float64(o.n) { // n is the least that it can be
			near = "columns of different signs nearly agree, "
		}
		return nil, jacobi.NotHeld("%s‖V‖² = %.2g; by way of the SVD too A·W − U·S, A − U·S·Vᵀ and VᵀDV − J are "+
			"%.2g, %.2g and %.2g times what rounding errors explain", near, o.VNorm*o.VNorm, f.Columns, f.Residual,
			f.Signs)
	}
	return &f, nil
}

// fidelityOf measures the vectors of the second way. V is a product of four matrices, and S does not come
// from it. It is collective.
func fidelityOf(o outcome) (f Fidelity, err error) {
	u, v := o.formed.u, o.formed.v
	if o.VNorm, err = v.Norm(); err != nil {
		return f, err
	}
	us := matrix.ScaledColumns{Operator: u, Factors: o.Sigma}
	if f, err = fidelity(o.prepared, us, matrix.Mirrored{Operator: v, Positive: o.positive}, o.Sigma, o.VNorm,
		true); err != nil {
		return f, err
	}
	off, err := signsOff(v, o.positive)
	if err != nil {
		return f, err
	}
	size, err := off.Norm()
	f.Signs = worse(0, size, exactLimit*kernels.Epsilon*o.VNorm*o.VNorm)
	return f, err
}

// factors are X = U₁·Σ·Yᵀ, 2^shift·Σ·(YᵀJY)·Σ = G·J·Gᵀ and z = 2^-shift·Σ⁻¹·G·J.
type factors struct {
	svd
	g, z     *matrix.Matrix
	positive int
	shift    int
}

// factor computes them. It is collective.
func factor(ctx context.Context, s site, t Task, p prepared) (f factors, err error) {
	f.positive = p.positive
	x, err := p.x.Clone()
	if err != nil {
		return f, err
	}
	if f.svd, err = svdOf(ctx, s, t, x, false, true); err != nil {
		return f, fmt.Errorf("hyperbolic SVD by way of the SVD: %w", err)
	}
	sigma, shift := centred(f.sigma)
	f.shift = shift
	m, err := signedGram(f.v, sigma, p.positive)
	if err != nil {
		return f, err
	}
	g, signs, err := matrix.FactorIndefinite(m, s.Threads)
	if errors.Is(err, matrix.ErrSingular) {
		return f, jacobi.NotHeld("A·D·Aᵀ is singular to working precision")
	}
	if err != nil {
		return f, err
	}
	if !sameSigns(signs, p.positive) {
		return f, jacobi.NotHeld("A·D·Aᵀ is so nearly singular that the signs of its eigenvalues " +
			"are not those of the signature")
	}
	m.Free()
	f.g = g
	if f.z, err = g.Clone(); err != nil {
		return f, err
	}
	if err = f.z.Divide(sigma, nil); err != nil {
		return f, err
	}
	return f, f.z.Scale(nil, signs)
}

// join returns U₁·U₂ and J·Y·z·V₂ for the hyperbolic SVD of G. It is collective.
func (f factors) join(o outcome) (*pair, error) {
	u2, v2, err := o.Collect(f.u.Devices)
	if err != nil {
		return nil, err
	}
	u, err := matrix.Product(f.u, u2, false)
	if err != nil {
		return nil, err
	}
	v, err := matrix.Product(f.z, v2, false)
	if err != nil {
		return nil, err
	}
	if v, err = matrix.Product(f.v, v, false); err != nil {
		return nil, err
	}
	return &pair{u, v}, mirror(v, f.positive)
}

// polish does V ← V − V·J·E/2 with E = VᵀJV − J, one Newton–Schulz step.
func (p *pair) polish(positive int) error {
	e, err := signsOff(p.v, positive)
	if err != nil {
		return err
	}
	defer e.Free()
	if err := mirror(e, positive); err != nil {
		return err
	}
	v, err := p.v.Clone()
	if err != nil {
		return err
	}
	defer v.Free()
	_, err = matrix.AddProduct(p.v, v, e, -0.5, 0)
	return err
}

// centred returns the singular values times 2^shift, so that the largest is in [2⁴⁹⁹, 2⁵⁰⁰) and their
// products are as far from the ends of the range as can be.
func centred(sigma []float64) (scaled []float64, shift int) {
	_, e := math.Frexp(sigma[0])
	scaled = append(scaled, sigma...)
	dense.Ldexp(scaled, 500-e)
	return scaled, 500 - e
}

// signedGram returns Σ·(YᵀJY)·Σ. It is collective.
func signedGram(y *matrix.Matrix, sigma []float64, positive int) (*matrix.Matrix, error) {
	jy, err := y.Clone()
	if err != nil {
		return nil, err
	}
	defer jy.Free()
	if err := mirror(jy, positive); err != nil {
		return nil, err
	}
	m, err := matrix.TransposedProduct(y, jy)
	if err != nil {
		return nil, err
	}
	return m, m.Scale(sigma, sigma)
}

// sameSigns tells whether so many leading signs, and no others, are +1.
func sameSigns(signs []float64, positive int) bool {
	for j, x := range signs {
		if (x > 0) != (j < positive) {
			return false
		}
	}
	return true
}
