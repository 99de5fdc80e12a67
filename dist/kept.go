package dist

import (
	"errors"
	"time"

	"jmpi/dist/checkpoint"
	"jmpi/dist/exchange"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/dist/refine"
)

// keepable tells whether a checkpoint gets the decomposition. Vectors that are read from the block-columns of
// the Jacobi method are as near as they can be in its last state. One that has not converged goes on.
func (u undone) keepable() bool { return u.Converged && u.vectors.direct == nil }

// keptDecomposition is what a checkpoint has of a decomposition, besides matrices.
type keptDecomposition struct {
	Count      int
	OutOfRange OutOfRange
	Rank       Rank
	Fidelity   *Fidelity
	Refined    []refine.Step
	Method     keptMethod
	Ways       keptWays
	Residual   float64
	Slabs      bool // U is that of the triangular factor of a tall matrix, whose slabs are made again
}

// describe describes the decomposition, with the vectors as undo leaves them.
func (u *undone) describe(c *checkpoint.Codec, s site, t Task) {
	k := keptDecomposition{u.count, u.outOfRange, u.rank, u.fidelity, u.refined, u.method.kept(), u.ways.kept(),
		u.residual, u.vectors.slabs != nil}
	if checkpoint.Fact(c, "decomposition", &k); c.Loading() && c.Err() == nil {
		*u = undone{Solution: &jacobi.Solution{}, count: k.Count, outOfRange: k.OutOfRange, rank: k.Rank,
			fidelity: k.Fidelity, refined: k.Refined, method: k.Method.method(), ways: k.Ways.ways(),
			residual: k.Residual, began: time.Now()}
		u.vectors.rightLeads = t.RightLeads
		c.Fail(u.begin(s, t, k.Slabs))
	}
	if u.Solution == nil || c.Err() != nil {
		return
	}
	devices, transport := u.Devices, u.Transport
	u.Solution.Describe(c)
	if checkpoint.Vector(c, "sigma", &u.sigma); c.Loading() {
		if u.Devices, u.Transport = devices, transport; len(devices) != u.Layout.Macros/2 {
			u.Plan = nil // of other devices
		}
	}
	matrix.Describe(c, s.where, "u", &u.vectors.u)
	matrix.Describe(c, s.where, "v", &u.vectors.v)
	if u.vectors.u != nil || u.vectors.v != nil {
		u.vectors.count = u.count
	}
}

// begin finds what a checkpoint does not have of a decomposition: the devices, and the slabs of a tall
// matrix. It is collective.
func (u *undone) begin(s site, t Task, slabs bool) (err error) {
	if u.Devices, err = exchange.Census(s.comm, s.devices); err != nil {
		return err
	}
	if u.Transport, err = exchange.ChooseTransport(s.comm, s.devices, t.GPUDirect); err != nil || !slabs {
		return err
	}
	in, err := read(s, t)
	if err != nil {
		return err
	}
	if in.x.Free(); in.slabs == nil {
		return errors.New("the matrix has changed")
	}
	u.vectors.slabs = in.slabs
	return nil
}

// keptWays are ways.
type keptWays struct {
	Slabs, Vectors                    bool
	Precondition                      Preconditioner
	V                                 RightVectors
	Hyperbolic, Deflated, BySVD       bool
	Reflectors, Ladder, Reread, Aside bool
}

// kept returns what a checkpoint has of them.
func (w ways) kept() keptWays {
	return keptWays{w.slabs, w.vectors, w.precondition, w.v, w.hyperbolic, w.deflated, w.bySVD, w.reflectors,
		w.ladder, w.reread, w.aside}
}

// ways is the inverse of kept.
func (k keptWays) ways() ways {
	return ways{k.Slabs, k.Vectors, k.Precondition, k.V, k.Hyperbolic, k.Deflated, k.BySVD, k.Reflectors,
		k.Ladder, k.Reread, k.Aside}
}
