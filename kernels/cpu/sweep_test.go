package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// BenchmarkSVD runs the block method on a Gaussian matrix with V, two threads, until a sweep has no proper
// rotation, for the widths and numbers of inner sweeps that preferredWidth was chosen from. It reports the
// seconds of each primitive.
func BenchmarkSVD(b *testing.B) {
	for _, n := range []int{512, 1024, 2048} {
		for _, inner := range []int{1, 2, 30} {
			for _, w := range []int{16, 32, 64} {
				b.Run(fmt.Sprintf("n=%d/inner=%d/w=%d", n, inner, w), func(b *testing.B) {
					for b.Loop() {
						benchSVD(b, mustOpen(b, 2, "avx512"), n, w, inner)
					}
				})
			}
		}
	}
}

func benchSVD(b *testing.B, d *device, n, w, inner int) {
	p := problem{d: d}
	panels := p.panel(b, n, 2*n)
	g, v := panels.Columns(0, n), panels.Columns(n, 2*n)
	rnd := rand.New(rand.NewPCG(1, 1))
	for j := range n {
		for i, c := 0, column(g, j); i < n; i++ {
			c[i] = rnd.NormFloat64()
		}
	}
	must(b, d.Identity(v, 0))
	problems := n / w / 2
	factors := p.panel(b, 2*w, problems*4*w)
	for i := range problems {
		f := factors.Columns(4*w*i, 4*w*(i+1))
		p.batch.R = append(p.batch.R, f.Columns(0, 2*w))
		p.batch.T = append(p.batch.T, f.Columns(2*w, 4*w))
	}
	p.batch.G, p.batch.V = make([]kernels.Pivot, problems), make([]kernels.Pivot, problems)
	p.batch.Tally = make([]kernels.Tally, problems)
	outer := kerneltest.ReverseRowCyclic(n / w)
	p.option = kernels.JacobiOptions{Schedule: kerneltest.ReverseRowCyclic(2 * w), MaxSweeps: inner}

	seconds := map[string]float64{}
	timed := func(name string, f func() error) {
		start := time.Now()
		must(b, f())
		seconds[name] += time.Since(start).Seconds()
	}
	sweeps := 0
	for proper := int64(1); proper > 0 && sweeps < 30; sweeps++ {
		proper = 0
		for s := 0; s < len(outer.Pairs); s += 2 * problems {
			for i := range problems {
				left, right := w*int(outer.Pairs[s+2*i]), w*int(outer.Pairs[s+2*i+1])
				p.batch.G[i] = kernels.Pivot{P: g.Columns(left, left+w), Q: g.Columns(right, right+w)}
				p.batch.V[i] = kernels.Pivot{P: v.Columns(left, left+w), Q: v.Columns(right, right+w)}
			}
			timed("gram-s", func() error { return d.Gram(&p.batch) })
			timed("cholesky-s", func() error { return d.Cholesky(&p.batch) })
			timed("qr-s", func() error { return d.QR(&p.batch) })
			timed("jacobi-s", func() error { return d.Jacobi(&p.batch, p.option) })
			timed("multiply-s", func() error { return d.Multiply(&p.batch) })
			for _, t := range p.batch.Tally {
				proper += t.Proper
			}
		}
	}
	for name, s := range seconds {
		b.ReportMetric(s, name)
	}
	b.ReportMetric(float64(sweeps), "sweeps")
}
