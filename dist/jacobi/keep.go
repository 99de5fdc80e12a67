package jacobi

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/dist/matrix"
	"jmpi/kernels"
	"jmpi/node"
	"jmpi/topology"
)

// kept is what a checkpoint has of a method between two sweeps, besides the columns.
type kept struct {
	M, N, Positive int
	node.Ordering
	Strategy  string
	Precision string
	Vectors   bool
	Sweeps    []keptSweep
	Scale     int
	Floor     float64
	Converged bool
	Broken    bool
	Enough    bool
	Stalled   string // why there is no decomposition
}

// keptSweep is a SweepInfo with all that it has.
type keptSweep struct {
	SweepInfo
	Number int
	Tally  kernels.Tally
}

// keeper keeps states of a method in a checkpoint, and gives the last one back.
type keeper struct {
	stage *checkpoint.Stage
	past  *kept     // what the checkpoint has of the method; nil if it begins
	now   kept      // what does not change from sweep to sweep
	all   []*copies // of this rank's devices
}

// recall asks the checkpoint for the state of the method, which it makes a stage of the run. It is
// collective.
func recall(c Config) (*keeper, error) {
	stage, err := c.Journal.Next(checkpoint.State)
	if err != nil {
		return nil, err
	}
	k := &keeper{stage: stage, now: kept{M: c.M, N: c.N, Positive: c.positive(), Strategy: c.preferred(),
		Precision: c.Precision.String(), Vectors: c.Vectors}}
	if !stage.Found() {
		return k, nil
	}
	k.past = &kept{}
	return k, stage.Load(func(codec *checkpoint.Codec) {
		checkpoint.Fact(codec, "method", k.past)
		codec.Fail(k.past.fits(k.now))
	})
}

// fits refuses a state of another method.
func (k kept) fits(now kept) error {
	switch {
	case k.M != now.M || k.N != now.N || k.Positive != now.Positive || k.Vectors != now.Vectors ||
		k.Precision != now.Precision || k.Columns < 2:
		return fmt.Errorf("it has a state of a %d×%d matrix in %s, and the run is at a %d×%d matrix in %s",
			k.M, k.N, k.Precision, now.M, now.N, now.Precision)
	case k.Strategy != now.Strategy:
		return fmt.Errorf("its pivot strategy is %s, here it is %s: give --strategy %s", k.Strategy, now.Strategy,
			k.Strategy)
	}
	return nil
}

// ordering refuses a state with an ordering that so many devices cannot take up, and says which number could.
func (k *keeper) ordering(c Config, devices int, limits kernels.Limits) error {
	if k.past == nil || c.Node(devices, limits).Layout.Ordering == k.past.Ordering {
		return nil
	}
	var would []string
	for g := 1; 2*g <= k.past.Columns && len(would) < 8; g++ {
		if c.Node(g, limits).Layout.Ordering == k.past.Ordering {
			would = append(would, fmt.Sprint(g))
		}
	}
	advice := "take the devices and the options of the run that has written it"
	if len(would) > 0 {
		advice = fmt.Sprintf("%s devices would do", strings.Join(would, ", "))
	}
	return fmt.Errorf("the checkpoint has fine_block_columns %d, fine_parts %d, which %d devices cannot have: "+
		"%s", k.past.Columns, k.past.Parts, devices, advice)
}

// bare returns what is known of a method whose columns are not needed any more, with what these devices would
// have done. It is collective.
func (k *keeper) bare(r *run, devices []kernels.Backend) (s *Solution, err error) {
	done, c := k.begun(), r.config
	s = &Solution{Sweeps: done.sweeps, Converged: done.converged, Stalled: done.stalled, run: r,
		Strategy: k.past.Strategy, Layout: node.Layout{N: c.N, Ordering: k.past.Ordering}}
	if k.past.Stalled != "" {
		return s, &comm.Failure{Kind: comm.NoDecomposition, Text: k.past.Stalled}
	}
	if s.Devices, err = exchange.Census(r.comm, devices); err != nil {
		return s, err
	}
	if s.Transport, err = exchange.ChooseTransport(r.comm, devices, c.GPUDirect); err != nil {
		return s, err
	}
	nc := c.Node(len(s.Devices), devices[0].Limits())
	if nc.Layout.Ordering != k.past.Ordering {
		return s, nil
	}
	s.Layout, s.Strategy = nc.Layout, nc.Strategy
	program, err := node.NewProgram(nc.Strategy, nc.Layout)
	if err != nil {
		return s, err
	}
	p, err := newPlanner(program, s.Devices, c.PlanHorizon)
	if err == nil {
		s.Plan = p.firstSweep()
	}
	return s, err
}

