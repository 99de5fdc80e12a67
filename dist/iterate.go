package dist

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/dist/refine"
	"jmpi/internal/dense"
)

// outcome is what the Jacobi method has come to.
type outcome struct {
	prepared
	*jacobi.Solution       // of X, or of what the second way has instead
	formed           *pair // the vectors of X where they are matrices already, nil otherwise
	refined          []refine.Step
	fidelity         *Fidelity // of a hyperbolic SVD
}

// iterate runs the Jacobi method on X. It is collective.
func iterate(ctx context.Context, s site, t Task, p prepared) (o outcome, err error) {
	if p.hyperbolic() {
		o, err = iterateHyperbolic(ctx, s, t, p)
	} else {
		o, err = solveOrRestart(ctx, s, t, p)
	}
	if err != nil {
		o.Free()
	}
	return o, err
}

// solve runs the Jacobi method on X. It frees X, unless that is needed for V, for a measurement, or to start
// again. It is collective.
func solve(ctx context.Context, s site, t Task, p prepared) (outcome, error) {
	var err error
	o := outcome{prepared: p}
	problem := jacobi.Problem{
		M: p.x.M, N: p.x.N, Positive: p.positive, Rising: p.rising, Independent: p.hyperbolic(),
		Vectors: p.method.v == Accumulate, StopBroken: p.mayRestart(t),
		Start: jacobi.Start{Source: p.x,
			KeepSource: p.method.v == FromLeft && p.kept == nil || p.hyperbolic() || p.mayRestart(t)},
	}
	if !p.hyperbolic() {
		problem.Norms = p.method.norms()
	}
	if p.method.reread {
		p.x.Free()
		problem.Source, problem.Load = nil, p.again(t)
	}
	o.Solution, err = jacobi.Solve(ctx, s.comm, s.devices, jacobi.Config{Problem: problem, Settings: t.Settings,
		Hooks: t.Hooks})
	return o, err
}

// again returns a function that reads X once more.
func (p prepared) again(t Task) func(j0, j1 int, x []float64) error {
	load := p.signature.reordered(t.read)
	return func(j0, j1 int, x []float64) error {
		err := load(Part{Row: 0, Column: j0, M: t.M, N: j1 - j0, Ld: t.M, Data: x})
		dense.Ldexp(x, -p.exponent)
		return err
	}
}

// mayRestart tells whether the method starts again, with a preconditioner, if pivots break down in the first
// sweep.
func (p prepared) mayRestart(t Task) bool {
	return t.Precondition == AutoPreconditioner && p.method.precondition == NoPreconditioner &&
		!p.hyperbolic() && !p.method.reread
}

// solveOrRestart is solve for the SVD. Where pivots break down in the first sweep, columns depend on each
// other. Then X is preconditioned, and the method starts again. It is collective.
func solveOrRestart(ctx context.Context, s site, t Task, p prepared) (outcome, error) {
	run := solve
	if p.method.ladder {
		run = climb
	}
	o, err := run(ctx, s, t, p)
	if err != nil || !o.Broken() {
		return o, err
	}
	o.Free()
	s.seconds["precondition"] += o.Seconds
	t.Log.Info().Msg("pivots broke down: starting again, preconditioned")
	p.method.precondition = QRCPLQ
	p.method.reason.precondition = "pivots broke down in the first sweep: columns depend on each other"
	err = s.timed("precondition", func() error {
		describe := func(c *checkpoint.Codec) { p.describe(c, s, t) }
		return longStage(t, "prepared", "preparing again", describe, func() (bool, error) {
			if err := s.fits(t, p.ways(t), true); err != nil {
				return false, err
			}
			p, err = triangular(p)
			return true, err
		})
	})
	if err != nil {
		return outcome{prepared: p}, err
	}
	return run(ctx, s, t, p)
}

// iterateHyperbolic runs the method, and takes the second way if the result is further from a decomposition
// than rounding errors explain. It is collective.
func iterateHyperbolic(ctx context.Context, s site, t Task, p prepared) (outcome, error) {
	if p.method.bySVD {
		return bySVD(ctx, s, t, outcome{prepared: p}, "")
	}
	o, err := iterateRanked(ctx, s, t, p)
	switch {
	case err != nil && o.Solution != nil && o.Stalled:
		return bySVD(ctx, s, t, o, "columns of different signs stayed parallel")
	case err != nil || !o.Converged || o.definite():
		return o, err
	}
	var f Fidelity
	var why string
	describe := func(c *checkpoint.Codec) { checkpoint.Fact(c, "why", &why) }
	err = stage(t, "fidelity", describe, func() (bool, error) {
		err := s.timed("verify", func() (err error) {
			f, err = fidelity(o.prepared, o.G(), o.W(), o.Natural(), o.VNorm, false)
			return err
		})
		why = f.against(o.VNorm)
		return why != "", err
	})
	switch {
	case err != nil:
		return o, err
	case why != "":
		return bySVD(ctx, s, t, o, why)
	}
	o.fidelity = &f
	return o, nil
}

