package node

import (
	"fmt"
	"testing"

	"jmpi/kernels"
	"jmpi/strategy"

	"pgregory.net/rapid"
)

// idle is a back end that computes nothing: it shows what it is asked for, and what the calls cost.
type idle struct {
	kernels.Backend
	limits kernels.Limits
	bytes  int64 // allocated
	syncs  int
}

func (b *idle) Describe() kernels.Description { return kernels.Description{Kind: "idle"} }
func (b *idle) Limits() kernels.Limits        { return b.limits }
func (b *idle) Alloc(bytes int64) (kernels.Address, error) {
	b.bytes += bytes
	return memoryAlign, nil
}
func (b *idle) Free(kernels.Address) error                         { return nil }
func (b *idle) Gram(*kernels.Batch) error                          { return nil }
func (b *idle) Cholesky(*kernels.Batch) error                      { return nil }
func (b *idle) QR(*kernels.Batch) error                            { return nil }
func (b *idle) Jacobi(*kernels.Batch, kernels.JacobiOptions) error { return nil }
func (b *idle) Multiply(*kernels.Batch) error                      { return nil }
func (b *idle) Identity(kernels.Panel, int) error                  { return nil }
func (b *idle) Sync() error                                        { b.syncs++; return nil }

// A device allocates what Demand says, and its panels lie in that memory without overlap.
func TestDemandIsWhatIsAllocated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		devices := rapid.IntRange(1, 6).Draw(t, "devices")
		n := rapid.IntRange(1, 700).Draw(t, "n")
		c := Config{
			M:      n + rapid.IntRange(0, 100).Draw(t, "m-n"),
			Layout: NewLayout(n, devices, rapid.IntRange(1, 90).Draw(t, "width"), 0), Positive: n,
			Vectors: rapid.Bool().Draw(t, "vectors"), Strategy: "rev-rowcyc", Sweeps: 1, Exchanges: devices > 1,
		}
		single := rapid.Bool().Draw(t, "float32")
		if !single && n > 1 && rapid.Bool().Draw(t, "hyperbolic") {
			c.Positive = n - 1
		}
		if single {
			c.Precision = Precision{kernels.Float32, 3e-6}
		}
		for width := c.Layout.Width(); width > 1 && rapid.Bool().Draw(t, "inner"); {
			width = rapid.IntRange(1, width-1).Draw(t, "inner width")
			c.Widths = append(c.Widths, width)
		}
		keeps := rapid.SampledFrom([]kernels.Keep{kernels.KeepNever, kernels.KeepEarly, kernels.KeepAlways})
		be := &idle{limits: kernels.Limits{PointwiseOrder: 2000, Tile: 64,
			Grams: kernels.GramLimits{Float64: keeps.Draw(t, "Gram matrices of float64"),
				Float32: keeps.Draw(t, "Gram matrices of float32")},
			Float32: kernels.Float32Limits{Pivots: true},
			Align:   rapid.SampledFrom([]int{1, 8, 32}).Draw(t, "align")}}
		d, err := NewDevice(be, c)
		if err != nil {
			t.Fatal(err)
		}
		if want := Demand(c, be.limits); be.bytes != want {
			t.Fatalf("%d bytes allocated, want %d", be.bytes, want)
		}
		end := d.memory // of what is handed out so far
		take := func(what string, p kernels.Panel, m, n int, e kernels.Element) {
			if p.Data < end || p.Data%memoryAlign != 0 {
				t.Fatalf("%s at %d, after the end %d of what lies before it", what, p.Data, end)
			}
			if p.Type != e || p.M < m || p.N != n || p.Ld < p.M ||
				n > 1 && p.Ld*e.Bytes()%(be.limits.Align*kernels.WordBytes) != 0 {
				t.Fatalf("%s is %+v, want %d×%d of %s", what, p, m, n, e)
			}
			end = p.Data + kernels.Address(p.Bytes())
		}
		width := c.Layout.MacroWidth()
		for i, s := range d.slots {
			if i == Slots-1 && !c.Exchanges {
				break
			}
			take(fmt.Sprint("G of slot ", i), s.G, c.M, width, c.Precision.Type)
			if c.Vectors {
				take(fmt.Sprint("V of slot ", i), s.V, n, width, c.Precision.Type)
			}
			if single {
				take(fmt.Sprint("norms of slot ", i), s.Norms, width, 1, kernels.Float64)
			}
			// Multiply knows the products of the columns of R·T where Jacobi has found T in one piece.
			if be.limits.Grams.Of(c.Precision.Type) != kernels.KeepNever && c.Widths == nil && c.Positive == n {
				take(fmt.Sprint("Gram matrices of slot ", i), s.Grams, c.Layout.Width(), width, c.Precision.Type)
			} else if s.Grams.Ld > 0 {
				t.Fatal("there are Gram matrices that nobody keeps")
			}
		}
		for i, l := range d.rec.levels {
			take(fmt.Sprint("R of level ", i), l.r, l.order, l.order*l.problems, c.Precision.Type)
			take(fmt.Sprint("T of level ", i), l.t, l.order, l.order*l.problems, c.Precision.Type)
			if single {
				take(fmt.Sprint("factors of level ", i), l.factors, l.order*l.problems, 1, kernels.Float64)
			}
		}
		if end > d.memory+kernels.Address(be.bytes) {
			t.Fatalf("the panels end %d bytes behind the memory", end-d.memory-kernels.Address(be.bytes))
		}
	})
}

