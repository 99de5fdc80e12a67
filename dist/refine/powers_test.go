package refine

import (
	"math"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

// TestPowers tests that I + F is orthogonal up to rounding errors, at the largest norms that each order is
// for, and that it would not be with a lower order. The norms are estimated on the safe side.
func TestPowers(t *testing.T) {
	const n = 100
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	d := on(t, comm.NewLocal(1)[0], 1)
	s := &state{place: place{Exact: true}, random: ahead(n)}
	angles := func(size float64) []float64 {
		e := make([]float64, n*n)
		for j := range n {
			for i := range n {
				e[i+j*n] = size * (a[i+j*n] - a[j+i*n])
			}
		}
		return e
	}
	whole := 2 * math.Sqrt(2*n) // the 2-norm, nearly, if the size is 1
	if norm, err := s.estimate(load(t, d, n, n, angles(1))); err != nil || norm < whole || norm > 1.3*whole {
		t.Errorf("the norm, %.3g, is estimated as %.3g, error %v", whole, norm, err)
	}
	for _, c := range []struct {
		norm         float64
		order, lower int
	}{{firstOrder, 1, 0}, {secondOrder, 2, 1}, {fourthOrder, 4, 2}, {largestNorm, 8, 4}} {
		departure := func(order int) float64 {
			f := load(t, d, n, n, angles(c.norm/whole))
			must(t, s.powers(f, order, c.norm))
			w := elements(t, f)
			for j := range n {
				w[j*(n+1)]++
			}
			return disttest.Orthogonality(w, n, n)
		}
		if x := departure(c.order); !(x < 0.3) {
			t.Errorf("norm %g, order %d: I + F departs from orthogonality by %.2g", c.norm, c.order, x)
		}
		if c.lower == 0 {
			continue
		}
		if x := departure(c.lower); !(x > 1) {
			t.Errorf("norm %g: order %d would be enough, %.2g", c.norm, c.lower, x)
		}
	}
}
