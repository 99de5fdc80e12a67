package dist

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
)

// solved is a Decomposition gathered from all ranks of one process.
type solved struct {
	m, n    int
	s, u, v []float64 // column-major m×n, n×n
	task    Task
	*Decomposition
}

// try runs Decompose on ranks with CPU devices, and gathers the vectors that the task wants.
func try(t testing.TB, a []float64, ranks, devices int, task Task) (solved, error) {
	t.Helper()
	return tryOn(t, a, ranks, task, func() ([]kernels.Backend, error) {
		var backends []kernels.Backend
		for range devices {
			be, err := cpu.Open(1)
			if err != nil {
				return nil, err
			}
			backends = append(backends, be)
		}
		return backends, nil
	})
}

// loadFrom is Task.Load of a matrix in memory, column-major with this leading dimension.
func loadFrom(a []float64, ld int) func(Part) error {
	return func(p Part) error {
		for j := range p.N {
			copy(p.Data[j*p.Ld:][:p.M], a[(p.Column+j)*ld+p.Row:])
		}
		return nil
	}
}

// storeInto copies parts of vectors, which come from several goroutines, into x.
func storeInto(mu *sync.Mutex, x []float64, ld int) func(Part) error {
	return func(p Part) error {
		mu.Lock()
		defer mu.Unlock()
		for j := range p.N {
			copy(x[(p.Column+j)*ld+p.Row:], p.Data[j*p.Ld:j*p.Ld+p.M])
		}
		return nil
	}
}

// tryOn runs Decompose on ranks with the devices that open gives.
func tryOn(t testing.TB, a []float64, ranks int, task Task,
	open func() ([]kernels.Backend, error)) (solved, error) {
	t.Helper()
	m, n := task.M, task.N
	o := solved{m: m, n: n, u: make([]float64, m*n), v: make([]float64, n*n)}
	if task.MaxSweeps == 0 {
		task.MaxSweeps = 30
	}
	task.Strategy, task.Threads = jacobi.AutoStrategy, 2
	task.Load = loadFrom(a, m)
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	run := func(comm comm.Comm) error {
		backends, err := open()
		if err != nil {
			return err
		}
		for _, be := range backends {
			defer func() {
				if err := be.Close(); err != nil {
					t.Error(err)
				}
			}()
		}
		task := task
		if keeping != nil {
			if task.Journal, err = checkpoint.Open(comm, *keeping); err != nil {
				return err
			}
			defer func() {
				if err := task.Journal.Close(); err != nil {
					t.Error(err)
				}
			}()
		}
		d, err := Decompose(context.Background(), comm, backends, task)
		if err != nil {
			return err
		}
		defer d.Free()
		var left, right func(Part) error
		if task.Left {
			left = storeInto(&mu, o.u, m)
		}
		if task.Right {
			right = storeInto(&mu, o.v, n)
		}
		if err := d.Vectors(left, right); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		o.s, o.task, o.Decomposition = d.Sigma, task, d
		return nil
	}
	for _, world := range comm.NewLocal(ranks) {
		wg.Go(func() {
			if err := run(world); err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
				var known *comm.Failure
				if !errors.As(err, &known) {
					world.Abort(1)
				}
			}
		})
	}
	wg.Wait()
	return o, failed
}

