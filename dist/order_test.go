package dist

import (
	"flag"
	"math"
	"testing"

	"jmpi/dist/jacobi"
)

var decayingOrder = flag.Int("decaying", 96,
	"number of columns of the kernels of TestDecayingOrder, at most 512")

// Kernels of a larger order, with -decaying 512 in some minutes: the errors are below 3·ε·σ₁, but
// for what the stop rule leaves where half of the singular values are the largest, docs/numerics.md §11.
func TestDecayingOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("compares with many digits, which takes minutes with the race detector")
	}
	n := *decayingOrder
	limits := map[string]float64{
		"gauss-20":  3,
		"sinc-0.1":  3,
		"sinc-0.5":  3 + math.Sqrt(float64(n)/2)/8,
		"sinc-tall": 3 + math.Sqrt(float64(n)/2)/8,
	}
	for _, k := range decaying {
		limit, tested := limits[k.name]
		if !tested {
			continue
		}
		m, a := k.matrix(n)
		want := sigmaOf(t, m, n, a)
		o := find(t, a, 2, 1, Task{M: m, N: n, Settings: jacobi.Settings{Variant: jacobi.Full}})
		e, at := sigmaError(o.s, want)
		t.Logf("%s %d×%d, %s: %.1f ε·σ₁", k.name, m, n, o.Precondition.Used, e)
		if !(e <= limit) {
			t.Errorf("%s %d×%d: σ_%d is off by %.1f ε·σ₁, limit %.1f", k.name, m, n, at+1, e, limit)
		}
	}
}