// against says why a result with this ‖V‖_F does not serve, "" if it does.
func (f Fidelity) against(norm float64) string {
	switch {
	case !f.holds():
		return fmt.Sprintf("A·W − U·S, A − U·S·Vᵀ and VᵀDV − J are %.2g, %.2g and %.2g times "+
			"what rounding errors explain", f.Columns, f.Residual, f.Signs)
	case norm*norm > hugeV:
		return fmt.Sprintf("‖V‖² = %.2g leaves S without correct digits", norm*norm)
	}
	return ""
}

// definite tells whether all columns of X have the same sign.
func (p prepared) definite() bool { return p.positive == p.x.N }

// iterateRanked runs the method and, if the rank is not known yet, runs it anew where it turns out not to be
// full or no decomposition is found. It is collective.
func iterateRanked(ctx context.Context, s site, t Task, p prepared) (outcome, error) {
	o, err := solve(ctx, s, t, p)
	if !p.unranked {
		return o, err
	}
	o.unranked = false
	var f *comm.Failure
	if err != nil && !(errors.As(err, &f) && f.Kind == comm.NoDecomposition) {
		return o, err
	}
	full := false
	describe := func(c *checkpoint.Codec) { p.describe(c, s, t) }
	failed := longStage(t, "prepared", "finding the rank", describe, func() (bool, error) {
		if err == nil {
			var e error
			if o.rank, full, e = fullRank(o); full || e != nil {
				return false, e
			}
		}
		o.Free()
		return true, s.timed("precondition", func() (err error) {
			if p.grading, err = matrix.Measure(p.x); err != nil {
				return err
			}
			p, err = reveal(ctx, s, t, p)
			return err
		})
	})
	if full {
		return o, failed
	}
	if failed != nil {
		return outcome{prepared: p}, failed
	}
	return solve(ctx, s, t, p)
}

// fullBound is the bound from which on σ_min/(‖A‖_F·‖V‖_F) says that A has full rank: for a unit vector x,
// ‖A·x‖ ≥ σ_min·‖Vᵀ·x‖ ≥ σ_min/‖V‖, since V⁻¹ = J·Vᵀ·D has the norm of V.
const fullBound = 1e-10

// fullRank tells whether the decomposition shows that the matrix has full rank, as was taken for
// granted. It is collective.
func fullRank(o outcome) (Rank, bool, error) {
	norm, err := o.x.Norm()
	if err != nil || !o.Converged || !(slices.Min(o.Sigma) > fullBound*norm*o.VNorm) {
		return Rank{}, false, err
	}
	return Rank{o.n, fullBound, "the smallest of S against the norms of A and V"}, true, nil
}

// svd is an SVD that another decomposition needs, with its vectors.
type svd struct {
	sigma []float64
	u, v  *matrix.Matrix
}

// innerSweeps is the limit of sweeps for an SVD inside another decomposition.
const innerSweeps = 30

// svdOf computes the SVD of a matrix, which it takes, with V and, if left, U; orthonormal says that it is
// part of one with orthonormal columns. Its time counts for the phase that needs it. It is collective.
func svdOf(ctx context.Context, s site, t Task, x *matrix.Matrix, orthonormal, left bool) (svd, error) {
	inner := Task{
		M: x.M, N: x.N, Wanted: Wanted{Left: left, Right: true, RightLeads: true}, Precondition: QRCPLQ,
		V:        Accumulate,
		Settings: t.Settings, Host: t.Host, Hooks: jacobi.Hooks{Journal: t.Journal},
	}
	inner.MaxSweeps = innerSweeps
	s.seconds = map[string]float64{}
	in := input{origin: origin{m: x.M, n: x.N, signature: partition(x.N, nil), orthonormal: orthonormal}, x: x}
	largest, err := x.Largest()
	if err != nil {
		return svd{}, err
	}
	if in.exponent, err = scaled(x, largest); err != nil {
		return svd{}, err
	}
	p, err := prepare(ctx, s, inner, in)
	if err != nil {
		return svd{}, err
	}
	o, err := iterate(ctx, s, inner, p)
	if err != nil {
		return svd{}, err
	}
	u, err := undo(ctx, s, inner, o)
	if err == nil {
		err = u.vectors.settle()
	}
	if err != nil {
		return svd{}, err
	}
	defer u.Free()
	if !u.Converged {
		return svd{}, &comm.Failure{Kind: comm.BadResource,
			Text: fmt.Sprintf("not converged in %d sweeps", innerSweeps)}
	}
	return svd{u.sigma, u.vectors.u, u.vectors.v}, nil
}
