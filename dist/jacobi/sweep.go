package jacobi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/internal/parallel"
	"jmpi/kernels"
	"jmpi/node"
	"jmpi/topology"
)

// degenerateSweeps is in how many sweeps in a row there must be degenerate rotations for the hyperbolic SVD
// not to exist. One that does exist may have some at the start.
const degenerateSweeps = 8

// quietShare is the share of active pivots below which the next sweep is quiet (node.Outlook). From one of
// the last sweeps to the next the share falls by much.
const quietShare = 0.35

// iterated is what the sweeps have come to.
type iterated struct {
	sweeps    []SweepInfo
	converged bool
	stalled   bool // columns of different signs stayed parallel
	broken    bool // pivots broke down, which was to end the method
	enough    bool // as Problem.Enough says
}

// iterate sweeps until a sweep has no proper rotation, the limit is reached, or it is enough. Columns of G·V
// whose norm is below floor are rounding errors.
func (r *run) iterate(p *planner, floor float64) (done iterated, err error) {
	failed := true // by an error or a panic
	defer func() {
		if failed {
			r.cancel(err) // what is under way ends
		}
		err = errors.Join(err, r.exchange.Close())
	}()
	done = r.keeper.begun()
	for n := len(done.sweeps) + 1; !done.over(r.config.MaxSweeps); n++ {
		start := time.Now()
		steps, err := p.sweep(n - 1)
		if err != nil {
			return done, err
		}
		active := 1.0 // in the sweep before
		if n > 1 {
			active = done.sweeps[n-2].Active
		}
		if err := r.all(func(x *runner) error { return r.sweepDevice(x, n, steps, active) }); err != nil {
			return done, err
		}
		info, votes, err := r.count(done.sweeps)
		if err != nil {
			return done, err
		}
		end := time.Now()
		info.Seconds = end.Sub(start).Seconds()
		r.config.Recorder.Span(0, fmt.Sprintf("sweep %d", n), start, end)
		r.config.Journal.Swept(info.Seconds)
		done.sweeps = append(done.sweeps, info)
		done.broken = n == 1 && r.config.StopBroken && info.tally.Broken > 0
		done.converged = info.tally.Settled() && !done.broken
		if done.stalls(r.config.MaxSweeps) { // all ranks say so: nothing may be left under way
			failed = false
			err := NoDecomposition("in sweep %d columns of different signs were still parallel and of the same "+
				"norm, so that A·D·Aᵀ has a lower rank than A", n)
			return done, errors.Join(err, r.keepStalled(done, err.Error()), r.all((*runner).settle))
		}
		if err := clearDependent(r, n, floor); err != nil {
			return done, err
		}
		if r.config.Swept != nil {
			r.config.Swept(info)
		}
		done.enough = r.config.Enough != nil && r.config.Enough(done.sweeps)
		if err := r.keep(done, votes); err != nil {
			known := (*comm.Failure)(nil)
			failed = !errors.As(err, &known) // otherwise all ranks leave, and nothing is under way
			if !failed {
				failed = r.all((*runner).settle) != nil
			}
			return done, err
		}
	}
	err = r.all((*runner).settle)
	failed = err != nil
	return done, err
}

// over tells whether no sweep follows.
func (i *iterated) over(maxSweeps int) bool {
	return len(i.sweeps) >= maxSweeps || i.converged || i.broken || i.enough
}

// stalls tells if the hyperbolic SVD does not exist: there are vectors x ≠ 0 in the range of Gᵀ
// with xᵀ·J·x = 0 that stay.
func (i *iterated) stalls(maxSweeps int) bool {
	n := len(i.sweeps)
	for _, info := range i.sweeps[max(0, n-degenerateSweeps):] {
		if info.tally.Degenerate == 0 {
			return false
		}
	}
	i.stalled = n >= degenerateSweeps || i.converged || n >= maxSweeps
	return i.stalled
}

// NoDecomposition is the failure of all ranks when the hyperbolic SVD does not exist.
func NoDecomposition(format string, a ...any) error {
	return &comm.Failure{Kind: comm.NoDecomposition,
		Text: "the matrix has no hyperbolic singular value decomposition with this signature: " +
			fmt.Sprintf(format, a...)}
}

