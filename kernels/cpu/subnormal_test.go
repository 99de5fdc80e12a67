package cpu

import (
	"testing"
	"time"

	"jmpi/kernels"
)

// TestSubnormal tests that products and sums below the range of float32 take no longer than others: the
// processor must not go through the slow path that some have for them.
func TestSubnormal(t *testing.T) {
	const n, most = 384, 5
	d := mustOpen(t, 1, "")
	fill := func(x float32) kernels.Panel {
		p := kernels.Panel{M: n, N: n, Ld: n, Type: kernels.Float32}
		var err error
		if p.Data, err = d.Alloc(p.Bytes()); err != nil {
			t.Fatal(err)
		}
		for j := range n {
			for i, c := 0, columnOf[float32](p, j); i < n; i++ {
				c[i] = x
			}
		}
		return p
	}
	shortest := func(x float32) time.Duration {
		a, c, best := fill(x), fill(0), time.Hour
		for range 5 {
			begin := time.Now()
			if err := d.Gemm([]kernels.Gemm{{TransA: true, Alpha: 1, A: a, B: a, C: c}}); err != nil {
				t.Fatal(err)
			}
			if err := d.Syrk([]kernels.Panel{a}, []kernels.Panel{c}); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(begin))
		}
		return best
	}
	normal := shortest(1)
	for _, x := range []float32{1e-21, 1e-40} {
		if tiny := shortest(x); tiny > most*normal {
			t.Errorf("elements %g take %v, others %v", x, tiny, normal)
		}
	}
}
