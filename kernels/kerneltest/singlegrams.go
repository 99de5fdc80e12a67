package kerneltest

import (
	"testing"

	"jmpi/kernels"
)

// singleGrams tests what is known of the products of the columns of P, and of Q: Gram gives the right
// products whether it is or not, and takes it where pivots are of the usual width; what a pivot leaves agrees
// with its columns, or is not known.
func singleGrams(t *testing.T, b kernels.Backend) {
	if !b.Limits().Float32.Grams {
		t.Skip("the products of block-columns are not kept")
	}
	const tolerance = 2e-5 // of a pivot that turns columns by large angles
	const short = 1e-3     // length of a column that becomes short: its direction has larger errors
	for n, x := range []struct {
		m, p, q int
		taken   bool
	}{{300, 64, 64, true}, {4100, 64, 64, true}, {700, 40, 50, true}, {1111, 63, 64, true}, {64, 33, 32, false},
		{300, 17, 30, false}, {70, 1, 6, false}, {40, 9, 0, false}} {
		t.Run(shapeName(x.m, x.p, x.q), func(t *testing.T) {
			rnd := newRand(300 + n)
			var g []pivot
			var norms [][]float64
			for i := range 3 {
				a := random(rnd, x.m, x.p+x.q)
				if i == 1 && x.q > 1 { // columns that become short
					for r := range a.m {
						a.set(r, a.n-1, a.at(r, 0)+short*a.at(r, a.n-1))
					}
				}
				unit, d := normed(a)
				g, norms = append(g, split(unit, x.p)), append(norms, d)
			}
			s := newSingles(t, b, g, norms, nil)
			var known [][2]window
			for range g {
				w := [2]window{place(t, b, newMatrix(x.p, x.p), kernels.Float32),
					place(t, b, newMatrix(x.q, x.q), kernels.Float32)}
				known = append(known, w)
				s.Single.Grams = append(s.Single.Grams, kernels.Pivot{P: w[0].Panel, Q: w[1].Panel})
			}
			// right compares R, and what is known, with the products of the columns of G.
			right := func(what string, afresh bool) {
				t.Helper()
				h := *s.Single
				h.Afresh = afresh
				batch := s.Batch
				batch.Single = &h
				must(t, b.Gram(&batch))
				must(t, b.Sync())
				for i := range g {
					a := pivot{s.p[i].read(), s.q[i].read()}
					got, want := s.r[i].read(), a.join().gram()
					bound := tolerance
					if i == 1 {
						bound /= short
					}
					near(t, what+": R", got, want, ones(want.n), bound)
					equal(t, got, got.transpose())
					for side, part := range []matrix{a.p, a.q} {
						if k := known[i][side].read(); len(k.a) > 0 && k.a[0] != 0 {
							near(t, what+": known", k, part.gram(), ones(part.n), bound)
						}
					}
				}
			}
			right("nothing is known", false)
			right("all is known", false)
			for i := range g {
				must(t, b.Copy(known[i][0].Panel, place(t, b, ones(x.p).plus(6), kernels.Float32).Panel))
			}
			right("formed anew", true)
			if x.taken {
				for i := range g {
					k := known[i][1].read()
					k.set(1, 1, 0.75)
					must(t, b.Copy(known[i][1].Panel, place(t, b, k, kernels.Float32).Panel))
				}
				must(t, b.Gram(&s.Batch))
				must(t, b.Sync())
				for i := range g {
					if got := s.r[i].read().at(x.p+1, x.p+1); got != 0.75 {
						t.Errorf("problem %d: what is known was not taken: %g", i, got)
					}
				}
				right("formed anew again", true)
			}
			for range 3 {
				step(t, b, &s.Batch, kernels.JacobiOptions{Schedule: schedules(x.p + x.q)[0], MaxSweeps: 1})
				if s.Tally[0].Changed == 0 {
					t.Error("nothing was rotated")
				}
				right("after a pivot", false)
			}
		})
	}
}
