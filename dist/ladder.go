package dist

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"jmpi/dist/checkpoint"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/dist/refine"
	"jmpi/kernels"
)

// What the sweeps in float32 end at. Cosines of rounding errors are some 1e-7.
const (
	lowCosine = 3e-6
	// Where so few pivots were active, what a sweep has left is small enough for passes. From an order on one
	// sweep more costs less than the pass that it spares.
	fewActive, fewerActive, largeOrder = 0.1, 0.01, 8192
	// But where one of them had a cosine so large, it may have left one that is too large for passes.
	largeLeft = 0.2
	// From this sweep on, sweeps must leave fewer pivots active than so much of those before.
	slowSweep, slowShare = 8, 0.8
)

// lowEnough returns a function that tells whether more sweeps in float32, of so many columns, are of no use.
func lowEnough(columns int) func(sweeps []jacobi.SweepInfo) bool {
	few := fewActive
	if columns >= largeOrder {
		few = fewerActive
	}
	return func(sweeps []jacobi.SweepInfo) bool {
		n := len(sweeps)
		last := sweeps[n-1]
		return last.Active <= few && last.Cosine <= largeLeft ||
			n >= slowSweep && last.Active > slowShare*sweeps[n-2].Active
	}
}

// lowSweeps is the limit of sweeps in float32.
var lowSweeps = 12

// climb computes the SVD of X by sweeps in float32, whose result is made one of float64 by products of
// matrices (package refine). If it does not come to one, sweeps in float64 end it or, where its vectors do
// not serve, begin with X again. It is collective.
func climb(ctx context.Context, s site, t Task, p prepared) (outcome, error) {
	o, err := low(ctx, s, t, p)
	if err != nil || o.Broken() {
		return o, err
	}
	hooks := refine.Hooks{Done: t.sayRefined, Journal: t.Journal, Aside: t.Aside}
	if hooks.Stage, err = t.Journal.Next(checkpoint.Refinement); err != nil {
		return o, err
	}
	var r refined
	err = stage(t, "refined", r.describe, func() (bool, error) {
		err := s.timed("refine", func() (err error) {
			r, err = refineLow(s, t, o, hooks)
			return err
		})
		return err == nil && !r.converged(), err
	})
	if err != nil {
		return o, err
	}
	if r.Result == nil || r.why != "" {
		if r.Result == nil {
			return descend(ctx, s, t, o, r.why)
		}
		o.refined = r.Steps
		r.Free()
		o, err = descend(ctx, s, t, o, r.why)
		o.take(r.Values)
		return o, err
	}
	o.refined = r.Steps
	if r.converged() {
		p.x.Free()
		o.Solution.Sigma, o.Solution.Converged = r.Values, true
		o.formed = &pair{r.U, r.V}
		return o, nil
	}
	return finish(ctx, s, t, o, r.Result)
}

// converged tells whether it is the decomposition.
func (r refined) converged() bool { return r.Result != nil && r.Outcome == refine.Converged }

// refineLow refines what sweeps in float32 have given. It is collective.
func refineLow(s site, t Task, o outcome, h refine.Hooks) (r refined, err error) {
	if o.Deficient() {
		r.why = "columns became zero in float32"
		return r, nil
	}
	var v *matrix.Matrix
	ratio := 0.0 // of singular values; the checkpoint has it
	if !h.Found() {
		if v, _, err = o.Collect(s.where); err != nil {
			return r, err
		}
		ratio = o.Solution.Sigma[0] / o.Solution.Sigma[o.x.N-1]
	}
	if r.Result, err = refine.Start(o.x, v, ratio, refine.Wanted(o.sides(t)), h); err != nil {
		return r, err
	}
	if r.Outcome == refine.NotServed || r.Outcome == refine.Drifted {
		r.why = fmt.Sprintf("what float32 gave did not serve (%s)", r.Outcome)
	}
	return r, nil
}

// sayRefined logs a step of the refinement.
func (t Task) sayRefined(step refine.Step) {
	line := t.Log.Info().Str("step", step.What)
	if step.Cosine > 0 {
		line = line.Str("cosine", strconv.FormatFloat(step.Cosine, 'g', 3, 64))
	}
	line.Float64("seconds", math.Round(step.Seconds*1e3)/1e3).Msg("refine")
}

// low runs sweeps in float32 on the columns of Xᵀ. Since Xᵀ·W = V·Σ, their directions are V of X, and nothing
// is accumulated. It is collective.
func low(ctx context.Context, s site, t Task, p prepared) (o outcome, err error) {
	xt := p.kept
	if p.kept = nil; xt == nil {
		if xt, err = p.x.Transpose(nil, p.x.M); err != nil {
			return o, err
		}
	}
	o.prepared = p
	problem := jacobi.Problem{M: p.x.N, N: p.x.M, Norms: p.method.norms(),
		Precision: kernels.Float32, Cosine: lowCosine, Enough: lowEnough(p.x.M), Independent: true,
		StopBroken: p.mayRestart(t), Start: jacobi.Start{Source: xt}}
	settings := t.Settings
	settings.MaxSweeps = min(settings.MaxSweeps, lowSweeps)
	o.Solution, err = jacobi.Solve(ctx, s.comm, s.devices, jacobi.Config{Problem: problem, Settings: settings,
		Hooks: t.Hooks})
	return o, err
}

// finish runs sweeps in float64 on G = X·V, where passes do not serve. It is collective.
func finish(ctx context.Context, s site, t Task, o outcome, r *refine.Result) (outcome, error) {
	t.Log.Info().Stringer("why", r.Outcome).Msg("sweeps in float64 finish the decomposition")
	first := o.Solution
	problem := jacobi.Problem{M: o.x.M, N: o.x.N, Norms: jacobi.Falling, Vectors: o.sides(t).Right}
	o.x.Free()
	if r.U != nil { // otherwise the checkpoint has what they have become
		g, err := r.G()
		if err != nil {
			return o, err
		}
		problem.Start = jacobi.Start{Source: g, Right: r.V}
	}
	o.method.reason.precision += fmt.Sprintf("; sweeps in float64 finished it (%s)", r.Outcome)
	var err error
	o.Solution, err = jacobi.Solve(ctx, s.comm, s.devices, jacobi.Config{Problem: problem, Settings: t.Settings,
		Hooks: t.Hooks})
	if err == nil {
		o.follow(first)
		o.take(r.Values)
	}
	return o, err
}

// take takes the singular values that the refinement has found, if it has. They are the same whatever vectors
// are wanted, also where these needed sweeps.
func (o *outcome) take(values []float64) {
	if values != nil && o.Solution != nil && o.Converged {
		o.Solution.Sigma = values
	}
}

// descend runs sweeps in float64 on X. It is collective.
func descend(ctx context.Context, s site, t Task, o outcome, why string) (outcome, error) {
	t.Log.Info().Str("why", why).Msg("computing the decomposition again, in float64")
	first := o.Solution
	first.Free()
	p := o.prepared
	p.method.ladder, p.method.reason.precision = false, why
	p.method.v, p.method.reason.v = chooseRight(t, false, p.method)
	again, err := solve(ctx, s, t, p)
	if err == nil && !again.Broken() {
		again.refined = o.refined
		again.follow(first)
	}
	return again, err
}

// follow adds what was done before.
func (o *outcome) follow(first *jacobi.Solution) {
	o.Solution.Sweeps = slices.Concat(first.Sweeps, o.Solution.Sweeps)
	o.Solution.Phases.Add(first.Phases)
	o.Solution.Seconds += first.Seconds
}