// The device is waited for when Sync asks, not once a batch, and after each phase only where these are told
// apart. Sync adds the batches up.
func TestPhasesAreTimedWhereAsked(t *testing.T) {
	for _, profile := range []bool{false, true} {
		l := NewLayout(64, 1, 8, 0)
		be := &idle{limits: kernels.Limits{PointwiseOrder: 128, Align: 1}}
		d, err := NewDevice(be, Config{M: 64, Layout: l, Positive: l.N, Strategy: "rev-rowcyc", Sweeps: 1,
			Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		be.syncs = 0
		d.SetColumn(0, 0)
		d.SetColumn(1, 1)
		for range 3 {
			if err := d.Run(0, []strategy.Pair{{P: 0, Q: 1}, {P: 2, Q: 5}}); err != nil {
				t.Fatal(err)
			}
		}
		if d.Problems != 0 || d.Phases.ShortenFlops != 0 {
			t.Errorf("before Sync: %d problems, %+v", d.Problems, d.Phases)
		}
		for range 2 { // nothing is added twice
			if err := d.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		p := d.Phases
		syncs, told := 2, p.Shorten > 0 && p.Inner > 0 && p.Postmultiply > 0
		if profile {
			syncs = 2 + 3*3
		}
		if be.syncs != syncs || told != profile || p.Compute <= 0 || p.Shorten+p.Inner+p.Postmultiply > p.Compute ||
			p.ShortenFlops != 3*2*64*16*16 || d.Problems != 6 {
			t.Errorf("profile %t: %d times Sync, %d problems, %+v", profile, be.syncs, d.Problems, p)
		}
	}
}

// BenchmarkRun is the time that Go takes for one sub-step, on 64 pairs of one level, and on 16 pairs
// whose factors are cut into 8.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name   string
		n      int
		width  int
		widths []int
	}{{"one level", 8192, 64, nil}, {"two levels", 8192, 256, []int{64}}} {
		b.Run(c.name, func(b *testing.B) {
			l := NewLayout(c.n, 1, c.width, 0)
			be := &idle{limits: kernels.Limits{PointwiseOrder: 128, Align: 16}}
			d, err := NewDevice(be, Config{M: c.n, Layout: l, Positive: l.N, Vectors: true, Strategy: "rev-rowcyc",
				Widths: c.widths, Sweeps: 1})
			if err != nil {
				b.Fatal(err)
			}
			d.SetColumn(0, 0)
			d.SetColumn(1, 1)
			table, err := strategy.New("rev-rowcyc", l.Columns)
			if err != nil {
				b.Fatal(err)
			}
			pairs := table.Steps[0]
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Run(0, pairs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(pairs)), "µs/pair")
			b.ReportMetric(float64(be.syncs)/float64(b.N), "syncs/op")
		})
	}
}
