package jacobi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/dist/matrix"
	"jmpi/kernels"
	"jmpi/node"
	"jmpi/topology"
)

// Config says what to solve and how. It must be the same on every rank, except Load's data and the callbacks.
type Config struct {
	M, N        int    // shape of the matrix, M ≥ N (the transpose of the user's where that is wide)
	Positive    int    // hyperbolic SVD: the leading columns with sign +1, 0 < Positive ≤ N, the others have −1; 0 stands for N, the SVD
	Vectors     bool   // accumulate V
	Strategy    string // pivot strategy of all levels
	Nested      bool   // the nested scheme of [Nov15, §5]; otherwise flat (docs/design.md §1)
	Full        bool   // full block variant; otherwise block-oriented
	Block       int    // preferred width of the narrow block-columns, 0: the back end's
	InnerBlock  int    // preferred width inside the factors, 0: as few levels as possible
	MaxSweeps   int    // limit of sweeps of the topmost level
	PlanHorizon int    // sweeps that are planned together, 0: 12
	GPUDirect   exchange.GPUDirect
	StageBytes  int64 // of the chunks of messages that pass through pinned host memory, a multiple of 8; 0: 4 MiB
	Profile     bool  // time the phases of devices that work asynchronously one by one, which slows them; others are timed anyway

	// Load writes columns j0 ≤ j < j1 of the matrix to dst, column-major with leading dimension M. It is called from
	// one goroutine, in increasing order within a macro block-column.
	Load func(j0, j1 int, dst []float64) error
	// source, if not nil, takes the place of Load; keepSource says that it is still needed when the devices have it.
	Source     *matrix.Matrix
	KeepSource bool
	Rising     bool // the singular values are sorted the other way round
	// independent says that the columns are, so that none becomes zero but for rounding errors: however small, each counts.
	Independent bool

	Log      zerolog.Logger
	Progress func(p Progress)                 // after each sub-step of the rank's first device; may be nil
	Swept    func(s SweepInfo)                // after each sweep, on every rank; may be nil
	Trace    func(device, level, i, p, q int) // every executed pivot pair, see node.Config; may be nil
}

// Progress tells how far a sweep is.
type Progress struct {
	Sweep, Step, Steps int // 1-based sweep; sub-steps done, and in all
}

// SweepInfo is what one sweep of the topmost level did, over all ranks.
type SweepInfo struct {
	Sweep     int     `json:"-"`
	Rotations int64   `json:"rotations"`
	Proper    int64   `json:"proper"`
	Seconds   float64 `json:"seconds"`
	Flops     int64   `json:"flops"` // of Gram and postmultiply
	BytesFast int64   `json:"bytes_fast"`
	BytesSlow int64   `json:"bytes_slow"`

	tally kernels.Tally
}

// Solution is the decomposition, its columns still on the devices.
type Solution struct {
	Sigma     []float64 // non-increasing, N of them, the same on every rank
	Converged bool
	Sweeps    []SweepInfo
	Devices   []exchange.DeviceInfo
	Layout    node.Layout
	Transport exchange.Transport
	Phases    node.Phases // summed over this rank's devices
	Seconds   float64     // from the distributed matrix to Sigma
	VNorm     float64     // ‖V‖_F of a hyperbolic SVD whose V was accumulated, else 0: relative errors may be ε·VNorm²

	ctx      context.Context // of the run, ended by the first error
	cancel   context.CancelCauseFunc
	config   Config
	comm     comm.Comm
	exchange *exchange.Exchange
	runners  []*runner
	floor    float64   // columns of G·V with a smaller norm are rounding errors
	norm     []float64 // of the columns of the scaled G·V
	scale    int       // the devices hold 2^-scale·G
	Stalled  bool      // columns of different signs stayed parallel
	position []int     // position[j]: where Sigma holds the norm of column j of G·V
}

