package dist

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// stopAfter is a checkpoint in dir after every sweep, of a run that is asked to stop when it has voted so
// often; 0: never.
func stopAfter(dir string, votes int64) checkpoint.Config {
	var asked atomic.Int64
	return checkpoint.Config{Dir: dir, Resume: true, Schedule: checkpoint.Schedule{Sweeps: 1},
		Stop: func() string {
			if asked.Add(1); votes > 0 && asked.Load() >= votes {
				return "stopped by a test"
			}
			return ""
		}}
}

// stopped tells whether a run has ended because it was asked to.
func stopped(err error) bool {
	var f *comm.Failure
	return errors.As(err, &f) && f.Kind == comm.Stopped
}

// keeping is the checkpoint of the runs that begin, nil for none.
var keeping *checkpoint.Config

// withKeeping is a run with checkpoints.
func withKeeping(run tryGrid, c checkpoint.Config) tryGrid {
	return func(t testing.TB, a []float64, ranks, devices int, task Task) (solved, error) {
		keeping = &c
		defer func() { keeping = nil }()
		return run(t, a, ranks, devices, task)
	}
}

// resumeCase is a task whose runs are stopped and go on.
type resumeCase struct {
	name, kind string
	m, n       int
	low        bool // the first sweeps are in float32
	prepare    func(t *testing.T, a []float64, k *Task)
	expect     func(o solved) bool // that the run goes the way that is meant; nil: any
}

var resumeCases = []resumeCase{
	{name: "plain", kind: "gauss", m: 60, n: 60},
	{name: "accumulate", kind: "gauss", m: 60, n: 50,
		prepare: func(_ *testing.T, _ []float64, k *Task) { k.V = Accumulate }},
	{name: "S alone", kind: "gauss", m: 60, n: 50,
		prepare: func(_ *testing.T, _ []float64, k *Task) { k.Wanted = Wanted{} }},
	{name: "graded rows", kind: "graded-rows", m: 60, n: 60,
		expect: func(o solved) bool { return strings.Contains(o.Precondition.Why, "the transpose is factored") }},
	{name: "graded", kind: "graded-both", m: 60, n: 60,
		expect: func(o solved) bool { return o.Precondition.Used == "qrcp-lq" }},
	{name: "out of range", kind: "gauss", m: 70, n: 60,
		prepare: func(_ *testing.T, a []float64, _ *Task) { dense.Ldexp(a[:7*70], -1000) },
		expect:  func(o solved) bool { return o.OutOfRange == OutOfRange{Columns: 7} }},
	{name: "low rank", kind: "lowrank", m: 70, n: 60,
		prepare: func(_ *testing.T, _ []float64, k *Task) { k.Block = 2 }},
	{name: "tall", kind: "gauss", m: 2100, n: 40},
	{name: "decaying", kind: "geometric", m: 64, n: 60,
		expect: func(o solved) bool { return o.Precondition.Used == "qr-lq" }},
	{name: "V anew", kind: "gauss", m: 60, n: 60,
		prepare: func(t *testing.T, _ []float64, k *Task) {
			before := residualLimit
			residualLimit = 1e-9
			t.Cleanup(func() { residualLimit = before })
			k.V, k.Precondition = FromLeft, QRCPLQ
		},
		expect: func(o solved) bool { return o.V.Used == "accumulate" }},
	{name: "broken pivots", kind: "gauss", m: 96, n: 96,
		prepare: func(_ *testing.T, a []float64, k *Task) {
			copy(a[:8*96], a[8*96:])
			k.Block = 12
		},
		expect: func(o solved) bool { return strings.Contains(o.Precondition.Why, "pivots broke down") }},
	{name: "float32 first", kind: "gauss", m: 60, n: 60, low: true},
	{name: "float32 first, graded", kind: "graded-cols", m: 60, n: 60, low: true},
	{name: "float32 first, divided ordering", kind: "gauss", m: 100, n: 96, low: true,
		prepare: func(_ *testing.T, _ []float64, k *Task) { k.Block, k.Strategy = 4, "rowcyc" },
		expect:  func(o solved) bool { return o.Layout.Parts == 3 }},
	{name: "float32 first, S alone", kind: "gauss", m: 60, n: 60, low: true,
		prepare: func(_ *testing.T, _ []float64, k *Task) { k.Wanted = Wanted{} }},
	{name: "float32 first, graded, U alone", kind: "graded-cols", m: 60, n: 60, low: true,
		prepare: func(_ *testing.T, _ []float64, k *Task) { k.Wanted = Wanted{Left: true} }},
	{name: "float32 first, float64 finishes", kind: "gauss", m: 100, n: 100, low: true,
		prepare: func(t *testing.T, _ []float64, _ *Task) {
			before := lowSweeps
			lowSweeps = 3
			t.Cleanup(func() { lowSweeps = before })
		},
		expect: func(o solved) bool { return strings.Contains(o.Precision.Why, "finished it") }},
	{name: "hyperbolic", kind: "gauss", m: 60, n: 40,
		prepare: func(_ *testing.T, _ []float64, k *Task) { k.Signs = signed(60, 40, 23, 1).Signs }},
	{name: "hyperbolic, by way of the SVD", kind: "graded-rows", m: 60, n: 60,
		prepare: func(_ *testing.T, _ []float64, k *Task) { k.Signs = signed(60, 60, 23, 1).Signs },
		expect:  func(o solved) bool { return o.Precondition.Used == "svd" }},
	{name: "hyperbolic, by way of the SVD after all", kind: "gauss", m: 21, n: 20,
		prepare: func(_ *testing.T, a []float64, k *Task) {
			copy(a, rotatedRows(isotropic(20, 0x1p-26), 21, 20, rand.New(rand.NewPCG(3, 3))))
			for j := range 20 {
				k.Signs = append(k.Signs, float64(1-2*(j%2)))
			}
			k.Block = 2
		},
		expect: func(o solved) bool { return o.Fidelity.Again != "" }},
	{name: "hyperbolic, deflated", kind: "lowrank", m: 60, n: 48,
		prepare: func(_ *testing.T, _ []float64, k *Task) {
			k.Signs, k.Block = signed(60, 48, 23, 1).Signs, 1
		},
		expect: func(o solved) bool { return strings.Contains(o.Precondition.Why, "null space is split off") }},
	{name: "hyperbolic, the rank at the end", kind: "lowrank", m: 60, n: 48,
		prepare: func(t *testing.T, _ []float64, k *Task) {
			before := trusting
			trusting = func(kernels.Limits) bool { return true }
			t.Cleanup(func() { trusting = before })
			k.Signs, k.Precondition, k.Block = signed(60, 48, 23, 1).Signs, NoPreconditioner, 1
		}},
}

