package cpu

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"jmpi/kernels"
)

// single returns the problem in float32: unit columns, and their norms apart.
func (p *problem) single(t testing.TB) *problem {
	t.Helper()
	s := &problem{d: p.d, option: p.option}
	b := &s.batch
	b.Type, b.Single = kernels.Float32, &kernels.Single{Cosine: 3e-6}
	b.Tally = make([]kernels.Tally, len(p.batch.G))
	rows, columns := 0, 0
	for _, g := range p.batch.G {
		rows, columns = max(rows, g.P.M), columns+g.Order()
	}
	all := s.panelOf(t, rows, columns, kernels.Float32)
	for _, g := range p.batch.G {
		k, w := g.Order(), g.P.N
		a := all.Columns(0, k).Rows(0, g.P.M)
		all = all.Columns(k, all.N)
		norms := s.panel(t, k, 1)
		for j := range k {
			c := slices.Clone(pivotColumn[float64](g, j))
			d := kernels.Norm2(c)
			column(norms, 0)[j] = d
			for i, x := range columnOf[float32](a, j) {
				columnOf[float32](a, j)[i] = x + float32(c[i]/d)
			}
		}
		v := s.panelOf(t, k, k, kernels.Float32)
		must(t, s.d.Identity(v, 0))
		b.G = append(b.G, kernels.Pivot{P: a.Columns(0, w), Q: a.Columns(w, k)})
		b.V = append(b.V, kernels.Pivot{P: v.Columns(0, w), Q: v.Columns(w, k)})
		b.R = append(b.R, s.panelOf(t, k, k, kernels.Float32))
		b.T = append(b.T, s.panelOf(t, k, k, kernels.Float32))
		b.Single.Norms = append(b.Single.Norms, kernels.Pivot{P: norms.Rows(0, w), Q: norms.Rows(w, k)})
		b.Single.Factors = append(b.Single.Factors, s.panel(t, k, 1))
	}
	return s
}

// singleStep is step in float32.
func singleStep(t testing.TB, d *device, shapes []shape) (out [][]float64) {
	t.Helper()
	s := newProblem(t, d, maxOrder, shapes).single(t)
	b := &s.batch
	must(t, d.Gram(b))
	must(t, d.Cholesky(b))
	for i := range b.Tally {
		b.Tally[i].Broken = int64(b.R[i].N % 2)
	}
	s.transform(t)
	for i := range b.G {
		x := []float64{float64(b.Tally[i].Rotations), float64(b.Tally[i].Proper), b.Tally[i].Cosine}
		for _, a := range []kernels.Panel{b.G[i].P, b.G[i].Q, b.V[i].P, b.V[i].Q, b.R[i], b.T[i]} {
			for j := range a.N {
				for _, e := range columnOf[float32](a, j) {
					x = append(x, float64(e))
				}
			}
		}
		n := b.Single.Norms[i]
		out = append(out, slices.Concat(x, column(n.P, 0), column(n.Q, 0)))
	}
	return out
}

// TestGrams tests that Gram takes the products of the columns of P, and of Q, from Grams where they are
// known, that it puts them there where they are not, and that Multiply keeps them up to rounding errors.
func TestGrams(t *testing.T) {
	shapes := []shape{{200, 32, 32}, {133, 17, 30}, {70, 1, 6}, {40, 9, 0}, {600, 7, 60}}
	for _, d := range []*device{mustOpen(t, 1, "avx512"), mustOpen(t, 3, "avx512"), mustOpen(t, 2, "generic")} {
		plain, kept := newProblem(t, d, maxOrder, shapes).single(t), newProblem(t, d, maxOrder, shapes).single(t)
		b := &kept.batch
		for _, g := range b.G {
			b.Grams = append(b.Grams, kernels.Pivot{P: kept.panelOf(t, g.P.N, g.P.N, kernels.Float32),
				Q: kept.panelOf(t, g.Q.N, g.Q.N, kernels.Float32)})
		}
		must(t, d.Gram(&plain.batch))
		must(t, d.Gram(b))
		for i, known := range b.Grams {
			r, np := plain.batch.R[i], b.G[i].P.N
			identical(t, b.R[i], r)
			identical(t, known.P, r.Columns(0, np).Rows(0, np))
			identical(t, known.Q, r.Columns(np, r.N).Rows(np, r.N))
			for j := range np {
				columnOf[float32](known.P, j)[j] += 0.25
				columnOf[float32](r, j)[j] += 0.25
			}
		}
		must(t, d.Gram(b))
		for i := range b.R {
			identical(t, b.R[i], plain.batch.R[i])
			columnOf[float32](b.Grams[i].P, 0)[0] = 0
		}
		must(t, d.Gram(b))
		must(t, d.Cholesky(b))
		kept.transform(t)
		copy(plain.batch.G, b.G)
		must(t, d.Gram(&plain.batch))
		for i, known := range b.Grams {
			if b.Tally[i].Changed == 0 {
				t.Errorf("problem %d: nothing was rotated", i)
			}
			r, np := plain.batch.R[i], b.G[i].P.N
			near(t, known.P, r.Columns(0, np).Rows(0, np))
			near(t, known.Q, r.Columns(np, r.N).Rows(np, r.N))
		}
	}
}