// find runs try and expects no error.
func find(t testing.TB, a []float64, ranks, devices int, task Task) solved {
	t.Helper()
	o, err := try(t, a, ranks, devices, task)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// both is a task for U and V of an m×n matrix.
func both(m, n int) Task {
	return Task{M: m, N: n, Wanted: Wanted{Left: true, Right: true},
		Settings: jacobi.Settings{Variant: jacobi.Full, Block: 4}}
}

// verify asserts the rows of check (docs/contract.md), for the SVD and for the hyperbolic SVD with the
// task's signs, below limit.
func (o solved) verify(t interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, a []float64, limit float64) {
	t.Helper()
	signs := o.task.Signs
	if signs == nil {
		signs = slices.Repeat([]float64{1}, o.n)
	}
	positive := 0
	for _, x := range signs {
		if x > 0 {
			positive++
		}
	}
	if !o.Converged {
		t.Errorf("not converged in %d sweeps", len(o.Sweeps))
	}
	residual, size, us, vv, orthogonal := 0.0, 0.0, 0.0, 0.0, 0.0
	for j := range o.n {
		for i := range o.m {
			x := a[j*o.m+i]
			size += x * x
			for k := range o.n {
				x -= o.u[k*o.m+i] * o.s[k] * o.v[k*o.n+j]
			}
			residual += x * x
			us += o.u[j*o.m+i] * o.s[j] * o.u[j*o.m+i] * o.s[j]
		}
		for k := range o.n {
			d := 0.0
			for i := range o.n {
				d += signs[i] * o.v[j*o.n+i] * o.v[k*o.n+i]
			}
			if j == k {
				d -= 1
				if j >= positive {
					d += 2
				}
			}
			orthogonal += d * d
		}
		for i := range o.n {
			vv += o.v[j*o.n+i] * o.v[j*o.n+i]
		}
	}
	scale := math.Sqrt(size)
	orthV := math.Sqrt(orthogonal) / (float64(o.n) * kernels.Epsilon)
	if positive < o.n {
		scale = math.Sqrt(us) * math.Sqrt(vv)
		orthV = math.Sqrt(orthogonal) / (vv * kernels.Epsilon)
	}
	if residual > 0 && !(math.Sqrt(residual)/(scale*float64(max(o.m, o.n))*kernels.Epsilon) < limit) {
		t.Errorf("residual %.3g", math.Sqrt(residual)/(scale*float64(max(o.m, o.n))*kernels.Epsilon))
	}
	if got := disttest.Orthogonality(o.u, o.m, o.n); !(got < limit) {
		t.Errorf("orthU %.3g", got)
	}
	if !(orthV < limit) {
		t.Errorf("orthV %.3g", orthV)
	}
	for k := range o.s {
		rises := k > 0 && o.s[k] > o.s[k-1]
		if !(o.s[k] >= 0) || k != positive && k > 0 && rises != (k > positive && o.s[k] != o.s[k-1]) {
			t.Fatalf("σ_%d = %g after %g", k+1, o.s[k], o.s[max(k-1, 0)])
		}
	}
	for k := range o.n {
		if dense.LeadsNegative(o.u[k*o.m : (k+1)*o.m]) {
			t.Errorf("column %d of U has the wrong sign", k+1)
		}
	}
}

// sameBits asserts that two decompositions are the same, if they went through the same fine ordering: a small
// matrix on many devices does not.
func (o solved) sameBits(t testing.TB, other solved, what string) {
	t.Helper()
	if o.Layout.Ordering != other.Layout.Ordering {
		return
	}
	for _, x := range []struct {
		name string
		a, b []float64
	}{{"S", o.s, other.s}, {"U", o.u, other.u}, {"V", o.v, other.v}} {
		if !slices.Equal(x.a, x.b) {
			t.Errorf("%s: other bits of %s", what, x.name)
		}
	}
}

// runTask runs a task on ranks with one device each.
type runTask func(t testing.TB, a []float64, ranks int, task Task) (solved, error)

func onCPUs(t testing.TB, a []float64, ranks int, task Task) (solved, error) {
	return try(t, a, ranks, 1, task)
}

func variantOf(full bool) jacobi.Variant {
	if full {
		return jacobi.Full
	}
	return jacobi.Block
}

// matrixOf returns the matrix with these elements, column-major.
func matrixOf(t testing.TB, world comm.Comm, m, n int, a []float64) *matrix.Matrix {
	t.Helper()
	d, err := matrix.NewDevices(world, []kernels.Backend{disttest.OpenHost(t, 1)}, true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Load(m, n, matrix.Source{Read: func(p matrix.Part) error {
		for j := range p.N {
			copy(p.Data[j*p.Ld:j*p.Ld+p.M], a[(p.Column+j)*m+p.Row:])
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
