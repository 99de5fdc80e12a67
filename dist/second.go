package dist

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rs/zerolog"

	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// vectorPair is U and V.
type vectorPair struct{ u, v *matrix.Matrix }

// bySVD computes the hyperbolic SVD of X by way of its SVD; why is the reason if it was computed before, otherwise empty. Hyperbolic rotations of columns of different signs that nearly agree are
// large; where many columns take part in them, their errors exceed what the input's own errors do to the result, ε·‖V‖². Here only
// orthogonal transformations touch X, and the large part of V comes from one factorization with complete pivoting ([Sla98], docs/numerics.md §9):
//
//	X = U₁·Σ·Yᵀ           the SVD
//	M = Σ·(YᵀJY)·Σ        its elements are known to ε·σ_i·σ_j, which moves a hyperbolic singular value by ε·‖v‖²
//	M = G·J·Gᵀ            symmetric indefinite factorization: the columns of G have no near agreement
//	G = U₂·S·V₂ᵀ          hyperbolic SVD, by small rotations
//	X = (U₁·U₂)·S·Vᵀ,  V = J·Y·Σ⁻¹·G·J·V₂
//
// If this result does not hold either, there is none. It is collective.
func (d *Decomposition) bySVD(ctx context.Context, why string) error {
	if why != "" {
		d.task.Log.Info().Str("why", why).Msg("computing the hyperbolic SVD again, by way of the SVD")
		d.Solution.Free()
	}
	w := d.ways()
	w.bySVD = true
	if err := d.fits(w, true); err != nil {
		return err
	}
	begin := time.Now()
	x, positive := d.a, d.task.Positive
	if d.deflated != nil {
		positive = d.deflated.positive
	}
	svd, err := d.inner(ctx, x.Clone(), false, true)
	if err != nil {
		return fmt.Errorf("hyperbolic SVD by way of the SVD: %w", err)
	}
	sigma, shift := centred(svd.Sigma)
	m, err := signedGram(svd.v, sigma, positive)
	if err != nil {
		return err
	}
	g, signs, err := m.FactorIndefinite()
	if errors.Is(err, matrix.ErrSingular) {
		return jacobi.NoDecomposition("%v", err)
	}
	if err != nil {
		return err
	}
	if !sameSigns(signs, positive) {
		return jacobi.NoDecomposition("A·D·Aᵀ is so nearly singular that the signs of its eigenvalues are not those of the signature")
	}
	z := matrix.New(g.Comm, g.Threads, g.M, g.N) // Σ⁻¹·G·J
	g.Columns(func(j int, c []float64) error {
		for i, e := range c {
			z.Column(j)[i] = e / sigma[i] * signs[j]
		}
		return nil
	})
	d.Host["precondition"] += time.Since(begin).Seconds()
	d.a = g
	if err := d.solve(ctx); err != nil {
		return err
	}
	s := d.Solution
	if !s.Converged {
		return nil
	}
	defer func(begin time.Time) { d.Host["vectors"] += time.Since(begin).Seconds() }(time.Now())
	pair, err := d.joined(svd, z, positive)
	if err != nil {
		return err
	}
	dense.Ldexp(s.Sigma, -shift)
	d.a, d.again = x, pair
	f, err := d.fidelityOf(pair)
	if err == nil && f.Signs > 1 {
		if err = pair.polish(positive); err == nil {
			f, err = d.fidelityOf(pair)
		}
	}
	if err != nil {
		return err
	}
	if f.Again = why; !f.holds() || s.VNorm*s.VNorm > hugeV {
		return jacobi.NoDecomposition("that float64 can hold: columns of different signs nearly agree, ‖V‖² = %.2g; by way of the SVD too "+
			"A·W − U·S, A − U·S·Vᵀ and VᵀDV − J are %.2g, %.2g and %.2g times what rounding errors explain", s.VNorm*s.VNorm, f.Columns, f.Residual, f.Signs)
	}
	d.Fidelity = &f
	return nil
}