// identical compares two panels bit by bit.
func identical(t *testing.T, got, want kernels.Panel) {
	t.Helper()
	for j := range want.N {
		if !slices.Equal(columnOf[float32](got, j), columnOf[float32](want, j)) {
			t.Fatalf("column %d is %v, want %v", j, columnOf[float32](got, j), columnOf[float32](want, j))
		}
	}
}

// near compares two Gram matrices of unit columns.
func near(t *testing.T, got, want kernels.Panel) {
	t.Helper()
	for j := range want.N {
		for i, x := range columnOf[float32](want, j) {
			if e := columnOf[float32](got, j)[i] - x; !(e < 1e-6 && e > -1e-6) {
				t.Fatalf("element (%d,%d) is off by %g", i, j, e)
			}
		}
	}
}

// BenchmarkSingle compares float32 with float64 on the pivots of benchmark: runs in turn, of which it reports
// the medians, in ns a problem, and their ratio. jacobi is one sweep.
func BenchmarkSingle(b *testing.B) {
	for _, w := range []int{16, 32, 48, 64} {
		shapes := make([]shape, 512/w)
		for i := range shapes {
			shapes[i] = shape{benchRows, w, w}
		}
		double := newProblem(b, mustOpen(b, 1, "avx512"), 2*w, shapes)
		both := []*problem{double, double.single(b)}
		var factors [2][]kernels.Panel
		var norms []kernels.Panel
		for i, p := range both {
			p.batch.V = nil
			must(b, p.d.Gram(&p.batch))
			must(b, p.d.Cholesky(&p.batch))
			for l, r := range p.batch.R {
				keep := p.panelOf(b, r.M, r.N, r.Type)
				must(b, p.d.Copy(keep, r))
				if factors[i] = append(factors[i], keep); i == 1 {
					norms = append(norms, p.panel(b, r.N, 1))
					must(b, p.d.Copy(norms[l], p.batch.Single.Factors[l]))
				}
			}
		}
		restore := func(i int) {
			for l, r := range both[i].batch.R {
				must(b, both[i].d.Copy(r, factors[i][l]))
				if i == 1 {
					must(b, both[i].d.Copy(both[i].batch.Single.Factors[l], norms[l]))
				}
			}
		}
		for _, c := range []struct {
			name string
			run  func(p *problem) error
		}{
			{"gram", func(p *problem) error { return p.d.Gram(&p.batch) }},
			{"cholesky", func(p *problem) error { return p.d.Cholesky(&p.batch) }},
			{"jacobi", func(p *problem) error { return p.d.Jacobi(&p.batch, p.option) }},
			{"multiply", func(p *problem) error { return p.d.Multiply(&p.batch) }}, // by T of jacobi, again and again
		} {
			b.Run(fmt.Sprintf("%s/w=%d", c.name, w), func(b *testing.B) {
				var times [2][]float64
				for b.Loop() {
					for i, p := range both {
						if c.name == "jacobi" {
							restore(i)
						}
						if c.name == "cholesky" {
							must(b, p.d.Gram(&p.batch))
						}
						start := time.Now()
						must(b, c.run(p))
						times[i] = append(times[i], float64(time.Since(start).Nanoseconds())/float64(len(shapes)))
					}
				}
				for i := range times {
					slices.Sort(times[i])
				}
				d, s := times[0][len(times[0])/2], times[1][len(times[1])/2]
				b.ReportMetric(d, "float64-ns")
				b.ReportMetric(s, "float32-ns")
				b.ReportMetric(d/s, "ratio")
			})
		}
	}
}
