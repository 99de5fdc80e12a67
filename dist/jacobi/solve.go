package jacobi

import (
	"context"
	"fmt"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/kernels"
	"jmpi/node"
)

// Solve runs the one-sided Jacobi method on the devices of all ranks: distribute, sweep until a sweep has no
// proper rotation, extract Σ ([Nov15, §5 and §4.5]). It is collective. Where one rank fails alone while the
// others compute, its error is not a *comm.Failure, and the caller must Abort. After an error the solution
// tells what is known of it; Free it too.
func Solve(ctx context.Context, world comm.Comm, devices []kernels.Backend, c Config) (*Solution, error) {
	k, err := recall(c)
	if err != nil {
		return nil, err
	}
	if k.past != nil {
		c.past = k.past.Ordering
	}
	if k.stage.Bare() {
		r := newRun(ctx, world, c)
		r.releaseStart()
		return k.bare(r, devices)
	}
	r, p, err := prepare(ctx, world, devices, c, k)
	if err != nil {
		return nil, err
	}
	s := &Solution{Devices: r.devices, Layout: r.layout, Strategy: c.PivotStrategy(len(r.devices)),
		Variant: c.variant(devices[0].Limits()), Transport: r.transport, Plan: p.firstSweep(), run: r}
	scale, floor, loading, err := r.begin(p)
	if s.LoadSeconds = loading; err != nil {
		return s, err
	}
	start := time.Now()
	done, err := r.iterate(p, floor)
	s.Sweeps, s.Converged, s.Stalled = done.sweeps, done.converged, done.stalled
	if s.Seconds = time.Since(start).Seconds(); err != nil || s.Broken() {
		return s, err
	}
	for _, x := range r.runners {
		s.Phases.Add(x.dev.Phases)
	}
	if s.Sigma, s.at, err = extract(r.spread, c.Problem, scale); err != nil {
		return s, err
	}
	s.VNorm, err = normOfV(r.spread, c.Problem)
	s.Seconds = time.Since(start).Seconds()
	return s, err
}

// run is a running method: the devices of this rank, and what goes on between them.
type run struct {
	*spread
	ctx       context.Context // ended by the first error
	cancel    context.CancelCauseFunc
	config    Config
	devices   []exchange.DeviceInfo // of all ranks
	transport exchange.Transport
	exchange  *exchange.Exchange
	keeper    *keeper
}

// newRun returns a run that has no memory on the devices.
func newRun(ctx context.Context, world comm.Comm, c Config) *run {
	r := &run{spread: &spread{comm: world, m: c.M, n: c.N, precision: c.Precision}, config: c}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// begin brings the matrix to the block-columns, or the state that the checkpoint has. It is collective.
func (r *run) begin(p *planner) (scale int, floor, loading float64, err error) {
	if r.keeper.past != nil {
		begin := time.Now()
		r.config.Log.Info().Int("sweeps", len(r.keeper.past.Sweeps)).Msg("going on with a state of the checkpoint")
		floor, scale, err = r.restore(p.start())
		p.first = len(r.keeper.past.Sweeps)
		return scale, floor, time.Since(begin).Seconds(), err
	}
	l := distributor{r.spread, r.config.Problem, r.config.Journal}
	scale, floor, loading, err = l.distribute(p.start())
	r.keeper.now.Floor, r.keeper.now.Scale, r.keeper.now.Ordering = floor, scale, r.layout.Ordering
	return scale, floor, loading, err
}

// prepare makes the program and the first plan, and allocates the devices' memory.
func prepare(ctx context.Context, world comm.Comm, devices []kernels.Backend,
	c Config, k *keeper) (*run, *planner, error) {
	r := newRun(ctx, world, c)
	r.keeper = k
	c.Journal.Reclaim()
	var err error
	if r.devices, err = exchange.Census(world, devices); err != nil {
		return nil, nil, err
	}
	if r.transport, err = exchange.ChooseTransport(world, devices, c.GPUDirect); err != nil {
		return nil, nil, err
	}
	if !r.transport.Trivial() {
		c.Log.Info().Msg("messages between ranks are " + r.transport.String())
	}
	var p *planner
	build := func() (comm.Kind, error) {
		if err := c.check(); err != nil {
			return comm.BadUse, err
		}
		if err := k.ordering(c, len(r.devices), devices[0].Limits()); err != nil {
			return comm.BadInput, err
		}
		nc := c.Node(len(r.devices), devices[0].Limits())
		r.layout = nc.Layout
		program, err := node.NewProgram(nc.Strategy, r.layout)
		if err != nil {
			return comm.BadUse, err
		}
		p, err = newPlanner(program, r.devices, c.PlanHorizon)
		if err != nil {
			return comm.BadUse, err
		}
		return comm.BadResource, r.open(devices, program, nc)
	}
	kind, err := build()
	if err := comm.Agree(world, kind, err); err != nil {
		r.free()
		return nil, nil, err
	}
	return r, p, nil
}

// open makes the runners of this rank.
func (r *run) open(devices []kernels.Backend, program *node.Program, nc node.Config) error {
	ranks := make([]int, len(r.devices))
	for i, d := range r.devices {
		ranks[i] = d.Rank
	}
	h := exchange.HostOf(r.comm.Rank(), r.devices)
	if err := r.config.Fits(h.Devices, h.OnHost, h.First, devices); err != nil {
		return err
	}
	r.exchange = exchange.New(r.ctx, r.cancel, r.comm, ranks, r.config.StageBytes)
	for i, be := range devices {
		id := h.First + i
		// Where memory is host memory nothing is asynchronous, and telling the phases apart costs nothing.
		nc.Profile = r.config.Profile || be.Limits().HostMemory
		if r.config.Trace != nil {
			nc.Trace = func(level, problem, p, q int) { r.config.Trace(id, level, problem, p, q) }
		}
		dev, err := node.NewDevice(be, nc)
		if err != nil {
			return fmt.Errorf("device %d: %w", id, err)
		}
		x := &runner{id: id, dev: dev, program: program, exchange: r.exchange, recorder: r.config.Recorder,
			pieces: Pieces(r.config.M, r.layout, be.Limits())}
		r.runners = append(r.runners, x)
		if !r.transport.Direct && r.comm.Size() > 1 {
			if err := r.exchange.Stage(id, be, x.longest()); err != nil {
				return fmt.Errorf("device %d: %w", id, err)
			}
		}
	}
	return r.keeper.open(r)
}

// free gives the memory on the devices back. Where the run has ended early the library may still use it, and
// it is left to Close of the back end.
func (r *run) free() {
	early := r.ctx.Err() != nil
	if r.exchange != nil {
		// Nothing is under way outside of the sweeps, which have closed it: only a failed start has an
		// error to tell here.
		_ = r.exchange.Close()
	}
	r.cancel(nil)
	r.keeper.close(r.config.Journal)
	for _, x := range r.runners {
		if !early {
			x.dev.Free()
		}
	}
	r.runners = nil
}
