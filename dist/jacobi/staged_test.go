package jacobi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/comm/commtest"
	"jmpi/dist/disttest"
	"jmpi/dist/exchange"
	"jmpi/internal/gen"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// Staged through pinned host memory, in chunks of any size, every split of devices into ranks gives
// the bits of the host path.
func TestStagedIsBitIdentical(t *testing.T) {
	const n = 64
	a := disttest.Generate(t, "gauss", gen.Options{Rows: 70, Cols: n, Seed: 8})
	c := Config{Problem: Problem{M: 70, N: n, Vectors: true}, Settings: Settings{Block: 4, Variant: Block}}
	for ranks := 1; ranks <= 4; ranks++ {
		for devices := 1; devices <= 2; devices++ {
			want := decompose(t, a, ranks, devices, c)
			if want.transport != (exchange.Transport{Direct: true, Why: exchange.WhyHost}) {
				t.Errorf("host memory: %+v", want.transport)
			}
			for _, chunk := range []int64{64, 1000, 4096, 1 << 40} {
				name := fmt.Sprintf("%d×%d, chunks of %d bytes", ranks, devices, chunk)
				c.StageBytes = chunk
				var mu sync.Mutex
				var all []*disttest.Apart
				got := decomposeOn(t, a, comm.NewLocal(ranks), c, func(comm comm.Comm) ([]kernels.Backend, comm.Comm) {
					d, backends, watched := disttest.OpenRank(t, comm, devices, chunk)
					mu.Lock()
					defer mu.Unlock()
					all = append(all, d...)
					return backends, watched
				})
				if !reflect.DeepEqual(got.s, want.s) || !reflect.DeepEqual(got.u, want.u) ||
					!reflect.DeepEqual(got.v, want.v) {
					t.Errorf("%s: other bits than on host memory", name)
				}
				if got.transport.Direct || got.transport.Why == "" {
					t.Errorf("%s: %+v", name, got.transport)
				}
				if err := disttest.Leftovers(all); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				fetches := 0
				for _, d := range all {
					fetches += d.Fetches
				}
				if (fetches > 0) != (ranks > 1) {
					t.Errorf("%s: %d chunks", name, fetches)
				}
			}
		}
	}
}

// solveStaged solves a matrix of order n in narrow blocks, so that many messages go round.
func solveStaged(c comm.Comm, backends []kernels.Backend, a []float64, n int) error {
	load := func(j0, j1 int, dst []float64) error {
		copy(dst, a[j0*n:j1*n])
		return nil
	}
	_, err := Solve(context.Background(), c, backends, Config{
		Problem:  Problem{M: n, N: n, Start: Start{Load: load}},
		Settings: Settings{Strategy: "rev-rowcyc", MaxSweeps: 30, Block: 4, Variant: Block},
	})
	return err
}

// A device that fails while it sends ends the run on its rank with that error, wherever the rank waits.
func TestStagingFailureEndsTheRun(t *testing.T) {
	const n = 48
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 9})
	for _, failing := range []int{1, 5, 10} {
		errs := make([]error, 3)
		var wg sync.WaitGroup
		for i, comm := range comm.NewLocal(3) {
			wg.Go(func() {
				// not closed: messages may be under way
				devices, backends, _ := disttest.OpenRank(t, comm, 1, exchange.StageBytes)
				if i == 1 {
					devices[0].Failing = failing
				}
				errs[i] = solveStaged(comm, backends, a, n)
				comm.Abort(6)
			})
		}
		wg.Wait()
		for i, err := range errs {
			if err == nil || i == 1 && !strings.Contains(err.Error(), "the device is lost") {
				t.Errorf("rank %d: error %v", i, err)
			}
		}
	}
}

// faulty is the end of the name of a function that is to panic, once.
var faulty atomic.Pointer[string]

func init() {
	parallel.Fault = func(f any) func() {
		end := faulty.Load()
		if end == nil {
			return nil
		}
		name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
		if !strings.HasSuffix(name, *end) || !faulty.CompareAndSwap(end, nil) {
			return nil
		}
		return func() { panic("a fault for a test") }
	}
}

// A panic in a lane ends the run on its rank: it is the error of Solve.
func TestPanicOfALaneEndsTheRun(t *testing.T) {
	const n = 48
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 9})
	for _, end := range []string{"(*lane).depart-fm", "(*lane).arrive-fm"} {
		faulty.Store(&end)
		errs := make([]error, 3)
		var wg sync.WaitGroup
		for i, comm := range comm.NewLocal(3) {
			wg.Go(func() {
				// not closed: messages may be under way
				_, backends, _ := disttest.OpenRank(t, comm, 1, exchange.StageBytes)
				errs[i] = solveStaged(comm, backends, a, n)
				comm.Abort(6)
			})
		}
		wg.Wait()
		panics := 0
		for i, err := range errs {
			var lost *parallel.Panic
			if errors.As(err, &lost) {
				panics++
			} else if err == nil {
				t.Errorf("%s: rank %d: no error", end, i)
			}
		}
		if panics != 1 {
			t.Errorf("%s: %v", end, errs)
		}
	}
}

func TestMPIStaged(t *testing.T) { commtest.Passes(t, 2, "TestMPIRankStaged") }

// TestMPIRankStaged solves with staged messages between processes.
func TestMPIRankStaged(t *testing.T) {
	if commtest.World() == nil {
		t.Skip("what a rank does; TestMPI… starts it under mpirun")
	}
	const n = 64
	a := disttest.Generate(t, "gauss", gen.Options{Rows: 70, Cols: n, Seed: 8})
	c := Config{Problem: Problem{M: 70, N: n, Vectors: true},
		Settings: Settings{Block: 4, StageBytes: 256, Variant: Block}}
	got := decomposeOn(t, a, []comm.Comm{commtest.World()}, c,
		func(comm comm.Comm) ([]kernels.Backend, comm.Comm) {
			_, backends, watched := disttest.OpenRank(t, comm, 2, c.StageBytes)
			return backends, watched
		})
	want := decompose(t, a, 1, 2*commtest.World().Size(), c)
	if !reflect.DeepEqual(got.s, want.s) {
		t.Error("other bits of S than on one rank")
	}
	here := 0 // columns on this rank
	for k := range n {
		u := got.u[k*c.M : (k+1)*c.M]
		if reflect.DeepEqual(u, make([]float64, c.M)) {
			continue
		}
		here++
		if !reflect.DeepEqual(u, want.u[k*c.M:(k+1)*c.M]) ||
			!reflect.DeepEqual(got.v[k*n:(k+1)*n], want.v[k*n:(k+1)*n]) {
			t.Errorf("other bits of columns %d of U and V than on one rank", k)
		}
	}
	if here != n/commtest.World().Size() {
		t.Errorf("%d columns on this rank", here)
	}
}
