package node

import (
	"fmt"
	"time"

	"jmpi/kernels"
)

// FullSweeps is the limit of inner sweeps in the full block variant ([Nov15, §4.3]).
const FullSweeps = 30

// level is one level of the recursion: pivot problems on block-columns of one width.
type level struct {
	order    int // largest order of a factor
	problems int // largest batch
	r, t     kernels.Address
	ld       int
}

// factor returns the k×k workspace of problem i for R and T.
func (l *level) factor(i, k int) (r, t kernels.Panel) {
	offset := kernels.Address(int64(i) * int64(l.ld) * int64(l.order) * kernels.WordBytes)
	return kernels.Panel{M: k, N: k, Ld: l.ld, Data: l.r + offset},
		kernels.Panel{M: k, N: k, Ld: l.ld, Data: l.t + offset}
}

// recursion orthogonalizes batches of pivot problems on one device.
type recursion struct {
	be        kernels.Backend
	levels    []level
	widths    []int // widths[l]: preferred width of the block-columns of level l, l ≥ 1
	sweeps    int   // inner sweeps: 1 or FullSweeps
	schedules *schedules
	trace     func(level, problem, p, q int)
	phases    *Phases
}

// Phases are the seconds and floating-point operations of a device's phases at the outermost level of its recursion.
type Phases struct {
	Shorten, Inner, Postmultiply, Exchange      float64 // seconds
	ShortenFlops, InnerFlops, PostmultiplyFlops float64
}

// Add adds the figures of another device.
func (p *Phases) Add(q Phases) {
	p.Shorten += q.Shorten
	p.Inner += q.Inner
	p.Postmultiply += q.Postmultiply
	p.Exchange += q.Exchange
	p.ShortenFlops += q.ShortenFlops
	p.InnerFlops += q.InnerFlops
	p.PostmultiplyFlops += q.PostmultiplyFlops
}

// shape prepares the levels below a batch of problems of order k ≤ order on block-columns of width widths[0].
func (r *recursion) shape(order, problems, align int) {
	for l := 0; ; l++ {
		ld := (order + align - 1) / align * align
		r.levels = append(r.levels, level{order: order, problems: problems, ld: ld})
		if l+1 >= len(r.widths) {
			return
		}
		inner := NewLayout(order, 1, r.widths[l+1])
		problems *= inner.Columns / 2
		order = 2 * inner.Width()
	}
}

func (l *level) bytes() int64 {
	return int64(l.problems) * int64(l.ld) * int64(l.order) * kernels.WordBytes
}

