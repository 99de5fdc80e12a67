package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"jmpi/kernels"
)

// noiseTolerance is far above rounding errors, and far below the columns of the tests.
const noiseTolerance = 1e-11

// dependent returns matrices with columns that depend on others. What is left of them are rounding errors,
// some 1e-16; their noise is some 1e-11.
func dependent(m, n int) map[string]matrix {
	rnd := newRand(m)
	multiples, sums, small, tiny, copies := random(rnd, m, n), random(rnd, m, n), random(rnd, m, n),
		random(rnd, m, n), random(rnd, m, n)
	combine := func(x matrix, to, from int, f float64, other int) {
		for i := range m {
			x.set(i, to, f*x.at(i, from)+0.8*x.at(i, other))
		}
	}
	for j := 1; j < n; j += 3 {
		copy(multiples.column(j), multiples.column(j-1))
		multiples.scaleColumn(j, 0.625)
		copy(copies.column(j), copies.column(j-1))
	}
	for j := 2; j < n; j += 4 {
		combine(sums, j, j-2, 0.75, j-1)
	}
	for j, size := range map[int]float64{0: 1e-5, 3: 1e-4, 5: 1e-3} {
		small.scaleColumn(j, size)
		tiny.scaleColumn(j, size)
	}
	combine(small, n-1, 1, 0.5, 2)
	combine(small, n-2, 0, 1.5, 5) // itself small
	tiny.scaleColumn(4, 1e-19)     // shorter than the rounding errors of those that depend on others
	combine(tiny, n-1, 1, 0.5, 2)
	return map[string]matrix{"random": random(rnd, m, n), "multiples": multiples, "sums": sums, "small": small,
		"tiny": tiny, "copies": copies}
}

// Noise tests panels with columns that are nothing but noise, for all ways of dropping them.
func Noise(t *testing.T, b kernels.Backend) {
	for _, s := range []struct{ m, n int }{{60, 12}, {7, 12}, {150, 32}} {
		for kind, a := range dependent(s.m, s.n) {
			for _, longest := range []float64{0, 1e-13, math.Inf(1)} {
				for _, retain := range []bool{false, true} {
					for _, reach := range []float64{0, 1e-14, 1e-6} {
						for _, bound := range []float64{0, 1e-3} {
							o := panelOptions{errors: panelNoise(newRand(s.n), noiseTolerance, a)}
							o.Bound, o.Drop = bound, kernels.Dropping{Longest: longest, Retain: retain, Reach: reach}
							what := fmt.Sprintf("%d×%d, %s, bound %g, %+v", s.m, s.n, kind, bound, o.Drop)
							y, tr, r := factorPivoted(t, b, a, o)
							checkPivoted(t, what, a, y, tr, r, factorized(a, o))
						}
					}
				}
			}
		}
	}
	allNoise(t, b)
}

// allNoise tests panels of which the first column is noise already: it is taken where noise is not dropped,
// and no other one unless noise is retained.
func allNoise(t *testing.T, b kernels.Backend) {
	t.Helper()
	const n = 5
	a := random(newRand(3), 40, n)
	for j := range n {
		a.scaleColumn(j, 1/float64(1+j))
	}
	for _, c := range []struct {
		drop          kernels.Dropping
		count, zeroed int
	}{
		{kernels.Dropping{}, 1, 0}, {kernels.Dropping{Retain: true}, n, 0},
		{kernels.Dropping{Longest: math.Inf(1)}, 0, n}, {kernels.Dropping{Reach: 1e-14}, 0, n},
		{kernels.Dropping{Longest: 1e-14, Reach: 1e9}, 1, 0},
	} {
		o := panelOptions{errors: panelNoise(newRand(1), 100, a)}
		o.Drop = c.drop
		y, tr, r := factorPivoted(t, b, a, o)
		if r.Count != c.count || len(r.Noisy) != c.zeroed || r.Rank != 0 {
			t.Errorf("all columns are noise, %+v: %d were taken, %d became zero, rank %d, want %d, %d, 0", c.drop,
				r.Count, len(r.Noisy), r.Rank, c.count, c.zeroed)
		}
		checkPivoted(t, fmt.Sprintf("all noise, %+v", c.drop), a, y, tr, r, factorized(a, o))
	}
}