// Whenever a run is stopped, and on whatever ranks it goes on, the bits are those of an undisturbed run.
func TestResume(t *testing.T) {
	for _, c := range resumeCases {
		t.Run(c.name, func(t *testing.T) {
			if c.low {
				lowFrom(t, 2)
			}
			a := disttest.Generate(t, c.kind, gen.Options{Rows: int64(c.m), Cols: int64(c.n), Seed: 3})
			task := both(c.m, c.n)
			if c.prepare != nil {
				c.prepare(t, a, &task)
			}
			want := find(t, a, 1, 1, task)
			if c.expect != nil && !c.expect(want) {
				t.Fatalf("it went another way: %+v, %+v, %+v", want.Precondition, want.V, want.Precision)
			}
			testResume(t, a, task, want)
		})
	}
}

// testResume stops a run again and again, each time a little later, and lets it go on on other ranks.
func testResume(t *testing.T, a []float64, task Task, want solved) {
	t.Helper()
	testResumeOn(t, a, task, want, try, [][2]int{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}})
}

// tryGrid runs a task on ranks with so many devices each.
type tryGrid func(t testing.TB, a []float64, ranks, devices int, task Task) (solved, error)

// testResumeOn is testResume on some kind of devices.
func testResumeOn(t *testing.T, a []float64, task Task, want solved, run tryGrid, grids [][2]int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ck")
	stops := 0
	var got solved
	for i := 0; ; i++ {
		grid := grids[i%len(grids)]
		// Each run has time for one step.
		var err error
		got, err = withKeeping(run, stopAfter(dir, 1))(t, a, grid[0], grid[1], task)
		if stopped(err) {
			if stops++; stops > 60 {
				t.Fatal("there is no end")
			}
			continue
		}
		if err != nil {
			t.Fatalf("after %d stops: %v", stops, err)
		}
		got.sameBits(t, want, fmt.Sprintf("after %d stops", stops))
		if got.Precision.Used != want.Precision.Used || len(got.Sweeps) != len(want.Sweeps) {
			t.Errorf("%d sweeps, %s; undisturbed %d, %s", len(got.Sweeps), got.Precision.Used, len(want.Sweeps),
				want.Precision.Used)
		} else {
			for i, s := range got.Sweeps {
				told := got.Devices[0].Kind == "cpu" // GPUs do not tell it
				if w := want.Sweeps[i]; s.Cosine != w.Cosine || told && s.Sweep == 1 && s.Cosine == 0 {
					t.Errorf("sweep %d: the largest cosine is %g, undisturbed %g", i+1, s.Cosine, w.Cosine)
				}
			}
		}
		break
	}
	if steps := stepsOf(want); stops < 2 || steps > 0 && stops != steps {
		t.Errorf("stopped %d times in %d steps", stops, steps)
	}
	// A run that was finished has its vectors without a sweep.
	done, err := withKeeping(run, stopAfter(dir, 0))(t, a, grids[1%len(grids)][0], 1, task)
	if err != nil {
		t.Fatal(err)
	}
	done.sameBits(t, want, "again")
	for _, o := range []solved{got, done} {
		if o.OutOfRange != want.OutOfRange {
			t.Errorf("%+v are out of range, undisturbed %+v", o.OutOfRange, want.OutOfRange)
		}
		if o.Layout.Ordering != want.Layout.Ordering || o.Strategy != want.Strategy || len(o.Devices) == 0 ||
			(len(o.Devices) == o.Layout.Macros/2) != (len(o.Plan) > 0) {
			t.Errorf("layout %+v, strategy %s, %d devices, %d macro steps; undisturbed %+v, %s", o.Layout, o.Strategy,
				len(o.Devices), len(o.Plan), want.Layout, want.Strategy)
		}
	}
	if len(done.Sweeps) != len(want.Sweeps) || len(done.Refined) != len(want.Refined) ||
		done.Rank != want.Rank {
		t.Errorf("again: %d sweeps, %d steps of refinement, rank %v; undisturbed %d, %d, %v", len(done.Sweeps),
			len(done.Refined), done.Rank, len(want.Sweeps), len(want.Refined), want.Rank)
	}
	if task.Memory != nil {
		return
	}
	// On three ranks there is another ordering, which matters only before there is a decomposition.
	done, err = withKeeping(run, stopAfter(dir, 0))(t, a, 3, 1, task)
	switch {
	case want.vectors.direct == nil && err == nil:
		done.sameBits(t, want, "on three ranks")
	case want.vectors.direct == nil || err == nil || !strings.Contains(err.Error(), "devices would do"):
		t.Errorf("on three ranks: %v", err)
	}
}

