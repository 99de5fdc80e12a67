package kerneltest

import (
	"math"
	"testing"

	"jmpi/kernels"
)

// Multiply tests G·T and V·T, |error| ≤ 2k·u·|G||T|, and that problems with Changed = 0 are left alone.
func Multiply(t *testing.T, b kernels.Backend) {
	eachBatch(t, func(t *testing.T, g []pivot) {
		rnd := newRand(len(g))
		for _, withV := range []bool{false, true} {
			var v []pivot
			var x []matrix
			for i := range g {
				k := g[i].p.n + g[i].q.n
				x = append(x, random(rnd, k, k))
				if withV { // V has another number of rows than G
					v = append(v, split(random(rnd, g[i].p.m/2+1, k), g[i].p.n))
				}
			}
			s := newBatch(t, b, g, v)
			s.setT(t, b, x)
			for i := range g {
				s.Tally[i] = kernels.Tally{Changed: int64(1 - i%3%2)} // problems 1, 4, … are not changed
			}
			must(t, b.Multiply(&s.Batch))
			for i := range g {
				product(t, g[i], x[i], s.p[i], s.q[i], s.Tally[i].Changed)
				if withV {
					product(t, v[i], x[i], s.vp[i], s.vq[i], s.Tally[i].Changed)
				}
				equal(t, s.tr[i].download(), x[i])
			}
		}
	})
}

func product(t *testing.T, g pivot, x matrix, p, q panel, changed int64) {
	t.Helper()
	if changed == 0 {
		equal(t, p.download(), g.p)
		equal(t, q.download(), g.q)
		return
	}
	a := g.join()
	got := pivot{p.download(), q.download()}.join()
	want, bound := a.times(x), a.abs().times(x.abs())
	for i := range want.a {
		if e := math.Abs(got.a[i] - want.a[i]); !(e <= 2*float64(a.n)*roundoff*bound.a[i]) {
			t.Fatalf("element %d of the product is %g, want %g", i, got.a[i], want.a[i])
		}
	}
}