// Solve runs the one-sided Jacobi method on the devices of all ranks: distribute, sweep until a sweep has no proper
// rotation, extract Σ ([Nov15, §5 and §4.5]). It is collective. Where one rank fails alone while the others compute, its error is
// not a *Failure, and the caller must Abort.
func Solve(ctx context.Context, comm comm.Comm, devices []kernels.Backend, c Config) (*Solution, error) {
	s := &Solution{config: c, comm: comm}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	var err error
	if s.Devices, err = exchange.Census(comm, devices); err != nil {
		return nil, err
	}
	if s.Transport, err = exchange.ChooseTransport(comm, devices, c.GPUDirect); err != nil {
		return nil, err
	}
	if !s.Transport.Trivial() {
		c.Log.Info().Msg("messages between ranks are " + s.Transport.String())
	}
	plan, err := s.prepare(devices)
	if err != nil {
		return s, err
	}
	if s.scale, err = s.load(plan); err != nil {
		return s, err
	}
	start := time.Now()
	if err := s.sweep(plan); err != nil {
		return s, err
	}
	err = s.extract(s.scale)
	s.Seconds = time.Since(start).Seconds()
	return s, err
}

// Free gives the memory on the devices back.
func (s *Solution) Free() {
	if s.exchange != nil {
		s.exchange.Close() // nothing is under way outside of the sweeps, which have closed it
	}
	s.cancel(nil)
	for _, r := range s.runners {
		r.dev.Free()
	}
}

// prepare makes the program and the first plan, and allocates the devices' memory.
func (s *Solution) prepare(devices []kernels.Backend) (*planner, error) {
	var p *planner
	build := func() (comm.Kind, error) {
		nc := s.config.Node(len(s.Devices), devices[0].Limits())
		s.Layout = nc.Layout
		program, err := node.NewProgram(s.config.Strategy, s.Layout)
		if err != nil {
			return comm.BadUse, err
		}
		p, err = newPlanner(program, s.Devices, s.config)
		if err != nil {
			return comm.BadUse, err
		}
		return comm.BadResource, s.open(devices, program, nc)
	}
	kind, err := build()
	if err := comm.Agree(s.comm, kind, err); err != nil {
		s.Free()
		s.runners = nil
		return nil, err
	}
	return p, nil
}

// open makes the runners of this rank.
func (s *Solution) open(devices []kernels.Backend, program *node.Program, nc node.Config) error {
	ranks := make([]int, len(s.Devices))
	for i, d := range s.Devices {
		ranks[i] = d.Rank
	}
	h := exchange.HostOf(s.comm.Rank(), s.Devices)
	if err := s.config.Fits(h.Devices, h.Beside, h.First, devices); err != nil {
		return err
	}
	s.exchange = exchange.New(s.ctx, s.cancel, s.comm, ranks, s.config.StageBytes)
	for i, be := range devices {
		id := h.First + i
		// Where memory is host memory nothing is asynchronous, and telling the phases apart costs nothing.
		nc.Profile = s.config.Profile || be.Limits().HostMemory
		if s.config.Trace != nil {
			nc.Trace = func(level, problem, p, q int) { s.config.Trace(id, level, problem, p, q) }
		}
		dev, err := node.NewDevice(be, nc)
		if err != nil {
			return fmt.Errorf("device %d: %w", id, err)
		}
		r := &runner{id: id, dev: dev, program: program, exchange: s.exchange}
		s.runners = append(s.runners, r)
		if !s.Transport.Direct && s.comm.Size() > 1 {
			if err := s.exchange.Stage(id, be, r.longest()); err != nil {
				return fmt.Errorf("device %d: %w", id, err)
			}
		}
	}
	return nil
}

// sweep iterates until a sweep has no proper rotation, or the limit is reached.
func (s *Solution) sweep(p *planner) (err error) {
	defer func() {
		if err != nil {
			s.cancel(err)
		}
		err = errors.Join(err, s.exchange.Close())
	}()
	for n := 1; n <= s.config.MaxSweeps && !s.Converged; n++ {
		start := time.Now()
		steps, err := p.sweep(n - 1)
		if err != nil {
			return err
		}
		if err := s.devices(func(r *runner) error { return s.sweepDevice(r, n, steps) }); err != nil {
			return err
		}
		info, err := s.count(n)
		if err != nil {
			return err
		}
		info.Seconds = time.Since(start).Seconds()
		s.Sweeps = append(s.Sweeps, info)
		s.Converged = info.tally.Settled()
		if err := s.exists(); err != nil { // all ranks say so: nothing may be left under way
			return errors.Join(err, s.devices((*runner).settle))
		}
		if err := s.clearNoise(n); err != nil {
			return err
		}
		if s.config.Swept != nil {
			s.config.Swept(info)
		}
	}
	if err := s.devices((*runner).settle); err != nil {
		return err
	}
	for _, r := range s.runners {
		s.Phases.Add(r.dev.Phases)
	}
	return nil
}