// mostPlanned is the largest number of devices of which a checkpoint has the exchange plan.
const mostPlanned = 64

// Describe describes what is told of a solution whose columns are not needed any more.
func (s *Solution) Describe(c *checkpoint.Codec) {
	k := struct {
		Sweeps    []keptSweep
		Converged bool
		Layout    node.Layout
		Strategy  string
		Variant   Variant
		Plan      []topology.Step
		VNorm     float64
	}{keptSweeps(s.Sweeps), s.Converged, s.Layout, s.Strategy, s.Variant, s.Plan, s.VNorm}
	if len(s.Devices) > mostPlanned {
		k.Plan = nil
	}
	if checkpoint.Fact(c, "solution", &k); c.Loading() {
		*s = Solution{Sweeps: sweepsOf(k.Sweeps), Converged: k.Converged, Layout: k.Layout, Strategy: k.Strategy,
			Variant: k.Variant, Plan: k.Plan, VNorm: k.VNorm}
	}
}

// keptSweeps returns what a checkpoint has of sweeps.
func keptSweeps(all []SweepInfo) (kept []keptSweep) {
	for _, info := range all {
		kept = append(kept, keptSweep{info, info.Sweep, info.tally})
	}
	return kept
}

// sweepsOf is the inverse of keptSweeps.
func sweepsOf(kept []keptSweep) (all []SweepInfo) {
	for _, s := range kept {
		info := s.SweepInfo
		info.Sweep, info.tally = s.Number, s.Tally
		all = append(all, info)
	}
	return all
}

// begun is what the sweeps have come to that the checkpoint has.
func (k *keeper) begun() (done iterated) {
	if k.past == nil {
		return done
	}
	done.sweeps = sweepsOf(k.past.Sweeps)
	done.converged, done.broken, done.enough = k.past.Converged, k.past.Broken, k.past.Enough
	done.stalled = k.past.Stalled != ""
	return done
}

// sweeps returns how many sweeps the checkpoint has.
func (k *keeper) sweeps() int {
	if k.past == nil {
		return 0
	}
	return len(k.past.Sweeps)
}

// state is what a checkpoint gets after these sweeps.
func (k *keeper) state(done iterated) kept {
	s := k.now
	s.Sweeps = keptSweeps(done.sweeps)
	s.Converged, s.Broken, s.Enough = done.converged, done.broken, done.enough
	return s
}

// keep keeps the state after a sweep if the votes say so or it was the last one, and stops the run if they
// say that. What is not written at once is copied aside. It is collective.
func (r *run) keep(done iterated, votes checkpoint.Votes) error {
	j := r.config.Journal
	if j == nil {
		return nil
	}
	decision := j.Decide(votes)
	switch {
	case decision == checkpoint.Failed:
		return j.Wait()
	case decision == checkpoint.GoOn && !done.over(r.config.MaxSweeps):
		return nil
	}
	if err := r.keepState(done, votes.Busy > 0, decision == checkpoint.Stop); err != nil {
		return err
	}
	if decision == checkpoint.Stop {
		return j.Stopped(fmt.Sprintf("sweep %d", len(done.sweeps)))
	}
	return nil
}

// keepState is keep where that is decided. busy says that some rank is still writing the state before.
func (r *run) keepState(done iterated, busy, wait bool) error {
	j := r.config.Journal
	defer j.Held(time.Now())
	if err := r.keeper.renew(r, busy && done.over(r.config.MaxSweeps)); err != nil {
		return err
	}
	state := r.keeper.state(done)
	if done.broken { // what was computed is not needed
		err := r.keeper.stage.Put(func(c *checkpoint.Codec) { checkpoint.Fact(c, "method", &state) })
		if err != nil || !wait {
			return err
		}
		return j.Save(true)
	}
	err := r.all(func(x *runner) error {
		if err := x.settle(); err != nil {
			return err
		}
		return r.copiesOf(x).take(r.spread, x, r.config.Aside)
	})
	if err := comm.Agree(r.comm, comm.BadResource, err); err != nil {
		return fmt.Errorf("jacobi: a state for the checkpoint: %w", err)
	}
	if err := r.keeper.stage.Put(func(c *checkpoint.Codec) { r.describe(c, &state) }); err != nil {
		return err
	}
	return j.Save(wait || !r.config.Aside)
}

