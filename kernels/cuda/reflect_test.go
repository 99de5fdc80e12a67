package cuda

import (
	"slices"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
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

// TestReflectWide tests that many columns, for which large tiles of products are formed, have the bits of
// few.
func TestReflectWide(t *testing.T) {
	d := mustOpen(t, 0)
	d.processors = 16
	for _, s := range []struct{ m, k, n int }{{1024, 256, 2048}, {1001, 150, 3333}} {
		p := newPanels(t, d, s.m, s.k)
		q := manyReflectors(t, p)
		if r := newReflection(q.Y, s.n, false); !d.wideSums(r, 1, s.n) || d.wideSums(r, 1, 60) {
			t.Errorf("%+v: the kernels are not those of the test", s)
		}
		got := [][]float64{make([]float64, s.m*s.n), make([]float64, s.m*s.n)}
		for i, width := range []int{s.n, 60} {
			c := p.panel(t, s.m, s.n)
			must(t, d.Write(c, normal(s.m, s.n), s.m))
			for j := 0; j < s.n; j += width {
				must(t, d.Reflect(q, true, []kernels.Panel{c.Columns(j, min(j+width, s.n))}, s.n))
			}
			must(t, d.Read(got[i], s.m, c))
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%+v: other bits", s)
		}
	}
}

// manyReflectors factors p.a panel by panel, and joins the reflectors.
func manyReflectors(t testing.TB, p *panels) kernels.Reflectors {
	t.Helper()
	q := kernels.Reflectors{Y: p.q.Y, T: p.q.T}
	must(t, p.d.Copy(p.a, p.from))
	must(t, p.d.Zero(q.Y))
	must(t, p.d.Zero(q.T))
	must(t, kerneltest.FactorJoined(p.d, p.a, q))
	return q
}