// degenerateSweeps is in how many sweeps in a row there must be degenerate rotations for the hyperbolic SVD not to exist. One that does
// exist may have some at the start.
const degenerateSweeps = 8

// exists tells, as an error, if the hyperbolic SVD does not exist: there are vectors x ≠ 0 in the range of Gᵀ with xᵀ·J·x = 0 that stay.
func (s *Solution) exists() error {
	n := len(s.Sweeps)
	last := s.Sweeps[max(0, n-degenerateSweeps):]
	for _, info := range last {
		if info.tally.Degenerate == 0 {
			return nil
		}
	}
	if n < degenerateSweeps && !s.Converged && n < s.config.MaxSweeps {
		return nil
	}
	s.Stalled = true
	return NoDecomposition("in sweep %d columns of different signs were still parallel and of the same norm, so that A·J·Aᵀ has a lower rank than A", n)
}

// sweepDevice runs all macro steps of a sweep on one device.
func (s *Solution) sweepDevice(r *runner, n int, steps []topology.Step) error {
	at := Progress{Sweep: n, Steps: r.program.SubSteps()}
	for _, step := range steps {
		err := r.macroStep(step, func() {
			at.Step++
			if s.config.Progress != nil && r == s.runners[0] {
				s.config.Progress(at)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// devices runs f for each device of the rank at the same time. The first error ends the run on all of them: what is
// under way between them outlives a sweep, so it is the run's context that ends, not one of the call.
func (s *Solution) devices(f func(*runner) error) error {
	var wg sync.WaitGroup
	for _, r := range s.runners {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					s.cancel(fmt.Errorf("jacobi: device %d: internal error: %v", r.id, p))
				}
			}()
			if err := f(r); err != nil {
				s.cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(s.ctx)
}

// count sums the counters of a sweep over all devices: the one collective operation of a sweep ([Nov15, §5]).
func (s *Solution) count(n int) (SweepInfo, error) {
	var x [8]int64
	for _, r := range s.runners {
		x[0] += r.dev.Tally.Rotations
		x[1] += r.dev.Tally.Proper
		x[2] += r.fast
		x[3] += r.slow
		x[4] += int64(r.dev.Phases.ShortenFlops + r.dev.Phases.PostmultiplyFlops)
		x[5] += r.dev.Tally.Degenerate
		x[6] += r.dev.Tally.Open
		x[7] += r.dev.Tally.Idle
		r.dev.Tally = kernels.Tally{}
		r.fast, r.slow = 0, 0
	}
	if err := s.comm.AllreduceSum(x[:]); err != nil {
		return SweepInfo{}, fmt.Errorf("jacobi: counters of sweep %d: %w", n, err)
	}
	for _, before := range s.Sweeps {
		x[4] -= before.Flops
	}
	return SweepInfo{
		Sweep: n, Rotations: x[0], Proper: x[1], BytesFast: x[2], BytesSlow: x[3], Flops: x[4],
		tally: kernels.Tally{Rotations: x[0], Proper: x[1], Degenerate: x[5], Open: x[6], Idle: x[7]},
	}, nil
}

// PhaseSeconds returns the seconds of this rank's devices in each phase, summed over its devices; "compute" stands for the three
// of the pivot problems where these were not told apart (Config.Profile).
func (s *Solution) PhaseSeconds() map[string]float64 {
	p := s.Phases
	if p.Shorten == 0 {
		return map[string]float64{"compute": p.Compute, "exchange": p.Exchange}
	}
	return map[string]float64{"shorten": p.Shorten, "inner": p.Inner, "postmultiply": p.Postmultiply, "exchange": p.Exchange}
}

// NoDecomposition says that the hyperbolic SVD does not exist.
func NoDecomposition(format string, a ...any) error {
	return &comm.Failure{Kind: comm.NoDecomposition, Text: "the matrix has no hyperbolic singular value decomposition with this signature: " + fmt.Sprintf(format, a...)}
}