func (r *recursion) alloc() (err error) {
	for i := range r.levels {
		l := &r.levels[i]
		if l.r, err = r.be.Alloc(l.bytes()); err != nil {
			return err
		}
		if l.t, err = r.be.Alloc(l.bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (r *recursion) free() {
	for _, l := range r.levels {
		for _, a := range []kernels.Address{l.r, l.t} {
			if a != 0 {
				r.be.Free(a)
			}
		}
	}
}

// batch gives pivot problems of a level their workspace. Problems of order < 2 have nothing to do and are dropped.
func (r *recursion) batch(lev int, g, v []kernels.Pivot) (*kernels.Batch, error) {
	l := &r.levels[lev]
	b := &kernels.Batch{}
	for i, p := range g {
		k := p.Order()
		if k < 2 {
			continue
		}
		if len(b.G) == l.problems || k > l.order {
			return nil, fmt.Errorf("node: level %d: problem %d of order %d exceeds the workspace of %d problems of order %d", lev, i, k, l.problems, l.order)
		}
		pr, pt := l.factor(len(b.G), k)
		b.G = append(b.G, p)
		b.R = append(b.R, pr)
		b.T = append(b.T, pt)
		if v != nil {
			b.V = append(b.V, v[i])
		}
	}
	b.Tally = make([]kernels.Tally, len(b.G))
	return b, nil
}

// step runs the three phases on a batch of disjoint pivot problems of a level.
func (r *recursion) step(lev int, b *kernels.Batch) error {
	if len(b.G) == 0 {
		return nil
	}
	start := time.Now()
	if err := r.be.Gram(b); err != nil {
		return err
	}
	if err := r.be.Cholesky(b); err != nil {
		return err
	}
	if err := r.be.QR(b); err != nil {
		return err
	}
	shortened := time.Now()
	if err := r.orthogonalize(lev, b); err != nil {
		return err
	}
	orthogonalized := time.Now()
	if err := r.be.Multiply(b); err != nil {
		return err
	}
	if lev == 0 {
		if err := r.be.Sync(); err != nil {
			return err
		}
		r.phases.Shorten += shortened.Sub(start).Seconds()
		r.phases.Inner += orthogonalized.Sub(shortened).Seconds()
		r.phases.Postmultiply += time.Since(orthogonalized).Seconds()
		r.phases.count(b)
	}
	return nil
}

// orthogonalize computes T for the factors R of a batch: by the pointwise method on the last level,
// otherwise by block-sweeps whose pivot problems, of all parents together, form the batches of the next level.
func (r *recursion) orthogonalize(lev int, b *kernels.Batch) error {
	if lev == len(r.levels)-1 {
		s, err := r.schedules.pointwise(r.levels[lev].order)
		if err != nil {
			return err
		}
		return r.be.Jacobi(b, kernels.JacobiOptions{Schedule: s, MaxSweeps: r.sweeps})
	}
	active := make([]int, len(b.G))
	for i := range active {
		active[i] = i
		if err := r.be.Identity(b.T[i], 0); err != nil {
			return err
		}
	}
	for sweep := 0; sweep < r.sweeps && len(active) > 0; sweep++ {
		proper := make([]int64, len(b.G))
		if err := r.blockSweep(lev+1, b, active, proper); err != nil {
			return err
		}
		// A parent that needs no more leaves the batch at once, so that what happens to a problem
		// does not depend on which others share its batch.
		var still []int
		for _, i := range active {
			if proper[i] != 0 {
				still = append(still, i)
			}
		}
		active = still
	}
	return nil
}

// blockSweep runs one block-sweep over the factors of the active parents, and adds to their tallies.
func (r *recursion) blockSweep(lev int, parents *kernels.Batch, active []int, proper []int64) error {
	columns := NewLayout(r.levels[lev-1].order, 1, r.widths[lev]).Columns
	table, err := r.schedules.table(columns)
	if err != nil {
		return err
	}
	for _, pairs := range table.Steps {
		var g, v []kernels.Pivot
		var parent []int
		for _, i := range active {
			l := Layout{N: parents.R[i].N, Columns: columns}
			for _, pair := range pairs {
				p0, p1 := l.Start(pair.P), l.Start(pair.P+1)
				q0, q1 := l.Start(pair.Q), l.Start(pair.Q+1)
				if p1-p0+q1-q0 < 2 {
					continue
				}
				g = append(g, kernels.Pivot{P: parents.R[i].Columns(p0, p1), Q: parents.R[i].Columns(q0, q1)})
				v = append(v, kernels.Pivot{P: parents.T[i].Columns(p0, p1), Q: parents.T[i].Columns(q0, q1)})
				parent = append(parent, i)
				if r.trace != nil {
					r.trace(lev, i, pair.P, pair.Q)
				}
			}
		}
		b, err := r.batch(lev, g, v)
		if err != nil {
			return err
		}
		if err := r.step(lev, b); err != nil {
			return err
		}
		if err := r.be.Sync(); err != nil {
			return err
		}
		for j, i := range parent {
			t := &parents.Tally[i]
			t.Rotations += b.Tally[j].Rotations
			t.Proper += b.Tally[j].Proper
			t.Changed |= b.Tally[j].Changed
			proper[i] += b.Tally[j].Proper
		}
	}
	return nil
}

// count adds the operations of a batch: a Gram matrix of order k is symmetric, m·k² operations; a rotation
// takes three products of columns of the factor, 6·k, and changes two columns of R and of T, 16·k.
func (p *Phases) count(b *kernels.Batch) {
	for i, g := range b.G {
		k := float64(g.Order())
		p.ShortenFlops += float64(g.P.M) * k * k
		p.InnerFlops += 22 * k * float64(b.Tally[i].Rotations)
		if b.Tally[i].Changed != 0 {
			p.PostmultiplyFlops += 2 * float64(g.P.M) * k * k
			if b.V != nil {
				p.PostmultiplyFlops += 2 * float64(b.V[i].P.M) * k * k
			}
		}
	}
}
