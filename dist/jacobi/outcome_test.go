package jacobi

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/exchange"
	"jmpi/dist/matrix"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
)

// outcome is a decomposition gathered from all ranks.
type outcome struct {
	m, n      int
	s         []float64
	u, v      []float64 // column-major m×n, n×n
	sweeps    []SweepInfo
	done      bool
	transport exchange.Transport
	trace     map[int][][4]int // of each device: level, problem, p, q
}

func schemeOf(nested bool) Scheme {
	if nested {
		return Nested
	}
	return Flat
}

func variantOf(full bool) Variant {
	if full {
		return Full
	}
	return Block
}

// decompose runs Solve on ranks of one process, each with CPU devices.
func decompose(t *testing.T, a []float64, ranks, devices int, c Config) outcome {
	t.Helper()
	return decomposeOn(t, a, comm.NewLocal(ranks), c, func(comm comm.Comm) ([]kernels.Backend, comm.Comm) {
		return openHosts(t, devices), comm
	})
}

// openHosts opens so many CPU devices.
func openHosts(t *testing.T, count int) (backends []kernels.Backend) {
	for range count {
		be, err := cpu.Open(1)
		if err != nil {
			t.Error(err)
		}
		backends = append(backends, be)
	}
	return backends
}

// decomposeOn runs Solve on some ranks, with the devices and the Comm that open gives a rank. What the other
// ranks have of U and V stays zero.
func decomposeOn(t *testing.T, a []float64, comms []comm.Comm, c Config,
	open func(comm.Comm) ([]kernels.Backend, comm.Comm)) outcome {
	t.Helper()
	return decomposeFrom(t, a, nil, comms, c, open)
}

// decomposeFrom is decomposeOn with a V to begin with, nil for none.
func decomposeFrom(t *testing.T, a, right []float64, comms []comm.Comm, c Config,
	open func(comm.Comm) ([]kernels.Backend, comm.Comm)) outcome {
	t.Helper()
	o := outcome{m: c.M, n: c.N, u: make([]float64, c.M*c.N), v: make([]float64, c.N*c.N),
		trace: map[int][][4]int{}}
	if c.MaxSweeps == 0 {
		c.MaxSweeps = 30
	}
	if c.Strategy == "" {
		c.Strategy = "rev-rowcyc"
	}
	c.Load = func(j0, j1 int, dst []float64) error {
		copy(dst, a[j0*c.M:j1*c.M])
		return nil
	}
	var mu sync.Mutex
	c.Trace = func(device, level, problem, p, q int) {
		mu.Lock()
		defer mu.Unlock()
		o.trace[device] = append(o.trace[device], [4]int{level, problem, p, q})
	}
	var wg sync.WaitGroup
	for _, comm := range comms {
		wg.Go(func() {
			backends, comm := open(comm)
			for _, be := range backends {
				defer func() {
					if err := be.Close(); err != nil {
						t.Error(err)
					}
				}()
			}
			s, err := solve(comm, backends, a, right, c)
			if err != nil {
				t.Error(err)
				comm.Abort(1)
				return
			}
			defer s.Free()
			if err := o.read(s, comm, backends); err != nil {
				t.Error(err)
				comm.Abort(1)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			o.s, o.sweeps, o.done, o.transport = s.Sigma, s.Sweeps, s.Converged, s.Transport
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return o
}

// solve runs Solve, with a matrix on the devices where it must be there.
func solve(world comm.Comm, backends []kernels.Backend, a, right []float64,
	c Config) (s *Solution, err error) {
	d, err := matrix.NewDevices(world, backends, backends[0].Limits().HostMemory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Free()) }()
	if c.Precision == kernels.Float32 {
		if c.Source, err = scatter(d, a, c.M, c.N); err != nil {
			return nil, err
		}
	}
	if right != nil {
		if c.Right, err = scatter(d, right, c.N, c.N); err != nil {
			return nil, err
		}
	}
	return Solve(context.Background(), world, backends, c)
}

// scatter makes a matrix on the devices of one that every rank has.
func scatter(d *matrix.Devices, a []float64, m, n int) (*matrix.Matrix, error) {
	columns := map[int][]float64{}
	if d.Comm.Rank() == 0 {
		for j := range n {
			columns[j] = a[j*m : (j+1)*m]
		}
	}
	return d.Scatter(m, n, columns)
}

// read copies the vectors that this rank has; ranks write disjoint parts. U is completed if it must be.
func (o outcome) read(s *Solution, world comm.Comm, backends []kernels.Backend) (err error) {
	d, err := matrix.NewDevices(world, backends, backends[0].Limits().HostMemory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Free()) }()
	if !s.Deficient() && s.run.precision == kernels.Float64 {
		if err := s.Finish(false); err != nil {
			return err
		}
		into := func(to []float64, ld int) func(matrix.Part) error {
			return func(p matrix.Part) error {
				copy(to[p.Column*ld+p.Row:], p.Data[:p.M])
				return nil
			}
		}
		return s.Store(d, 2, o.n, into(o.u, o.m), into(o.v, o.n))
	}
	u, v, err := s.Collect(d)
	if err != nil {
		return err
	}
	return errors.Join(keep(o.u, u), keep(o.v, v))
}

// keep copies what this rank has of a matrix; nil stands for none.
func keep(to []float64, x *matrix.Matrix) error {
	if x == nil {
		return nil
	}
	return x.EachBlock(func(j0, j1 int, part []float64) error {
		copy(to[j0*x.M:], part)
		return nil
	})
}

// verify asserts the check rows of docs/contract.md below limit: residual, orthogonality of U and V, order.
func (o outcome) verify(t *testing.T, a []float64, limit float64) {
	t.Helper()
	if !o.done {
		t.Errorf("not converged in %d sweeps", len(o.sweeps))
	}
	if got := o.residual(a) / (float64(max(o.m, o.n)) * kernels.Epsilon); !(got < limit) {
		t.Errorf("residual %.3g", got)
	}
	if got := disttest.Orthogonality(o.u, o.m, o.n); !(got < limit) {
		t.Errorf("orthU %.3g", got)
	}
	if got := disttest.Orthogonality(o.v, o.n, o.n); !(got < limit) {
		t.Errorf("orthV %.3g", got)
	}
	for k := range o.s {
		if !(o.s[k] >= 0) || k > 0 && o.s[k] > o.s[k-1] {
			t.Fatalf("σ_%d = %g after %g", k+1, o.s[k], o.s[max(k-1, 0)])
		}
	}
}

// residual returns ‖A − U·Σ·Vᵀ‖/‖A‖, and that of the zero matrix without the quotient.
func (o outcome) residual(a []float64) float64 {
	normA, r := 0.0, 0.0
	for j := range o.n {
		for i := range o.m {
			x := a[j*o.m+i]
			normA += x * x
			for k := range o.n {
				x -= o.u[k*o.m+i] * o.s[k] * o.v[k*o.n+j]
			}
			r += x * x
		}
	}
	if normA == 0 {
		return math.Sqrt(r)
	}
	return math.Sqrt(r) / math.Sqrt(normA)
}
