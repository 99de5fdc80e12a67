package cuda

import (
	"fmt"
	"math"
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
func noise(m, n, bounds int) *kernels.PanelNoise {
	x := &kernels.PanelNoise{Columns: normal((bounds+1)*kernels.Samples, n)}
	for range bounds {
		rows := make([]float64, m)
		for i := range rows {
			rows[i] = 0x1p-48
		}
		x.Rows = append(x.Rows, rows)
	}
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
					o.Noise = noise(m, kernels.PivotedWidth, bounds)
				}
				p.time(b, func() error {
					found, err := p.d.FactorPivoted(p.a, p.q, o)
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
				p.time(b, func() error { return p.d.Reflect(p.q, true, list) })
			})
		}
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
