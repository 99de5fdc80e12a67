package node

import (
	"fmt"

	"jmpi/kernels"
	"jmpi/strategy"
)

// FullSweeps is the limit of inner sweeps in the full block variant ([Nov15, §4.3]).
const FullSweeps = 30

// FewSweeps takes its place where the matrix has more than one factor. Two sweeps leave little to do: what
// more would do, the next ones of the topmost level do as well. Where columns have both signs, a T that is
// the product of many hyperbolic rotations is large itself. Others undo it later, which cancels, and leaves V
// less J-orthogonal. More sweeps of the topmost level are needed there only where rows are graded.
const FewSweeps = 2

// recursion orthogonalizes batches of pivot problems on one device.
type recursion struct {
	be          kernels.Backend
	levels      []level
	widths      []int // widths[l]: preferred width of the block-columns of level l, l ≥ 1
	sweeps      int   // inner sweeps: 1, FullSweeps or FewSweeps
	independent bool  // columns are linearly independent
	schedules   *schedules
	profile     bool
	trace       func(level, problem, p, q int)
	phases      *Phases
}

// batch gives pivot problems of a level, each of order 2 at least, their workspace. positive has the number
// of columns with sign +1 of each.
func (r *recursion) batch(lev int, g, v []kernels.Pivot, positive []int) (*kernels.Batch, error) {
	l := &r.levels[lev]
	if len(g) > l.problems {
		return nil, fmt.Errorf("node: level %d: %d problems exceed the workspace of %d", lev, len(g), l.problems)
	}
	b := &kernels.Batch{G: g, V: v, R: make([]kernels.Panel, len(g)), T: make([]kernels.Panel, len(g)),
		Tally: make([]kernels.Tally, len(g))}
	for i, p := range g {
		k := p.Order()
		if k > l.order {
			return nil, fmt.Errorf("node: level %d: problem %d of order %d exceeds the workspace of order %d", lev, i,
				k, l.order)
		}
		b.R[i], b.T[i] = l.factor(i, k)
		if positive[i] < k {
			b.Positive = positive // otherwise nil, all
		}
	}
	return b, nil
}

// step runs the three phases on a batch of disjoint pivot problems of a level.
func (r *recursion) step(lev int, b *kernels.Batch) error {
	if len(b.G) == 0 {
		return nil
	}
	clock := r.clock(lev)
	if err := r.be.Gram(b); err != nil {
		return err
	}
	if err := r.be.Cholesky(b); err != nil {
		return err
	}
	if err := r.be.QR(b); err != nil {
		return err
	}
	if err := clock.stop(&r.phases.Shorten); err != nil {
		return err
	}
	if err := r.orthogonalize(lev, b); err != nil {
		return err
	}
	if err := clock.stop(&r.phases.Inner); err != nil {
		return err
	}
	if err := r.be.Multiply(b); err != nil {
		return err
	}
	return clock.stop(&r.phases.Postmultiply)
}

// orthogonalize computes T for the factors R of a batch: by the pointwise method on the last level, otherwise
// by block-sweeps whose pivot problems, of all parents together, form the batches of the next level.
func (r *recursion) orthogonalize(lev int, b *kernels.Batch) error {
	if lev == len(r.levels)-1 {
		s, err := r.schedules.pointwise(r.levels[lev].order)
		if err != nil {
			return err
		}
		return r.be.Jacobi(b, kernels.JacobiOptions{Schedule: s, MaxSweeps: r.sweeps, Independent: r.independent})
	}
	if err := r.be.Sync(); err != nil { // which makes the tallies valid
		return err
	}
	var active []int
	for i := range b.G {
		if b.Tally[i].Inactive != 0 {
			continue
		}
		active = append(active, i)
		if err := r.be.Identity(b.T[i], 0); err != nil {
			return err
		}
	}
	for sweep := 0; sweep < r.sweeps && len(active) > 0; sweep++ {
		done := make([]kernels.Tally, len(b.G))
		if err := r.blockSweep(lev+1, b, active, done); err != nil {
			return err
		}
		// A parent that needs no more leaves the batch at once, so that what happens to a problem
		// does not depend on which others share its batch.
		var still []int
		for _, i := range active {
			if !done[i].Settled() {
				still = append(still, i)
			}
		}
		active = still
	}
	return nil
}

// blockSweep runs one block-sweep over the factors of the active parents, and adds to their
// tallies. No batch of it depends on what the host learns from another, so the host prepares the
// next ones while the device works.
func (r *recursion) blockSweep(lev int, parents *kernels.Batch, active []int, done []kernels.Tally) error {
	columns := NewLayout(r.levels[lev-1].order, 1, r.widths[lev]).Columns
	table, err := r.schedules.table(columns)
	if err != nil {
		return err
	}
	batches := make([]*kernels.Batch, len(table.Steps))
	parent := make([][]int, len(table.Steps)) // of each problem in each batch
	for s, pairs := range table.Steps {
		if batches[s], parent[s], err = r.inner(lev, parents, active, columns, pairs); err != nil {
			return err
		}
		if err := r.step(lev, batches[s]); err != nil {
			return err
		}
	}
	if err := r.be.Sync(); err != nil {
		return err
	}
	for s, b := range batches {
		for j, i := range parent[s] {
			parents.Tally[i].Add(b.Tally[j])
			parents.Tally[i].Changed |= b.Tally[j].Changed
			done[i].Add(b.Tally[j])
		}
	}
	return nil
}

// inner makes the batch of one p-step: these pairs of block-columns in the factors of all active parents. It
// returns the parent of each problem.
func (r *recursion) inner(lev int, parents *kernels.Batch, active []int, columns int,
	pairs []strategy.Pair) (*kernels.Batch, []int, error) {
	most := len(active) * len(pairs)
	g, v := make([]kernels.Pivot, 0, most), make([]kernels.Pivot, 0, most)
	parent, positive := make([]int, 0, most), make([]int, 0, most)
	for _, i := range active {
		l := Layout{N: parents.R[i].N, Columns: columns}
		for _, pair := range pairs {
			if l.Order(pair) < 2 {
				continue
			}
			p0, p1 := l.Start(pair.P), l.Start(pair.P+1)
			q0, q1 := l.Start(pair.Q), l.Start(pair.Q+1)
			g = append(g, kernels.Pivot{P: parents.R[i].Columns(p0, p1), Q: parents.R[i].Columns(q0, q1)})
			v = append(v, kernels.Pivot{P: parents.T[i].Columns(p0, p1), Q: parents.T[i].Columns(q0, q1)})
			parent = append(parent, i)
			positive = append(positive, l.ones(pair, parents.Ones(i, l.N)))
			if r.trace != nil {
				r.trace(lev, i, pair.P, pair.Q)
			}
		}
	}
	b, err := r.batch(lev, g, v, positive)
	return b, parent, err
}
