package dist

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/internal/reference"
	"jmpi/kernels"
)

// fewBits rounds the elements of a column to 2⁻²⁴ of the longest, so that sums with columns of
// about its size are exact.
func fewBits(x []float64) {
	unit := 0.0
	for _, e := range x {
		unit = max(unit, math.Abs(e))
	}
	_, exponent := math.Frexp(unit)
	for i, e := range x {
		x[i] = math.Ldexp(math.RoundToEven(math.Ldexp(e, 24-exponent)), exponent-24)
	}
}

// gradings are sizes of n columns, from 1 to 1/cond.
var gradings = map[string]func(j, n int, cond float64) float64{
	"even": func(j, n int, cond float64) float64 { return math.Pow(cond, -float64(j)/float64(n-1)) },
	"step": func(j, n int, cond float64) float64 {
		if 2*j < n {
			return 1
		}
		return 1 / cond
	},
	"late": func(j, n int, cond float64) float64 {
		if 4*j < 3*n {
			return 1
		}
		return math.Pow(cond, -float64(4*j-3*n+1)/float64(n))
	},
}

// dependents make the i-th dependent column x of n independent ones, of which the sizes decrease.
// Sums have no column in common but where they are the same: a sum with another one in it would
// have the errors of that.
var dependents = map[string]func(random *rand.Rand, column func(j int) []float64, n, i int, x []float64){
	"copies": func(random *rand.Rand, column func(j int) []float64, n, i int, x []float64) {
		copy(x, column(random.IntN(n)))
	},
	"scaled": func(random *rand.Rand, column func(j int) []float64, n, i int, x []float64) {
		f := math.Ldexp(1, random.IntN(81)-40)
		for l, e := range column(random.IntN(n)) {
			x[l] = f * e
		}
	},
	"sums": func(random *rand.Rand, column func(j int) []float64, n, i int, x []float64) {
		j := i % (n / 2) * 2
		a, b := column(j), column(j+1)
		if kernels.Norm2(a) > 1024*kernels.Norm2(b) { // the sum would have rounding errors as long as b
			b = a
		}
		for l := range x {
			x[l] = a[l] + b[l]
		}
	},
}

// dependentColumns returns an m×n matrix of some rank, its columns in random order: independent ones of sizes
// from 1 to 1/cond, and dependent ones.
func dependentColumns(seed uint64, m, n, rank int, grading, kind string, cond float64) []float64 {
	random := rand.New(rand.NewPCG(seed, 2))
	order := random.Perm(n)
	a := make([]float64, m*n)
	column := func(j int) []float64 { return a[order[j]*m : (order[j]+1)*m] }
	for j := range n {
		x := column(j)
		if j >= rank {
			dependents[kind](random, column, rank, j-rank, x)
			continue
		}
		f := math.Exp2(math.Round(math.Log2(gradings[grading](j, rank, cond))))
		for i := range x {
			x[i] = f * random.NormFloat64()
		}
		fewBits(x)
	}
	return a
}

// Dependent columns of a grading leave smaller ones as they are: every singular value keeps its
// relative accuracy.
func TestDependentColumnsOfGrading(t *testing.T) {
	if testing.Short() {
		t.Skip("compares with many digits, which takes minutes with the race detector")
	}
	seed := uint64(0)
	for _, c := range []struct {
		m, n, rank int
		conds      []float64
	}{
		{48, 48, 36, []float64{1e12, 1e20, 1e60}},
		{40, 32, 16, []float64{1e12, 1e20, 1e60}},
		{80, 70, 50, []float64{1e20}}, // three panels
		{400, 24, 17, []float64{1e20}},
	} {
		for _, grading := range slices.Sorted(maps.Keys(gradings)) {
			for _, kind := range slices.Sorted(maps.Keys(dependents)) {
				for _, cond := range c.conds {
					seed++
					a := dependentColumns(seed, c.m, c.n, c.rank, grading, kind, cond)
					what := fmt.Sprintf("%d×%d of rank %d, %s, %s to %g", c.m, c.n, c.rank, kind, grading, 1/cond)
					testDependentColumns(t, what, c.m, c.n, c.rank, a)
				}
			}
		}
	}
}

func testDependentColumns(t *testing.T, what string, m, n, rank int, a []float64) {
	want, err := reference.Sigma(a, m, n, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []int{1, 3} {
		o := find(t, a, ranks, 1, both(m, n))
		if o.Rank.Value != rank || want[rank-1] == 0 || slices.Max(o.s[rank:]) != 0 {
			t.Errorf("%s, on %d: rank %+v, σ = … %g", what, ranks, o.Rank, o.s[rank-1:])
		}
		for k, x := range want[:rank] {
			if e := math.Abs(o.s[k]-x) / x; !(e <= 1e-12) {
				t.Fatalf("%s, on %d: σ_%d has a relative error of %.2g", what, ranks, k+1, e)
			}
		}
		o.verify(t, a, 4)
	}
}
