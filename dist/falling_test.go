package dist

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/jacobi"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// fallen is what becomes of a decomposition on two ranks, one of which loses its device.
type fallen struct {
	errs    [2]error
	devices [2]*disttest.Falling
	solved
}

// fall runs Decompose where the device of a rank is lost at a call of a primitive, or that call alone fails.
func fall(t *testing.T, a []float64, task Task, victim int, primitive string, number int, why error) fallen {
	t.Helper()
	m, n := task.M, task.N
	task.Strategy, task.Threads, task.MaxSweeps = jacobi.AutoStrategy, 2, 30
	task.Load = loadFrom(a, m)
	f := fallen{solved: solved{m: m, n: n, u: make([]float64, m*n), v: make([]float64, n*n), task: task}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for rank, world := range comm.NewLocal(2) {
		at := primitive
		if rank != victim {
			at = ""
		}
		d, err := disttest.OpenFalling(at, number)
		if err != nil {
			t.Fatal(err)
		}
		d.Error = why
		f.devices[rank] = d
		wg.Go(func() { // the devices are not closed: messages may be under way
			d, err := Decompose(context.Background(), world, []kernels.Backend{d}, task)
			if err == nil {
				err = d.Vectors(storeInto(&mu, f.u, m), storeInto(&mu, f.v, n))
				d.Free()
			}
			f.errs[rank] = err
			if known := (*comm.Failure)(nil); err != nil && !errors.As(err, &known) {
				world.Abort(6)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				f.s, f.Decomposition = d.Sigma, d
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second): // on a machine that does much else
		stack := make([]byte, 1<<20)
		t.Fatalf("rank %d lost its device at call %d of %s, and the run does not end:\n%s", victim, number,
			primitive, stack[:runtime.Stack(stack, true)])
	}
	return f
}

// fallingCases use all primitives between them: every way of preparing a matrix, of getting V, both types of
// numbers, slabs, and the hyperbolic SVD.
func fallingCases() map[string]Task {
	hyperbolic := both(40, 40)
	hyperbolic.Signs = make([]float64, 40)
	for j := range hyperbolic.Signs {
		hyperbolic.Signs[j] = float64(1 - 2*(j%2))
	}
	with := func(m, n int, p Preconditioner, v RightVectors) Task {
		task := both(m, n)
		task.Precondition, task.V = p, v
		return task
	}
	return map[string]Task{
		"gauss":                        both(48, 48),
		"gauss, V carried":             with(48, 48, NoPreconditioner, Accumulate),
		"graded-cols, V from U":        with(64, 48, QRCPLQ, FromLeft),
		"graded-rows":                  with(64, 48, AutoPreconditioner, AutoRight),
		"lowrank, QR":                  with(48, 40, QR, AutoRight),
		"gauss, tall":                  with(2200, 20, AutoPreconditioner, AutoRight),
		"spectrum1, both signs":        hyperbolic,
		"lowrank, restarts, by pivots": both(64, 64),
	}
}

// A device that is lost at the first, a middle or the last call of any primitive ends the run on both ranks
// with an error that names the primitive, or the result is right, where it is lost when all is done.
func TestFallenDevices(t *testing.T) {
	lowFrom(t, 48)
	used := map[string]bool{}
	for name, task := range fallingCases() {
		kind, _, _ := strings.Cut(name, ",")
		a := disttest.Generate(t, kind, gen.Options{Rows: int64(task.M), Cols: int64(task.N), Seed: 7})
		whole := fall(t, a, task, 0, "", 0, nil)
		if err := errors.Join(whole.errs[:]...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		i := 0
		for victim, d := range whole.devices {
			for _, primitive := range slices.Sorted(maps.Keys(d.Calls())) {
				used[primitive] = true
				numbers := []int{1, (1 + d.Calls()[primitive]) / 2, d.Calls()[primitive]}
				if testing.Short() {
					numbers = numbers[i%3:][:1]
				}
				i++
				for _, number := range slices.Compact(numbers) {
					f := fall(t, a, task, victim, primitive, number, nil)
					f.judge(t, fmt.Sprintf("%s: call %d of %s on rank %d", name, number, primitive, victim), a, victim,
						"the device is lost")
				}
			}
		}
	}
	t.Logf("%d primitives: %v", len(used), slices.Sorted(maps.Keys(used)))
	if len(used) < 30 {
		t.Errorf("only %d primitives are used", len(used))
	}
}

// judge asserts that both ranks end with an error, the one of the device its own, or that the result is
// right.
func (f fallen) judge(t *testing.T, what string, a []float64, victim int, says string) {
	t.Helper()
	if !f.devices[victim].Lost() {
		t.Errorf("%s: it does not come to that", what)
	}
	own, other := f.errs[victim], f.errs[1-victim]
	if own == nil && other == nil {
		f.verify(t, a, 10)
		if t.Failed() {
			t.Fatal(what)
		}
		return
	}
	if own == nil || other == nil {
		t.Errorf("%s: the ranks end with %v and %v", what, f.errs[0], f.errs[1])
		return
	}
	var known *comm.Failure
	if errors.As(own, &known) && (known.Rank != victim || known.Kind != comm.BadResource) {
		t.Errorf("%s: a failure of kind %d, of rank %d", what, known.Kind, known.Rank)
	}
	if !strings.Contains(own.Error(), says) {
		t.Errorf("%s: error %v", what, own)
	}
}

// A device that has no more memory, at the first, a middle or the last time that some is asked for, ends the
// run on both ranks, and says so.
func TestDevicesWithoutMemory(t *testing.T) {
	lowFrom(t, 48)
	for name, task := range fallingCases() {
		kind, _, _ := strings.Cut(name, ",")
		a := disttest.Generate(t, kind, gen.Options{Rows: int64(task.M), Cols: int64(task.N), Seed: 7})
		whole := fall(t, a, task, 0, "", 0, nil)
		for victim, d := range whole.devices {
			for _, primitive := range []string{"Alloc", "AllocHost"} {
				last := d.Calls()[primitive]
				for _, number := range slices.Compact([]int{min(1, last), (1 + last) / 2, last}) {
					if number == 0 {
						continue // it is not asked for any
					}
					f := fall(t, a, task, victim, primitive, number, kernels.ErrMemory)
					f.judge(t, fmt.Sprintf("%s: call %d of %s on rank %d", name, number, primitive, victim), a, victim,
						kernels.ErrMemory.Error())
				}
			}
		}
	}
}
