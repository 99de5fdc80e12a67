package cuda

import (
	"fmt"
	"slices"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// single returns the problem in float32: unit columns, and their norms apart.
func (p *pivots) single(t testing.TB) *pivots {
	t.Helper()
	s := &pivots{d: p.d, option: p.option}
	b := &s.batch
	b.Type, b.Single = kernels.Float32, &kernels.Single{Cosine: 3e-6}
	b.Tally = make([]kernels.Tally, len(p.batch.G))
	for _, g := range p.batch.G {
		k, w, m := g.Order(), g.P.N, g.P.M
		x := append(download(t, p.d, g.P), download(t, p.d, g.Q)...)
		norms := make([]float64, k)
		for j := range norms {
			c := x[j*m : (j+1)*m]
			norms[j] = kernels.Norm2(c)
			for i := range c {
				c[i] /= norms[j]
			}
		}
		unit, a, v := p.panel(t, m, k), s.panelOf(t, m, k, kernels.Float32), s.panelOf(t, k, k, kernels.Float32)
		must(t, s.d.Write(unit, x, m))
		must(t, s.d.Convert(a, unit))
		must(t, s.d.Identity(v, 0))
		n := s.panel(t, k, 1)
		must(t, s.d.Write(n, norms, k))
		b.G = append(b.G, kernels.Pivot{P: a.Columns(0, w), Q: a.Columns(w, k)})
		b.V = append(b.V, kernels.Pivot{P: v.Columns(0, w), Q: v.Columns(w, k)})
		b.R = append(b.R, s.panelOf(t, k, k, kernels.Float32))
		b.T = append(b.T, s.panelOf(t, k, k, kernels.Float32))
		b.Single.Norms = append(b.Single.Norms, kernels.Pivot{P: n.Rows(0, w), Q: n.Rows(w, k)})
		b.Single.Factors = append(b.Single.Factors, s.panel(t, k, 1))
	}
	return s
}

// wide reads a panel of float32.
func (p *pivots) wide(t testing.TB, a kernels.Panel) []float64 {
	t.Helper()
	x := p.panel(t, a.M, a.N)
	must(t, p.d.Convert(x, a))
	return download(t, p.d, x)
}

// singleStep is step in float32.
func singleStep(t testing.TB, d *device, shapes []shape) (out [][]float64) {
	t.Helper()
	s := newPivots(t, d, pointwiseOrder, shapes).single(t)
	b := &s.batch
	must(t, d.Gram(b))
	must(t, d.Cholesky(b))
	must(t, d.Sync())
	for i := range b.Tally {
		b.Tally[i].Broken = int64(b.R[i].N % 2) // some factors from QR
	}
	must(t, d.QR(b))
	must(t, d.Jacobi(b, s.option))
	must(t, d.Multiply(b))
	must(t, d.Sync())
	for i := range b.G {
		x := []float64{float64(b.Tally[i].Rotations), float64(b.Tally[i].Proper), float64(b.Tally[i].Changed),
			b.Tally[i].Cosine}
		for _, a := range []kernels.Panel{b.G[i].P, b.G[i].Q, b.V[i].P, b.V[i].Q, b.R[i], b.T[i]} {
			x = append(x, s.wide(t, a)...)
		}
		n := b.Single.Norms[i]
		out = append(out, slices.Concat(x, download(t, d, n.P), download(t, d, n.Q)))
	}
	return out
}

// TestSingleSameBits compares a step of several pivots of float32 bit by bit: from run to run, beside others
// on two lanes, and for each problem alone.
func TestSingleSameBits(t *testing.T) {
	d := mustOpen(t, 0)
	shapes := []shape{{300, 16, 16}, {1500, 17, 16}, {40, 30, 31}, {700, 1, 0}, {5000, 64, 64}, {900, 50, 51},
		{2100, 8, 8}}
	want := singleStep(t, d, shapes)
	for run := range 3 {
		kerneltest.SameBits(t, fmt.Sprint("run ", run), singleStep(t, d, shapes), want)
	}
	for i := range shapes {
		kerneltest.SameBits(t, fmt.Sprint("problem ", i, " alone"), singleStep(t, d, shapes[i:i+1]), want[i:i+1])
	}
	many := slices.Concat(shapes, shapes, shapes, shapes, shapes)
	if d.parts(len(many), pointwiseOrder, false) < 2 {
		t.Fatal("too few problems to be spread over lanes")
	}
	kerneltest.SameBits(t, "two lanes", singleStep(t, d, many), slices.Concat(want, want, want, want, want))
}

// BenchmarkSingle compares float32 with float64: milliseconds of a batch, the medians of runs in turn.
// jacobi/2 is two sweeps. The factors are those of random columns.
func BenchmarkSingle(b *testing.B) {
	for _, c := range []struct{ problems, k int }{{64, 128}, {32, 128}, {256, 64}, {64, 64}} {
		d := mustOpen(b, 0)
		shapes := slices.Repeat([]shape{{1024, c.k / 2, c.k / 2}}, c.problems)
		double := newPivots(b, d, c.k, shapes)
		double.option.Schedule = kerneltest.ReverseRowCyclic(c.k)
		both := []*pivots{double, double.single(b)}
		for _, p := range both {
			p.batch.V = nil
		}
		for _, o := range []struct {
			name   string
			sweeps int
		}{{"cholesky", 0}, {"jacobi", 1}, {"jacobi/2", 2}} {
			b.Run(fmt.Sprintf("%s/%dx%d", o.name, c.problems, c.k), func(b *testing.B) {
				var times [2][]float64
				for b.Loop() {
					for i, p := range both {
						times[i] = append(times[i], p.factorTime(b, o.sweeps))
					}
				}
				for i := range times {
					slices.Sort(times[i])
				}
				double, single := times[0][len(times[0])/2], times[1][len(times[1])/2]
				b.ReportMetric(double*1e3, "float64-ms")
				b.ReportMetric(single*1e3, "float32-ms")
				b.ReportMetric(double/single, "ratio")
			})
		}
	}
}

// factorTime returns the seconds of so many sweeps on the factors of the batch, of their Cholesky
// factorization for none. Some work goes before, so that the device does not wait for the host.
func (p *pivots) factorTime(t testing.TB, sweeps int) float64 {
	d, b := p.d, &p.batch
	for range 8 {
		must(t, d.Gram(b))
	}
	from := d.mark(t)
	must(t, d.Cholesky(b))
	to := d.mark(t)
	if sweeps > 0 {
		from = to
		must(t, d.Jacobi(b, kernels.JacobiOptions{Schedule: p.option.Schedule, MaxSweeps: sweeps}))
		to = d.mark(t)
	}
	must(t, d.Sync())
	return d.between(t, from, to)
}