// fidelityOf measures the vectors of the second way. V is a product of four matrices, and S does not come from it. It is collective.
func (d *Decomposition) fidelityOf(p *vectorPair) (f Fidelity, err error) {
	s := d.Solution
	positive, _ := d.signs()
	if s.VNorm, err = p.v.Norm(); err != nil {
		return f, err
	}
	if f, err = d.fidelity(matrix.ScaledColumns{Operator: p.u, Factors: s.Sigma}, matrix.Mirrored{Operator: p.v, Positive: positive}, s.Sigma, s.VNorm, true); err != nil {
		return f, err
	}
	off, err := signsOff(p.v, positive)
	if err != nil {
		return f, err
	}
	size, err := off.Norm()
	f.Signs = worse(0, size, exactLimit*kernels.Epsilon*s.VNorm*s.VNorm)
	return f, err
}

// joined returns U₁·U₂ and J·Y·z·V₂, and frees the devices.
func (d *Decomposition) joined(svd *Decomposition, z *matrix.Matrix, positive int) (*vectorPair, error) {
	u2, v2, err := d.Solution.Collect(d.task.Threads)
	d.Solution.Free()
	if err != nil {
		return nil, err
	}
	u, err := matrix.Product(svd.u, u2, false)
	if err != nil {
		return nil, err
	}
	v, err := matrix.Product(z, v2, false)
	if err != nil {
		return nil, err
	}
	if v, err = matrix.Product(svd.v, v, false); err != nil {
		return nil, err
	}
	mirror(v, positive)
	return &vectorPair{u, v}, nil
}

// polish does V ← V − V·J·E/2 with E = VᵀJV − J, one Newton–Schulz step.
func (p *vectorPair) polish(positive int) error {
	e, err := signsOff(p.v, positive)
	if err != nil {
		return err
	}
	mirror(e, positive)
	step, err := matrix.Product(p.v, e, false)
	if err != nil {
		return err
	}
	return p.v.Columns(func(j int, x []float64) error {
		for i, d := range step.Column(j) {
			x[i] -= d / 2
		}
		return nil
	})
}

// innerSweeps is the limit of sweeps for an SVD inside another decomposition.
const innerSweeps = 30

// inner computes the SVD of a matrix, with V and, if left, U as sheets, which it takes; orthonormal says that it is part of one with orthonormal
// columns. Its singular values do not know the scale of X. It is collective.
func (d *Decomposition) inner(ctx context.Context, a *matrix.Matrix, orthonormal, left bool) (*Decomposition, error) {
	c := d.task.Config
	c.M, c.N, c.Positive, c.MaxSweeps = a.M, a.N, a.N, innerSweeps
	c.Progress, c.Swept, c.Trace, c.Log = nil, nil, nil, zerolog.Nop()
	sub := &Decomposition{comm: d.comm, devices: d.devices, a: a, orthonormal: orthonormal, Host: map[string]float64{}}
	sub.task = Task{Config: c, Left: left, Right: true, RightLeads: true, Precondition: "qrcp-lq", V: "accumulate", Threads: d.task.Threads, Memory: d.task.Memory, Room: d.task.Room}
	sub.wants.left, sub.wants.right = left, true
	defer sub.Free()
	if err := sub.scaled(); err != nil {
		return nil, err
	}
	if err := sub.work(ctx); err != nil {
		return nil, err
	}
	if !sub.Converged {
		return nil, &comm.Failure{Kind: comm.BadResource, Text: fmt.Sprintf("not converged in %d sweeps", innerSweeps)}
	}
	return sub, nil
}

// centred returns the singular values times 2^shift, so that the largest is in [2⁴⁹⁹, 2⁵⁰⁰) and their products are as far from the ends of the range as can be.
func centred(sigma []float64) (scaled []float64, shift int) {
	_, e := math.Frexp(sigma[0])
	scaled = append(scaled, sigma...)
	dense.Ldexp(scaled, 500-e)
	return scaled, 500 - e
}

// signedGram returns Σ·(YᵀJY)·Σ. It is collective.
func signedGram(y *matrix.Matrix, sigma []float64, positive int) (*matrix.Matrix, error) {
	jy := y.Clone()
	mirror(jy, positive)
	m, err := matrix.TransposedProduct(y, jy)
	if err != nil {
		return nil, err
	}
	return m, m.Columns(func(j int, x []float64) error {
		for i := range x {
			x[i] *= sigma[i] * sigma[j]
		}
		return nil
	})
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
