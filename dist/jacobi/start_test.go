package jacobi

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/exchange"
	"jmpi/dist/matrix"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// A method that begins with an orthogonal V0 and with A·V0 ends with the SVD of A.
func TestRight(t *testing.T) {
	const m, n = 60, 50
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 12})
	settings := Settings{Block: 6, Variant: Block}
	other := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 15})
	v0 := decompose(t, other, 1, 1, Config{Problem: Problem{M: n, N: n}, Settings: settings}).u
	g := make([]float64, m*n)
	for j := range n {
		for l := range n {
			for i := range m {
				g[j*m+i] += a[l*m+i] * v0[j*n+l]
			}
		}
	}
	for _, grid := range [][2]int{{1, 1}, {2, 1}, {1, 3}} {
		c := Config{Problem: Problem{M: m, N: n, Vectors: true}, Settings: settings}
		decomposeFrom(t, g, v0, comm.NewLocal(grid[0]), c, func(comm comm.Comm) ([]kernels.Backend, comm.Comm) {
			return openHosts(t, grid[1]), comm
		}).verify(t, a, 5)
	}
}

// The method ends when it is told that it is enough, without an error, in either precision.
func TestEnough(t *testing.T) {
	const n, after = 64, 3
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 13})
	for _, c := range []Config{{Problem: Problem{M: n, N: n}}, single(n, n, false, Settings{})} {
		c.Settings = Settings{Block: 8, Variant: Block}
		c.Enough = func(sweeps []SweepInfo) bool { return len(sweeps) == after && sweeps[after-1].Sweep == after }
		for _, ranks := range []int{1, 2} {
			o := decompose(t, a, ranks, 1, c)
			if o.done || len(o.sweeps) != after {
				t.Errorf("%s: converged %t after %d sweeps", c.Precision, o.done, len(o.sweeps))
			}
		}
	}
}

// noSingle is a device that takes no batches of float32.
type noSingle struct{ kernels.Backend }

func (b noSingle) Limits() kernels.Limits {
	l := b.Backend.Limits()
	l.Float32.Pivots = false
	return l
}

// What the method cannot do is refused on all ranks, before anything is computed.
func TestRefusals(t *testing.T) {
	const n = 12
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 14})
	be := disttest.OpenHost(t, 1)
	d, err := matrix.NewDevices(comm.NewLocal(1)[0], []kernels.Backend{be}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Free(); err != nil {
			t.Error(err)
		}
	}()
	x, err := scatter(d, a, n, n)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := d.New(n, n+1)
	if err != nil {
		t.Fatal(err)
	}
	good := func(change func(c *Config)) Config {
		c := single(n, n, true, Settings{Strategy: "rev-rowcyc", MaxSweeps: 3, Block: 4, Variant: Block})
		c.Source, c.KeepSource = x, true
		change(&c)
		return c
	}
	for _, c := range []struct {
		change func(c *Config)
		be     kernels.Backend
		kind   comm.Kind
		want   string
	}{
		{func(c *Config) {}, be, comm.Fine, ""},
		{func(c *Config) {
			c.Source, c.Load = nil, func(j0, j1 int, dst []float64) error { return nil }
		}, be, comm.BadUse, "takes a matrix on the devices, and does not load one"},
		{func(c *Config) { c.Positive = n / 2 }, be, comm.BadUse, "is for the SVD, not for the hyperbolic one"},
		{func(c *Config) { c.Cosine = 0 }, be, comm.BadUse, "needs a cosine above 0"},
		{func(c *Config) { c.Right = x }, be, comm.BadUse, "is for the SVD with V, in float64"},
		{func(c *Config) { c.Right, c.Precision, c.Vectors = x, kernels.Float64, false }, be, comm.BadUse,
			"is for the SVD with V, in float64"},
		{func(c *Config) { c.Right, c.Precision = wide, kernels.Float64 }, be, comm.BadUse,
			"is 12×13, must be 12×12"},
		{func(c *Config) {}, noSingle{be}, comm.BadResource,
			"does not run the Jacobi method in float32, take float64"},
	} {
		s, err := Solve(t.Context(), comm.NewLocal(1)[0], []kernels.Backend{c.be}, good(c.change))
		var f *comm.Failure
		switch {
		case c.kind == comm.Fine:
			if err == nil {
				err = s.Finish(false)
			}
			if err == nil || !strings.Contains(err.Error(), "Collect them") {
				t.Errorf("Finish in float32: %v", err)
			}
		case !errors.As(err, &f) || f.Kind != c.kind || !strings.Contains(f.Text, c.want):
			t.Errorf("error %v, want %s", err, c.want)
		}
		s.Free()
	}
}

// While a method runs in float32, a device has no more memory than Demand says, besides the matrix that is
// kept and the columns that are divided on their way, and gives it back.
func TestDemandOfSingle(t *testing.T) {
	const m, n = 130, 96
	a := graded(t, m, n, 3)
	for _, vectors := range []bool{false, true} {
		c := single(m, n, vectors, Settings{Strategy: "rev-rowcyc", MaxSweeps: 30, Block: 16, InnerBlock: 4,
			Variant: Block})
		world := comm.NewLocal(1)[0]
		devices, backends, _ := disttest.OpenRank(t, world, 1, exchange.StageBytes)
		limits := backends[0].Limits()
		d, err := matrix.NewDevices(world, backends, false)
		if err != nil {
			t.Fatal(err)
		}
		if c.Source, err = scatter(d, a, m, n); err != nil {
			t.Fatal(err)
		}
		c.KeepSource = true
		kept := devices[0].Peak
		devices[0].Room = kept + c.Demand(1, limits)
		s, err := Solve(t.Context(), world, backends, c)
		if err != nil {
			t.Fatal(err)
		}
		way := kernels.Panel{M: m, N: c.Node(1, limits).Layout.MacroWidth(), Ld: 136}.Bytes()
		if got, want := devices[0].Peak-kept, c.Demand(1, limits)+way; got != want {
			t.Errorf("vectors %t: %d bytes, want %d", vectors, got, want)
		}
		narrow, wide := c, c
		narrow.M, narrow.N, wide.M, wide.N, wide.Precision = 4096, 4096, 4096, 4096, kernels.Float64
		if r := float64(narrow.Demand(1, limits)) / float64(wide.Demand(1, limits)); !(r > 0.5 && r < 0.53) {
			t.Errorf("vectors %t: float32 takes %g of the memory of float64", vectors, r)
		}
		u, v, err := s.Collect(d)
		if err != nil || !reflect.DeepEqual(v != nil, vectors) || u.M != m {
			t.Errorf("Collect: %v", err)
		}
		if err := errors.Join(d.Free(), disttest.Leftovers(devices)); err != nil {
			t.Error(err)
		}
	}
}