// stepsOf returns the steps after which a run may stop, 0 if these are not known: those of a run whose sweeps
// in float32 were refined.
func stepsOf(o solved) int {
	last := o.Sweeps[len(o.Sweeps)-1]
	if o.Refined == nil || !strings.HasPrefix(o.Precision.Used, "float32") || last.Precision != "float32" {
		return 0
	}
	steps := 2 + len(o.Sweeps) // prepared, and the vectors are formed
	for _, s := range o.Refined {
		switch s.What {
		case "orthonormalize":
			steps += len(s.Departure)
		case "multiply", "pass":
			steps++
		}
	}
	return steps
}

// Where there is no room for a copy, the devices wait while a state is written.
func TestResumeWithoutRoom(t *testing.T) {
	const n = 60
	a := disttest.Generate(t, "graded-rows", gen.Options{Rows: n, Cols: n, Seed: 3})
	want := find(t, a, 1, 1, both(n, n))
	task := both(n, n)
	task.Memory = func() int64 { return want.EstimatedBytes + 1 }
	var log bytes.Buffer
	task.Log = zerolog.New(&log)
	testResumeOn(t, a, task, want, try, [][2]int{{1, 1}})
	if !strings.Contains(log.String(), "the devices wait while it is written") {
		t.Errorf("the log is %s", log.String())
	}
}

// A run that has not converged goes on with a larger limit of sweeps.
func TestResumeWithMoreSweeps(t *testing.T) {
	const n = 60
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 3})
	want := find(t, a, 1, 1, both(n, n))
	dir := filepath.Join(t.TempDir(), "ck")
	task := both(n, n)
	for _, task.MaxSweeps = range []int{2, 3, 30} {
		o, err := withKeeping(try, stopAfter(dir, 0))(t, a, 2, 1, task)
		if err != nil {
			t.Fatal(err)
		}
		if o.Converged != (task.MaxSweeps == 30) {
			t.Errorf("%d sweeps at most: converged %t after %d", task.MaxSweeps, o.Converged, len(o.Sweeps))
		}
		if o.Converged {
			o.sameBits(t, want, "with more sweeps")
		}
	}
}

// Devices with memory of their own, which pass states through that of the host, take no more of it than was
// estimated.
func TestResumeApart(t *testing.T) {
	lowFrom(t, 400)
	onApart := func(t testing.TB, a []float64, ranks, _ int, task Task) (solved, error) {
		o, all, err := apart(t.(*testing.T), a, ranks, 1<<40, task)
		if err == nil {
			for _, d := range all {
				if d.Peak > o.DeviceBytes {
					t.Errorf("%d bytes were taken, %d estimated", d.Peak, o.DeviceBytes)
				}
			}
		}
		return o, err
	}
	for _, c := range []struct {
		kind string
		m, n int
	}{{"gauss", 500, 500}, {"graded-rows", 300, 280}, {"gauss", 300, 280}, {"gauss", 4000, 100}} {
		t.Run(fmt.Sprintf("%s %d×%d", c.kind, c.m, c.n), func(t *testing.T) {
			a := disttest.Generate(t, c.kind, gen.Options{Rows: int64(c.m), Cols: int64(c.n), Seed: 3})
			task := both(c.m, c.n)
			task.Block = 16
			want, _, err := apart(t, a, 1, 1<<40, task)
			if err != nil {
				t.Fatal(err)
			}
			testResumeOn(t, a, task, want, onApart, [][2]int{{1, 1}, {2, 1}})
		})
	}
}