// NotHeld is the failure of all ranks when float64 cannot hold the hyperbolic SVD.
func NotHeld(format string, a ...any) error {
	return &comm.Failure{Kind: comm.NoDecomposition,
		Text: "float64 cannot hold the hyperbolic singular value decomposition with this signature: " +
			fmt.Sprintf(format, a...)}
}

// sweepDevice runs all macro steps of a sweep on one device. The host waits for the device at the end, and
// where block-columns leave or arrive. active is the share of pivots that were active in the sweep before.
func (r *run) sweepDevice(x *runner, n int, steps []topology.Step, active float64) error {
	x.dev.Outlook = node.Outlook{Afresh: true, Quiet: active < quietShare,
		Inner: r.config.inner(n, x.dev.Backend.Limits())}
	afresh := active < 1 && x.dev.Backend.Limits().Grams.Of(r.config.Precision) == kernels.KeepEarly
	at := Progress{Sweep: n, Steps: x.program.SubSteps()}
	x.step = 0
	for _, step := range steps {
		err := x.macroStep(step, func() {
			at.Step = x.step
			x.dev.Afresh = afresh || x.step < x.program.Covering
			if r.config.Progress != nil && x == r.runners[0] {
				r.config.Progress(at)
			}
		})
		if err != nil {
			return err
		}
	}
	return x.sync()
}

// all runs f for each device of the rank at the same time. The first error ends the run on all of them: what
// is under way between them outlives a sweep, so it is the run's context that ends, not one of the call. A
// panic does the same. Its *parallel.Panic is the error.
func (r *run) all(f func(*runner) error) error {
	var wg sync.WaitGroup
	for _, x := range r.runners {
		one := func() {
			if err := f(x); err != nil {
				r.cancel(err)
			}
		}
		wg.Go(func() { parallel.Guard(one, r.cancel) })
	}
	wg.Wait()
	return context.Cause(r.ctx)
}

// count sums the counters of a sweep, which follows others, over all devices, and what the ranks say to the
// checkpoint, and takes the largest cosine of all: the two collective operations of a sweep ([Nov15, §5] has
// the first).
func (r *run) count(before []SweepInfo) (SweepInfo, checkpoint.Votes, error) {
	n := len(before) + 1
	var x [15]int64
	var cosine [1]int64 // as bits: those of numbers ≥ 0 are in their order
	vote := r.config.Journal.Vote()
	x[11], x[12], x[13], x[14] = vote.Stop, vote.Due, vote.Busy, vote.Failed
	for _, d := range r.runners {
		x[0] += d.dev.Tally.Rotations
		x[1] += d.dev.Tally.Proper
		x[2] += d.fast
		x[3] += d.slow
		x[4] += int64(d.dev.Phases.ShortenFlops + d.dev.Phases.PostmultiplyFlops)
		x[5] += d.dev.Tally.Degenerate
		x[6] += d.dev.Tally.Open
		x[7] += d.dev.Tally.Idle
		x[8] += d.dev.Tally.Broken
		x[9] += d.dev.Tally.Inactive
		x[10] += d.dev.Problems
		cosine[0] = max(cosine[0], int64(math.Float64bits(d.dev.Tally.Cosine)))
		d.dev.Tally, d.dev.Problems = kernels.Tally{}, 0
		d.fast, d.slow = 0, 0
	}
	if err := r.comm.AllreduceSum(x[:]); err != nil {
		return SweepInfo{}, vote, fmt.Errorf("jacobi: counters of sweep %d: %w", n, err)
	}
	if err := r.comm.AllreduceMax(cosine[:]); err != nil {
		return SweepInfo{}, vote, fmt.Errorf("jacobi: the largest cosine of sweep %d: %w", n, err)
	}
	for _, b := range before[min(len(before), r.keeper.sweeps()):] { // of this process
		x[4] -= b.Flops
	}
	return SweepInfo{
		Sweep: n, Precision: r.config.Precision.String(), Rotations: x[0], Proper: x[1], BytesFast: x[2],
		BytesSlow: x[3], Flops: x[4],
		Active: float64(x[10]-x[9]) / float64(max(1, x[10])), Cosine: math.Float64frombits(uint64(cosine[0])),
		tally: kernels.Tally{Rotations: x[0], Proper: x[1], Degenerate: x[5], Open: x[6], Idle: x[7],
			Broken: x[8]},
	}, checkpoint.Votes{Stop: x[11], Due: x[12], Busy: x[13], Failed: x[14]}, nil
}
