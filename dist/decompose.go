package dist

import (
	"context"
	"time"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/dist/refine"
	"jmpi/kernels"
)

// Decomposition is a finished Task. Its vectors lie on the devices of all ranks.
type Decomposition struct {
	*jacobi.Solution           // of the matrix that the Jacobi method has worked on
	Sigma            []float64 // of A, non-increasing, the same on every rank
	Count            int       // of singular values and vectors that are wanted, the first ones
	Precondition, V  Choice
	Precision        Choice        // of the first sweeps
	Refined          []refine.Step // what made an SVD of float64 of sweeps in float32
	// ‖A − U·diag(σ)·Vᵀ‖_F/(‖A‖_F·N·ε) by the triangular factor that V comes from; 0 if V was accumulated
	Residual   float64
	OutOfRange OutOfRange
	Rank       Rank
	Fidelity   *Fidelity // of a hyperbolic SVD, nil otherwise
	Seconds    float64   // from the matrix on the devices to S, U and V there
	// seconds that passed on this rank in each phase before and after the Jacobi method
	Host map[string]float64
	// what this rank was expected to take of the memory of its host, by what was chosen. Matrices count only
	// where the devices' memory is the host's.
	EstimatedBytes int64
	DeviceBytes    int64 // what each device was expected to take, by what was chosen

	where   *matrix.Devices
	journal *checkpoint.Journal // which may still write the vectors
	threads int                 // that may read and write
	vectors vectors
}

// Free gives the memory on the devices back.
func (d *Decomposition) Free() {
	if d == nil {
		return
	}
	d.Solution.Free()
	d.journal.Retire(func() { _ = d.where.Free() }) // a device that cannot do so gives it back when it is closed
}

// Decompose computes the singular value decomposition of a matrix in five steps, of which the last, writing,
// is the caller's (Vectors). It is collective. Where one rank fails alone while the others compute, its error
// is not a *comm.Failure, and the caller must Abort.
func Decompose(ctx context.Context, world comm.Comm, devices []kernels.Backend,
	t Task) (*Decomposition, error) {
	if t.Variant == jacobi.AutoVariant && Mixed(t.Signs) {
		t.Variant = jacobi.Full // for all parts of it, some of which are SVDs
	}
	transport, err := exchange.ChooseTransport(world, devices, t.GPUDirect)
	if err != nil {
		return nil, err
	}
	where, err := matrix.NewDevices(world, devices, transport.Direct)
	if err != nil {
		return nil, err
	}
	where.Widen(t.N)
	s := site{Host: t.Host, comm: world, devices: devices, where: where, seconds: map[string]float64{},
		spans: t.Recorder}
	t.Journal.Tell(true)
	u, err := decomposed(ctx, s, t)
	if err == nil {
		err = s.where.Sync()
	}
	if err != nil {
		u.Free()
		return nil, err
	}
	t.Journal.Tell(false)
	d := result(s, t, u)
	d.Seconds = time.Since(u.began).Seconds() - u.LoadSeconds
	s.where.Traffic.Read += u.LoadSeconds
	return d, nil
}

// decomposed computes the decomposition, or takes what the checkpoint has of it. It is kept while the results
// are written, unless the run stops, or goes on: then it may have no time for both. It is collective.
func decomposed(ctx context.Context, s site, t Task) (u undone, err error) {
	describe := func(c *checkpoint.Codec) { u.describe(c, s, t) }
	kept := false
	found, err := stageFound(t, "decomposition", describe, func() (bool, error) {
		u, err = compute(ctx, s, t)
		kept = err == nil && u.keepable()
		return kept, err
	})
	settle := func() error { return s.timed("vectors", u.vectors.settle) }
	tall := u.vectors.slabs != nil // whose vectors are not what is kept
	if err == nil && !tall {
		err = settle()
	}
	if err == nil && kept && !found {
		err = t.Journal.Offer("forming the vectors", 0, func(wait bool) error {
			return t.Journal.Save(wait || tall || t.Journal.Resumed())
		})
	}
	if err == nil && tall {
		err = settle()
	}
	return u, err
}

// compute computes the decomposition from the matrix, or from what the checkpoint has on the way. It is
// collective.
func compute(ctx context.Context, s site, t Task) (u undone, err error) {
	x, found, err := begin(ctx, s, t)
	defer func() { err = x.outOfRange.explain(err) }()
	if err != nil {
		return u, err
	}
	if t.Aside, err = s.aside(t, x); err != nil {
		return u, err
	}
	if !found {
		if err := keep(t, "preparing"); err != nil {
			return u, err
		}
	}
	var o outcome
	if err := s.step("iterate", func() (err error) { o, err = iterate(ctx, s, t, x); return err }); err != nil {
		return u, err
	}
	err = s.step("undo", func() (err error) { u, err = undo(ctx, s, t, o); return err })
	u.began = x.began
	return u, err
}

// begin reads the matrix and prepares it, or takes what the checkpoint has of that. It is collective.
func begin(ctx context.Context, s site, t Task) (p prepared, found bool, err error) {
	describe := func(c *checkpoint.Codec) { p.describe(c, s, t) }
	found, err = stageFound(t, "prepared", describe, func() (bool, error) {
		var in input
		if err := s.step("read", func() (err error) { in, err = read(s, t); return err }); err != nil {
			return false, err
		}
		return true, s.step("prepare", func() (err error) { p, err = prepare(ctx, s, t, in); return err })
	})
	return p, found, err
}

// result is what is told of a decomposition.
func result(s site, t Task, u undone) *Decomposition {
	d := &Decomposition{
		Solution: u.Solution, Sigma: u.sigma, Count: u.count, Residual: u.residual,
		OutOfRange: u.outOfRange, Rank: u.rank, Fidelity: u.fidelity, Host: s.seconds, where: s.where,
		journal:        t.Journal,
		EstimatedBytes: s.estimate(t, u.ways, len(u.Devices)),
		DeviceBytes:    u.ways.footprint(t, len(u.Devices), s.devices[0].Limits()).Device,
		threads:        s.Threads, vectors: u.vectors,
	}
	d.Precondition, d.V, d.Precision = u.method.used()
	d.Refined = u.refined
	return d
}

// Traffic tells how long this rank has waited for files, and for copies between its host and its devices.
func (d *Decomposition) Traffic() matrix.Traffic { return d.where.Traffic }

// PhaseSeconds returns the seconds of this rank in each phase: those of the Jacobi method summed over its
// devices, and those that passed in the phases before and after it.
func (d *Decomposition) PhaseSeconds() map[string]float64 {
	phases := d.Solution.PhaseSeconds()
	for name, seconds := range d.Host {
		phases[name] = seconds
	}
	t := d.Traffic()
	phases["read"], phases["upload"] = t.Read, t.Upload
	phases["download"], phases["write"] = t.Download, t.Write
	return phases
}
