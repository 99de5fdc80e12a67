package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/internal/rates"
	"jmpi/kernels"
)

// smallest is the least order that is measured. One pivot problem of the largest order has so many columns.
const smallest = 128

// Device measures a device, alone, on matrices up to an order, and adds what it sees to r.
func Device(ctx context.Context, be kernels.Backend, order int, settings jacobi.Settings,
	r *rates.Rates) error {
	m := &measurer{ctx: ctx, comm: comm.NewLocal(1)[0], be: []kernels.Backend{be}, rates: r}
	defer m.close()
	for n := smallest; n <= order; n *= 2 {
		for _, element := range be.Limits().Elements() {
			if err := m.sweeps(n, element, settings); err != nil {
				return fmt.Errorf("measure: sweeps in %v of order %d: %w", element, n, err)
			}
		}
		m.order = n
		if err := m.dense(n); err != nil {
			return fmt.Errorf("measure: matrices of order %d: %w", n, err)
		}
	}
	return m.transfer(order)
}

// measurer is what Device has.
type measurer struct {
	ctx   context.Context
	comm  comm.Comm
	be    []kernels.Backend
	where *matrix.Devices
	rates *rates.Rates
	order int // of the matrices that are measured
}

func (m *measurer) close() {
	if m.where != nil {
		_ = m.where.Free() // a device that cannot do so gives it back when it is closed
	}
}

// table has random numbers. Their number is a prime, so that columns of a matrix begin in different places.
var table = sync.OnceValue(func() []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 1<<20+7)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
})

// random returns a matrix on the device, whose columns are as random ones.
func (m *measurer) random(rows, columns int) (*matrix.Matrix, error) {
	if m.where == nil {
		var err error
		if m.where, err = matrix.NewDevices(m.comm, m.be, m.be[0].Limits().HostMemory); err != nil {
			return nil, err
		}
	}
	m.where.Widen(columns)
	table := table()
	return m.where.Load(rows, columns, matrix.Source{Threads: 8, Read: func(p matrix.Part) error {
		for j := range p.N {
			at := ((p.Column+j)*7919*131 + p.Row) % len(table)
			for x := p.Data[j*p.Ld:][:p.M]; len(x) > 0; at = 0 {
				x = x[copy(x, table[at:]):]
			}
		}
		return nil
	}})
}

// Sweeps that are measured. The faster one of the second and the third counts; all pivots are active in both.
const measuredSweeps = 3

// sweeps measures a p-step of the Jacobi method on a square matrix: the whole of it as it runs, and the
// shares of its phases where each is waited for.
func (m *measurer) sweeps(n int, element kernels.Element, settings jacobi.Settings) error {
	settings.MaxSweeps = measuredSweeps
	var seconds float64
	var phases [3]float64
	var layout struct{ columns, order int }
	for _, profile := range []bool{false, true} {
		x, err := m.random(n, n)
		if err != nil {
			return err
		}
		settings.Profile = profile
		problem := jacobi.Problem{M: n, N: n, Precision: element, Start: jacobi.Start{Source: x}}
		if element == kernels.Float32 {
			problem.Cosine = 3e-6
		}
		s, err := jacobi.Solve(m.ctx, m.comm, m.be, jacobi.Config{Problem: problem, Settings: settings})
		if err == nil && !profile {
			seconds = min(s.Sweeps[1].Seconds, s.Sweeps[len(s.Sweeps)-1].Seconds)
			layout.columns, layout.order = s.Layout.Columns, 2*s.Layout.Width()
		}
		if err == nil && profile {
			phases = [3]float64{s.Phases.Shorten, s.Phases.Inner, s.Phases.Postmultiply}
		}
		s.Free()
		if err != nil {
			return err
		}
	}
	step := seconds / float64(layout.columns-1)
	all := phases[0] + phases[1] + phases[2]
	problems, k, rows := float64(layout.columns/2), float64(layout.order), float64(n)
	for i, part := range []struct {
		name string
		work float64
	}{
		{"shorten", rates.ShortenWork(rows, k)}, {"inner", rates.JacobiWork(k)}, {"postmultiply", 2 * rows * k * k},
	} {
		m.rates.AddBatch(part.name, element.String(), layout.order,
			rates.Point{Work: problems * part.work, Seconds: step * phases[i] / all})
	}
	return nil
}

// How often is measured what is done to whole matrices, after once to warm up. The least counts. Of large
// matrices one is enough.
const (
	repetitions = 3
	largeOrder  = 4096
)

// timed measures a function.
func (m *measurer) timed(what string, work float64, f func() error) error {
	var seconds []float64
	times := repetitions
	if m.order >= largeOrder {
		times = 1
	}
	for range 1 + times {
		if err := m.where.Sync(); err != nil {
			return err
		}
		start := time.Now()
		if err := f(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := m.where.Sync(); err != nil {
			return err
		}
		seconds = append(seconds, time.Since(start).Seconds())
	}
	m.rates.AddDense(what, rates.Point{Work: work, Seconds: slices.Min(seconds[1:])})
	return nil
}

// transfer measures copies from the host to the device and back, where they are needed.
func (m *measurer) transfer(order int) error {
	be := m.be[0]
	if be.Limits().HostMemory {
		return nil
	}
	longest := min(int64(order)*int64(order)*kernels.WordBytes, 64<<20)
	device, err := be.Alloc(longest)
	if err != nil {
		return err
	}
	defer func() { _ = be.Free(device) }()
	if err := be.Sync(); err != nil { // it is zero
		return err
	}
	host, err := be.AllocHost(longest)
	if err != nil {
		return err
	}
	defer func() { _ = be.FreeHost(host) }()
	m.rates.Transfer = map[string]rates.Curve{}
	for _, way := range []struct {
		name string
		copy func(bytes int64) error
	}{
		{"upload", func(bytes int64) error { return be.Store(device, host, bytes) }},
		{"download", func(bytes int64) error { return be.Fetch(host, device, bytes) }},
	} {
		var c rates.Curve
		for bytes := longest >> 12; bytes <= longest; bytes <<= 6 {
			best := 0.0
			for range 1 + repetitions {
				start := time.Now()
				if err := way.copy(bytes); err != nil {
					return err
				}
				if s := time.Since(start).Seconds(); best == 0 || s < best {
					best = s
				}
			}
			c.Add(rates.Point{Work: float64(bytes), Seconds: best})
		}
		m.rates.Transfer[way.name] = c
	}
	return nil
}
