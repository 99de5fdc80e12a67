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

// In which p-steps of a sweep one inner sweep visits all pairs of columns: in the first one, and then in
// each that is so much further, so that every block-column has its turn, if some rest in the first one
// too. In the others it visits pairs of a column of P with one of Q alone. With fewer block-columns it
// always visits all pairs (docs/decisions/055-pairs-across.md).
const (
	allPairsEvery = 4
	fewestColumns = 8
)

// recursion orthogonalizes batches of pivot problems on one device.
type recursion struct {
	be          kernels.Backend
	levels      []level
	sweeps      int // inner sweeps: 1, FullSweeps or FewSweeps
	present     int // those of this sub-step
	precision   Precision
	independent bool // columns are linearly independent
	mixed       bool // there are columns with sign −1
	schedules   *schedules
	profile     bool
	trace       func(level, problem, p, q int)
	phases      *Phases
}

// pivots are pivot problems, each of order 2 at least, that form a batch.
type pivots struct {
	g, v, norms, grams []kernels.Pivot // as in kernels.Batch and kernels.Single, nil for nothing
	positive           []int           // the number of columns with sign +1 of each
}

// newPivots returns a list with room for so many problems on block-columns that have what this one has.
func newPivots(most int, like Block) *pivots {
	room := func(p kernels.Panel) []kernels.Pivot {
		if p.Ld == 0 {
			return nil
		}
		return make([]kernels.Pivot, 0, most)
	}
	return &pivots{room(like.G), room(like.V), room(like.Norms), room(like.Grams), make([]int, 0, most)}
}

// add appends the problem of two block-columns.
func (x *pivots) add(left, right Block, positive int) {
	x.g = append(x.g, kernels.Pivot{P: left.G, Q: right.G})
	if x.v != nil {
		x.v = append(x.v, kernels.Pivot{P: left.V, Q: right.V})
	}
	if x.norms != nil {
		x.norms = append(x.norms, kernels.Pivot{P: left.Norms, Q: right.Norms})
	}
	if x.grams != nil {
		p, q := left.Grams, right.Grams
		x.grams = append(x.grams, kernels.Pivot{P: p.Rows(0, p.N), Q: q.Rows(0, q.N)})
	}
	x.positive = append(x.positive, positive)
}

// across returns the schedule of the pairs of a column of P with one of Q where a p-step of a sweep visits
// these alone, otherwise nil.
func (r *recursion) across(lev, step int) (*kernels.Schedule, error) {
	l := r.levels[lev]
	if lev < len(r.levels)-1 || r.sweeps > 1 || r.mixed || l.columns < fewestColumns || step%allPairsEvery == 0 {
		return nil, nil
	}
	return r.schedules.pointwiseAcross(l.order)
}

// batch gives pivot problems of a level, those of a p-step of a sweep, their workspace.
func (r *recursion) batch(lev, step int, x *pivots) (*kernels.Batch, error) {
	l, count := &r.levels[lev], len(x.g)
	if count > l.problems {
		return nil, fmt.Errorf("node: level %d: %d problems exceed the workspace of %d", lev, count, l.problems)
	}
	b := &kernels.Batch{Type: r.precision.Type, G: x.g, V: x.v, Grams: x.grams, R: make([]kernels.Panel, count),
		T: make([]kernels.Panel, count), Tally: make([]kernels.Tally, count)}
	if b.Type == kernels.Float32 {
		b.Single = &kernels.Single{Norms: x.norms, Factors: make([]kernels.Panel, count),
			Cosine: r.precision.Cosine, Scaled: lev > 0}
	}
	for i, p := range x.g {
		k := p.Order()
		if k > l.order {
			return nil, fmt.Errorf("node: level %d: problem %d of order %d exceeds the workspace of order %d", lev, i,
				k, l.order)
		}
		var factors kernels.Panel
		if b.R[i], b.T[i], factors = l.factor(i, k); b.Single != nil {
			b.Single.Factors[i] = factors
		}
		if x.positive[i] < k {
			b.Positive = x.positive // otherwise nil, all
		}
	}
	across, err := r.across(lev, step)
	if across != nil {
		b.Across = make([]int, count)
		for i, p := range x.g {
			b.Across[i] = p.P.N
		}
	}
	return b, err
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
		schedule := r.schedules.pointwise
		if b.Across != nil {
			schedule = r.schedules.pointwiseAcross
		}
		s, err := schedule(r.levels[lev].order)
		if err != nil {
			return err
		}
		return r.be.Jacobi(b, kernels.JacobiOptions{Schedule: s, MaxSweeps: r.present, Independent: r.independent})
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
	for sweep := 0; sweep < r.present && len(active) > 0; sweep++ {
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
	columns := r.levels[lev].columns
	table, err := r.schedules.table(columns)
	if err != nil {
		return err
	}
	batches := make([]*kernels.Batch, len(table.Steps))
	parent := make([][]int, len(table.Steps)) // of each problem in each batch
	for s, pairs := range table.Steps {
		if batches[s], parent[s], err = r.inner(lev, s, parents, active, columns, pairs); err != nil {
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

// inner makes the batch of a p-step: these pairs of block-columns in the factors of all active parents. It
// returns the parent of each problem.
func (r *recursion) inner(lev, step int, parents *kernels.Batch, active []int, columns int,
	pairs []strategy.Pair) (*kernels.Batch, []int, error) {
	most := len(active) * len(pairs)
	x := newPivots(most, factorOf(parents, active[0]))
	parent := make([]int, 0, most)
	for _, i := range active {
		l, whole := Layout{N: parents.R[i].N, Ordering: Ordering{Columns: columns}}, factorOf(parents, i)
		for _, pair := range pairs {
			if l.Order(pair) < 2 {
				continue
			}
			x.add(whole.columns(l.Start(pair.P), l.Start(pair.P+1)), whole.columns(l.Start(pair.Q), l.Start(pair.Q+1)),
				l.ones(pair, parents.Ones(i, l.N)))
			parent = append(parent, i)
			if r.trace != nil {
				r.trace(lev, i, pair.P, pair.Q)
			}
		}
	}
	b, err := r.batch(lev, step, x)
	return b, parent, err
}

// factorOf returns the block that the next level works on: R of a parent in the role of G, T in that of V.
func factorOf(parents *kernels.Batch, i int) Block {
	f := Block{G: parents.R[i], V: parents.T[i]}
	if parents.Single != nil {
		f.Norms = parents.Single.Factors[i]
	}
	return f
}
