package cuda

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"jmpi/kernels"
)

// panels are a Gaussian matrix of panel columns, and where its factors go.
type panels struct {
	pivots
	from, a, r kernels.Panel
	q          kernels.Reflectors
}

func newPanels(t testing.TB, d *device, m, n int) *panels {
	p := &panels{pivots: pivots{d: d}}
	p.from, p.a, p.r = p.panel(t, m, n), p.panel(t, m, n), p.panel(t, n, n)
	p.q = kernels.Reflectors{Y: p.panel(t, m, n), T: p.panel(t, n, n)}
	must(t, d.Write(p.from, normal(m, n), m))
	return p
}

// noise returns the errors of a matrix with elements of about 1.
func (p *panels) noise(t testing.TB, bounds int) *kernels.PanelNoise {
	width := (bounds + 1) * kernels.Samples
	x := &kernels.PanelNoise{Rows: p.panel(t, p.a.M, bounds), Samples: p.panel(t, width, p.a.N),
		Ratios: p.panel(t, width, p.a.N)}
	must(t, p.d.Write(x.Rows, slices.Repeat([]float64{0x1p-48}, p.a.M*bounds), p.a.M))
	must(t, p.d.Write(x.Samples, normal(width, p.a.N), width))
	return x
}

// BenchmarkPanel times FactorPivoted, what it reads and writes included, FactorPanel, and Reflect on panels
// of 256 columns, by events, as microseconds.
func BenchmarkPanel(b *testing.B) {
	for _, m := range []int{1024, 4096, 8192, 16384, 65536} {
		for _, bounds := range []int{0, 2} {
			b.Run(fmt.Sprintf("pivoted/m=%d/bounds=%d", m, bounds), func(b *testing.B) {
				p := newPanels(b, mustOpen(b, 0), m, kernels.PivotedWidth)
				o := kernels.PanelOptions{Drop: kernels.Dropping{Longest: math.Inf(1)}}
				if bounds > 0 {
					o.Noise = p.noise(b, bounds)
				}
				p.time(b, func() error {
					factored, err := p.d.FactorPivoted(p.a, p.q, p.r, o)
					if err != nil {
						return err
					}
					found, err := factored()
					if err == nil && found.Count != kernels.PivotedWidth {
						err = fmt.Errorf("%d columns were taken", found.Count)
					}
					return err
				})
			})
		}
		b.Run(fmt.Sprintf("natural/m=%d", m), func(b *testing.B) {
			p := newPanels(b, mustOpen(b, 0), m, kernels.PanelWidth)
			p.time(b, func() error { return p.d.FactorPanel(p.a, p.q, p.r) })
		})
		for _, count := range []int{1, 32} {
			b.Run(fmt.Sprintf("reflect/m=%d/panels=%d", m, count), func(b *testing.B) {
				p := newPanels(b, mustOpen(b, 0), m, kernels.PanelWidth)
				must(b, p.d.Copy(p.a, p.from))
				must(b, p.d.FactorPanel(p.a, p.q, p.r))
				list, x := make([]kernels.Panel, count), normal(m, 256)
				for i := range list {
					list[i] = p.panel(b, m, 256)
					must(b, p.d.Write(list[i], x, m))
				}
				p.time(b, func() error { return p.d.Reflect(p.q, true, list, 0) })
			})
		}
	}
}

// BenchmarkReflectMany times Reflect with 256 reflectors, which are joined, on panels of so many columns, and
// Join, as microseconds.
func BenchmarkReflectMany(b *testing.B) {
	for _, m := range []int{1024, 2048, 4096, 8192} {
		for _, n := range []int{256, 4096} {
			b.Run(fmt.Sprintf("reflect/m=%d/n=%d", m, n), func(b *testing.B) {
				p := newPanels(b, mustOpen(b, 0), m, 256)
				q, c := manyReflectors(b, p), p.panel(b, m, n)
				must(b, p.d.Write(c, normal(m, n), m))
				p.time(b, func() error { return p.d.Reflect(q, true, []kernels.Panel{c}, n) })
			})
		}
		b.Run(fmt.Sprintf("join/m=%d", m), func(b *testing.B) {
			p := newPanels(b, mustOpen(b, 0), m, 256)
			q := manyReflectors(b, p)
			p.time(b, func() error { return p.d.Join(q) })
		})
	}
}

// time reports how long f takes on a copy of the matrix. Its first call, which allocates and loads what it
// needs, does not count.
func (p *panels) time(b *testing.B, f func() error) {
	var seconds float64
	must(b, p.d.Copy(p.a, p.from))
	must(b, f())
	must(b, p.d.Sync())
	for b.Loop() {
		must(b, p.d.Copy(p.a, p.from))
		from := p.d.mark(b)
		must(b, f())
		to := p.d.mark(b)
		must(b, p.d.Sync())
		seconds += p.d.between(b, from, to)
	}
	b.ReportMetric(seconds/float64(b.N)*1e6, "µs")
}
