package cuda

import (
	"slices"
	"testing"

	"jmpi/kernels"
)

// TestReflectAligned tests that panels at multiples of 16 bytes, of whole tiles or not, have the bits of
// panels beside them, which are copied 8 bytes at a time. The reflectors come from one kernel: for higher
// panels cuBLAS forms a part of T, and may choose a routine by the addresses.
func TestReflectAligned(t *testing.T) {
	d := mustOpen(t, 0)
	for _, s := range []struct{ m, k, n int }{{1024, 32, 256}, {1024, 32, 100}, {700, 20, 64}} {
		var want []float64
		for odd := range 2 {
			p := newPanels(t, d, s.m+2, s.k)
			a := p.a.Rows(odd, odd+s.m)
			must(t, d.Write(a, normal(s.m, s.k), s.m))
			q := kernels.Reflectors{Y: a, T: p.q.T}
			must(t, d.FactorPanel(a, q, p.r))
			c := p.panel(t, s.m+2, s.n).Rows(odd, odd+s.m)
			must(t, d.Write(c, normal(s.m, s.n), s.m))
			must(t, d.Reflect(q, true, []kernels.Panel{c}, 0))
			got := make([]float64, s.m*s.n)
			must(t, d.Read(got, s.m, c))
			if odd == 0 {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%+v: other bits", s)
			}
		}
	}
}
