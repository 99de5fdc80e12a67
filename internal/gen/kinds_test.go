package gen

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

func TestGaussAndUniformMoments(t *testing.T) {
	n := 200
	for _, c := range []struct {
		kind     string
		variance float64
	}{{"gauss", 1}, {"uniform", 1. / 3}} {
		x := dense(t, matrix(t, c.kind, Options{Rows: int64(n), Cols: int64(n), Seed: 3}))
		mean, variance := stat.MeanVariance(x, nil)
		// Five standard deviations of the mean and of the variance of n² samples.
		if math.Abs(mean) > 5/float64(n) || math.Abs(variance-c.variance) > 5*math.Sqrt2/float64(n) {
			t.Errorf("%s: mean %g, variance %g, want 0, %g", c.kind, mean, variance, c.variance)
		}
		if c.kind == "uniform" && (floats.Max(x) >= 1 || floats.Min(x) < -1) {
			t.Errorf("uniform: entries from %g to %g", floats.Min(x), floats.Max(x))
		}
	}
}

// The σ that are told are those of the matrix as it is stored, rounding included.
func TestPrescribedSigmaAgainstReference(t *testing.T) {
	for _, kind := range []string{"geometric", "arithmetic"} {
		for _, shape := range [][2]int64{{48, 48}, {60, 31}, {31, 60}, {1, 5}, {5, 1}} {
			m, n := shape[0], shape[1]
			a := matrix(t, kind, Options{Rows: m, Cols: n, Seed: 11})
			k := int(min(m, n))
			if len(a.Sigma) != k {
				t.Fatalf("%s %d×%d: %d singular values", kind, m, n, len(a.Sigma))
			}
			if a.Sigma[0] != 1 || k > 1 && math.Abs(a.Sigma[k-1]-1e-4) > 1e-18 {
				t.Errorf("%s %d×%d: σ from %g to %g, want 1 to 1e-4", kind, m, n, a.Sigma[0], a.Sigma[k-1])
			}
			x := dense(t, a)
			bound := 0x1p-53 * floats.Norm(a.Sigma, 2) // Weyl
			for i, want := range referenceSigma(t, x, int(m), int(n)) {
				if math.Abs(a.Sigma[i]-want) > bound {
					t.Errorf("%s %d×%d: σ[%d] = %.17g, stored matrix has %.17g", kind, m, n, i, a.Sigma[i], want)
				}
			}
			if m > 1 && n > 1 && slices.Index(x, 0) >= 0 {
				t.Errorf("%s %d×%d has zero entries", kind, m, n)
			}
		}
	}
}

func TestSigmaIsNotToldWhereItIsNotKnown(t *testing.T) {
	for _, kind := range []string{"geometric", "arithmetic"} {
		o := Options{Rows: 30, Cols: 30, Cond: 1e8}
		a := matrix(t, kind, o)
		if a.Sigma != nil {
			t.Errorf("%s with condition 1e8 tells σ", kind)
		}
		got := referenceSigma(t, dense(t, a), 30, 30)
		if e := math.Abs(got[29] - 1e-8); e > 1e-15 || e < 1e-20 {
			t.Errorf("%s: smallest σ %.17g, want 1e-8 to absolute accuracy", kind, got[29])
		}
	}
	for _, kind := range []string{"gauss", "uniform", "graded-cols", "graded-rows", "graded-both", "hilbert",
		"kahan", "lowrank", "spectrum1", "spectrum3"} {
		if a := matrix(t, kind, Options{Rows: 20, Cols: 20}); a.Sigma != nil {
			t.Errorf("%s tells σ", kind)
		}
	}
}

func TestGradings(t *testing.T) {
	const m, n, cond = 40, 30, 1e12
	for _, c := range []struct {
		kind       string
		rows, cols bool
	}{{"graded-cols", false, true}, {"graded-rows", true, false}, {"graded-both", true, true}} {
		for _, sorted := range []bool{true, false} {
			a := dense(t, matrix(t, c.kind, Options{Rows: m, Cols: n, Seed: 2, Cond: cond, Sorted: sorted}))
			for _, side := range []struct {
				graded bool
				norms  []float64
			}{{c.cols, norms(a, n, m, 1, m)}, {c.rows, norms(a, m, n, m, 1)}} {
				lo, hi := floats.Min(side.norms), floats.Max(side.norms)
				if side.graded != (hi/lo > cond/100) {
					t.Errorf("%s: norms from %g to %g", c.kind, lo, hi)
				}
				decreasing := true
				for i := range side.norms[3:] {
					decreasing = decreasing && side.norms[i+3] < side.norms[i]
				}
				if side.graded && decreasing != sorted {
					t.Errorf("%s, sorted %v: norms %.1e", c.kind, sorted, side.norms)
				}
			}
		}
	}
}

// norms returns the norms of count vectors of the given length: vector i starts at i·next, its
// elements lie step apart.
func norms(a []float64, count, length, step, next int) []float64 {
	result := make([]float64, count)
	for i := range result {
		for l := range length {
			result[i] = math.Hypot(result[i], a[i*next+l*step])
		}
	}
	return result
}

func TestHilbertAndKahan(t *testing.T) {
	const n = 12
	h := dense(t, matrix(t, "hilbert", Options{Rows: n, Cols: n}))
	if h[0] != 1 || h[1] != 0.5 || h[3+4*n] != 0.125 {
		t.Errorf("hilbert: %g %g %g", h[0], h[1], h[3+4*n])
	}
	k := dense(t, matrix(t, "kahan", Options{Rows: n, Cols: n}))
	// Column j has the norm 1: c²·(1 + s² + … + s^(2j−2)) + s^2j = 1 with s² + c² = 1.
	for j := range n {
		column := k[j*n : (j+1)*n]
		if norm := floats.Norm(column, 2); math.Abs(norm-1) > 1e-15 {
			t.Errorf("kahan: column %d has norm %.17g", j, norm)
		}
		if slices.ContainsFunc(column[:j], func(x float64) bool { return x >= 0 }) ||
			floats.Norm(column[j+1:], 1) != 0 {
			t.Errorf("kahan: column %d is %v", j, column)
		}
	}
}

func TestLowRankIsExact(t *testing.T) {
	for _, c := range []struct{ m, n, rank, want int64 }{{40, 30, 7, 7}, {30, 40, 1, 1}, {33, 20, 0, 5},
		{6, 6, 6, 6}} {
		a := dense(t, matrix(t, "lowrank", Options{Rows: c.m, Cols: c.n, Rank: c.rank, Seed: 4}))
		sigma := referenceSigma(t, a, int(c.m), int(c.n))
		if sigma[c.want-1] < 1e-3*sigma[0] {
			t.Errorf("%+v: σ_r = %g", c, sigma[c.want-1])
		}
		if rest := sigma[c.want:]; len(rest) > 0 && rest[0] != 0 {
			t.Errorf("%+v: σ_(r+1) = %g", c, rest[0])
		}
	}
}
