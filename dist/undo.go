package dist

import (
	"context"
	"fmt"
	"time"

	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/dist/refine"
)

// undone is the decomposition of A.
type undone struct {
	*jacobi.Solution
	sigma      []float64
	count      int // of singular values that are wanted, the first ones
	outOfRange OutOfRange
	rank       Rank
	fidelity   *Fidelity
	refined    []refine.Step
	vectors    vectors
	method     method
	ways       ways
	residual   float64 // of V from the left vectors
	began      time.Time
}

// residualLimit is the largest residual of right vectors that were not accumulated, relative to
// ε·N·‖A‖_F as the check has it.
var residualLimit = 1.0

// undo scales the singular values back, and forms the singular vectors that are needed, unless they can be
// read from the block-columns of the Jacobi method: those of X first, and from them those of A, by undoing
// the steps from the last one on. They have no signs yet, and where A is tall, U is that of its triangular
// factor (vectors.settle). It is collective.
func undo(ctx context.Context, s site, t Task, o outcome) (done undone, err error) {
	done = undone{Solution: o.Solution, outOfRange: o.outOfRange, fidelity: o.fidelity, refined: o.refined,
		method: o.method, ways: o.ways(t)}
	defer func() {
		if err != nil {
			done.Free()
		}
	}()
	if done.sigma, done.rank, err = values(o); err != nil {
		return done, err
	}
	done.count = len(done.sigma)
	if t.Signs == nil {
		done.count = t.count(done.sigma)
	}
	switch {
	case !t.needs().any() || done.count == 0:
		return done, nil
	case o.method.precondition == NoPreconditioner && o.method.v != FromLeft && o.slabs == nil &&
		o.formed == nil && !o.Deficient():
		if err := s.timed("vectors", o.holdsDirect); err != nil {
			return done, err
		}
		done.vectors = vectors{direct: o.Solution, order: o.signature.order, count: done.count,
			rightLeads: t.RightLeads}
		return done, nil
	}
	from := o.origin
	err = s.timed("vectors", func() error {
		c, err := collect(ctx, s, t, o, done.count)
		done.Solution, done.method, done.ways, done.residual = c.Solution, c.method, c.ways(t), c.residual
		if err != nil {
			return err
		}
		u, v := c.u, c.v
		c.x, c.u, c.v, o = nil, nil, nil, outcome{} // memory
		needs := c.sides(t)
		if !needs.Left {
			u = nil
		}
		if !needs.Right {
			v = nil
		}
		for i := len(c.steps) - 1; i >= 0; i-- {
			if u, v, err = c.steps[i].Back(u, v); err != nil {
				return err
			}
		}
		if u, err = leading(u, done.count); err != nil {
			return err
		}
		if v, err = leading(v, done.count); err != nil {
			return err
		}
		if c.deflated != nil && v != nil {
			if done.VNorm, err = v.Norm(); err != nil {
				return err
			}
			if err := holdsJ(v, c.signature.positive, done.VNorm); err != nil {
				return err
			}
		}
		if done.Converged {
			if err := from.holds(u, v, done.sigma, done.VNorm); err != nil {
				return err
			}
		}
		if u, v, err = c.signature.Back(u, v); err != nil {
			return err
		}
		done.vectors = vectors{u: u, v: v, count: done.count, rightLeads: t.RightLeads}
		if t.needs().Left {
			done.vectors.slabs = c.slabs
		}
		return nil
	})
	return done, err
}

// sides returns which vectors of X are needed.
func (p prepared) sides(t Task) sides {
	needs := t.needs()
	if transposes(p.method.precondition, p.hyperbolic()) || p.method.turned {
		needs.Left, needs.Right = needs.Right, needs.Left
	}
	return needs
}

// leading returns the first columns of x, so many; it uses x up. A matrix that has no more, or none, is
// returned as it is.
func leading(x *matrix.Matrix, count int) (*matrix.Matrix, error) {
	if x == nil || x.N <= count {
		return x, nil
	}
	y, err := matrix.Select(x, matrix.Natural(count))
	x.Free()
	return y, err
}

// collected has the vectors of X.
type collected struct {
	outcome
	u, v     *matrix.Matrix // v is nil if it was not asked for
	residual float64        // of v if it comes from u
}

// collect makes matrices of the vectors of X: of the first ones, so many, or of all if that is more than the
// order of X. Where right vectors that were not accumulated do not serve, the method is run again. It is
// collective.
func collect(ctx context.Context, s site, t Task, o outcome, count int) (c collected, err error) {
	c.outcome = o
	count = min(count, len(o.Sigma))
	if o.formed != nil {
		if c.u, err = leading(o.formed.u, count); err == nil {
			c.v, err = leading(o.formed.v, count)
		}
		return c, err
	}
	if o.method.v != FromLeft {
		o.x.Free()
	}
	c.u, c.v, err = o.CollectLeading(s.where, count)
	if err != nil || o.method.v != FromLeft {
		return c, err
	}
	if c.v, c.residual, err = fromLeft(o, c.u); err != nil || c.residual <= residualLimit {
		o.x.Free()
		o.kept.Free()
		return c, err
	}
	c.u.Free()
	c.v.Free()
	p := o.prepared
	if p.kept != nil {
		q2, x, err := lower(p.kept)
		if err != nil {
			return c, err
		}
		p.kept, p.x, p.steps = nil, x, append(p.steps, rightFactor{q2})
	}
	p.method.v = Accumulate
	p.method.reason.v = fmt.Sprintf("the vectors formed at the end left a residual of %.2g", c.residual)
	c = collected{}
	if c.outcome, err = solve(ctx, s, t, p); err != nil {
		return c, err
	}
	c.u, c.v, err = c.CollectLeading(s.where, count)
	return c, err
}