// renew makes the copies ready for another state. It waits until the one before is written. Where that would
// hold up the end of the method, devices with memory of their own get other copies instead. It is collective.
func (k *keeper) renew(r *run, late bool) error {
	j := r.config.Journal
	if !late || !r.config.Aside || r.runners[0].dev.Backend.Limits().HostMemory {
		return j.Wait()
	}
	k.close(j)
	return comm.Agree(r.comm, comm.BadResource, k.open(r))
}

// keepStalled notes that there is no decomposition.
func (r *run) keepStalled(done iterated, why string) error {
	if r.config.Journal == nil {
		return nil
	}
	state := r.keeper.state(done)
	state.Stalled = why
	return r.keeper.stage.Put(func(c *checkpoint.Codec) { checkpoint.Fact(c, "method", &state) })
}

// describe describes the state of the method.
func (r *run) describe(c *checkpoint.Codec, state *kept) {
	checkpoint.Fact(c, "method", state)
	all := r.keeper.all // which the keeper forgets when the method is over
	each := func(name string, pieceBytes int) {
		shape := checkpoint.Shape{Count: r.n, Bytes: int64(pieceBytes)}
		c.Array(name, shape, checkpoint.Array{
			Store: func(put checkpoint.Move) error {
				return eachCopies(all, func(x *copies) error { return x.store(name, put) })
			},
			Load: func(get checkpoint.Move) error {
				return eachCopies(all, func(x *copies) error { return x.load(name, get) })
			},
		})
	}
	e := r.precision.Bytes()
	each(arrayG, r.m*e)
	if r.config.Vectors {
		each(arrayV, r.n*e)
	}
	if r.precision == kernels.Float32 {
		each(arrayNorms, kernels.WordBytes)
	}
}

// restore makes block-columns of the state in the checkpoint, where `at` wants them. It is collective.
func (r *run) restore(at map[int][2]int) (floor float64, scale int, err error) {
	err = r.all(func(x *runner) error {
		for slot, column := range at[x.id] {
			x.dev.SetColumn(slot, column)
		}
		return r.copiesOf(x).name(r.spread, x)
	})
	if err := comm.Agree(r.comm, comm.BadResource, err); err != nil {
		return 0, 0, err
	}
	past := r.keeper.past
	if err := r.keeper.stage.Load(func(c *checkpoint.Codec) { r.describe(c, past) }); err != nil {
		return 0, 0, err
	}
	r.keeper.now.Floor, r.keeper.now.Scale, r.keeper.now.Ordering = past.Floor, past.Scale, r.layout.Ordering
	r.releaseStart()
	return past.Floor, past.Scale, nil
}

// releaseStart frees what the method would have begun with.
func (r *run) releaseStart() {
	if s := r.config.Start; !s.KeepSource && s.Source != nil {
		r.release(s.Source)
	}
	if right := r.config.Right; right != nil {
		r.release(right)
	}
}

// release frees a matrix that is not needed any more, when no checkpoint needs it.
func (r *run) release(x *matrix.Matrix) { r.config.Journal.Retire(x.Free) }

// copiesOf returns the copies of a device.
func (r *run) copiesOf(x *runner) *copies { return r.keeper.all[slices.Index(r.runners, x)] }

// open makes room for what is on its way to a checkpoint.
func (k *keeper) open(r *run) error {
	if r.config.Journal == nil {
		return nil
	}
	for _, x := range r.runners {
		c, err := newCopies(x.dev.Backend, r.spread)
		if err != nil {
			return err
		}
		k.all = append(k.all, c)
	}
	return nil
}

// close gives the memory back when nothing is written from it any more.
func (k *keeper) close(j *checkpoint.Journal) {
	if k == nil {
		return
	}
	all := k.all
	j.Retire(func() {
		for _, c := range all {
			c.free()
		}
	})
	k.all = nil
}
