package dist

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
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

// tryKeeping is try with checkpoints.
func tryKeeping(t testing.TB, a []float64, ranks, devices int, task Task, c checkpoint.Config) (solved, error) {
	t.Helper()
	keeping = &c
	defer func() { keeping = nil }()
	return try(t, a, ranks, devices, task)
}

// resumeCase is a task whose runs are stopped and go on.
type resumeCase struct {
	name, kind string
	m, n       int
	low        bool // the first sweeps are in float32
	change     func(*Task)
}

var resumeCases = []resumeCase{
	{name: "plain", kind: "gauss", m: 60, n: 60},
	{name: "accumulate", kind: "gauss", m: 60, n: 50, change: func(k *Task) { k.V = Accumulate }},
	{name: "graded", kind: "graded-rows", m: 60, n: 60},
	{name: "lowrank", kind: "lowrank", m: 70, n: 60},
	{name: "tall", kind: "gauss", m: 2100, n: 40},
	{name: "decaying", kind: "geometric", m: 64, n: 60},
	{name: "float32 first", kind: "gauss", m: 60, n: 60, low: true},
	{name: "float32 first, graded", kind: "graded-cols", m: 60, n: 60, low: true},
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
			if c.change != nil {
				c.change(&task)
			}
			want := find(t, a, 1, 1, task)
			testResume(t, a, task, want)
		})
	}
}

// testResume stops a run again and again, each time a little later, and lets it go on on other ranks.
func testResume(t *testing.T, a []float64, task Task, want solved) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ck")
	grids := [][2]int{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}}
	stops := 0
	for i := 0; ; i++ {
		grid := grids[i%len(grids)]
		ranks := int64(grid[0])
		// The first vote is that after preparing.
		got, err := tryKeeping(t, a, grid[0], grid[1], task, stopAfter(dir, 2*ranks))
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
		}
		break
	}
	if stops < 3 {
		t.Errorf("stopped %d times", stops)
	}
	// A run that was finished has its vectors without a sweep.
	done, err := tryKeeping(t, a, 2, 1, task, stopAfter(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	done.sameBits(t, want, "again")
	if _, err := tryKeeping(t, a, 3, 1, task, stopAfter(dir, 0)); err == nil ||
		!strings.Contains(err.Error(), "devices would do") {
		t.Errorf("on three ranks: %v", err)
	}
}
