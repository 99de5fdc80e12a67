package cuda

import (
	"math"
	"slices"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// TestPanelsByProducts tests that products serve for panels as large as matrices are scaled to, and are not
// used where columns are equal: so many meetings tell.
func TestPanelsByProducts(t *testing.T) {
	const m, n, byProducts = 1000, 64, 4
	d := mustOpen(t, 0)
	for _, c := range []struct {
		exponent int
		equal    bool
	}{{400, false}, {0, false}, {-250, false}, {0, true}} {
		p := newPanels(t, d, m, n)
		a := normal(m, n)
		for i := range a {
			a[i] = math.Ldexp(a[i], c.exponent)
		}
		if c.equal {
			copy(a[m:2*m], a[:m])
		}
		must(t, d.Write(p.a, a, m))
		must(t, d.FactorPanel(p.a, p.q, p.r))
		b := d.scratch.buffers["letters of meetings"]
		words := int(b.bytes / kernels.WordBytes)
		letters := make([]float64, words)
		must(t, d.Read(letters, words, kernels.Panel{M: words, N: 1, Ld: words, Data: b.address}))
		last := math.Float64bits(slices.MaxFunc(letters, func(x, y float64) int {
			return int(math.Float64bits(x)>>32) - int(math.Float64bits(y)>>32)
		})) >> 32
		if meetings := int(last) - int(d.meetings.held-mostMeetings) + 1; (meetings > byProducts) != c.equal {
			t.Errorf("%+v: the blocks have met %d times", c, meetings)
		}
	}
}

// TestFewProcessors factors panels on so few multiprocessors that the slices of the rows are long, and panels
// whose slices have no room in shared memory.
func TestFewProcessors(t *testing.T) {
	d := mustOpen(t, 0)
	processors := d.processors
	for _, d.processors = range []int{1, 3} {
		kerneltest.FactorPanel(t, d)
		kerneltest.OneSign(t, d)
	}
	d.processors, d.shared = processors, 0
	kerneltest.FactorPivoted(t, d)
	kerneltest.SortedRows(t, d)
	kerneltest.Noise(t, d)
}
