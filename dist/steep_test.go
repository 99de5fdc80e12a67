package dist

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"jmpi/internal/reference"
)

// steep returns a Gaussian matrix, m×n by columns, whose rows or columns are scaled by numbers that fall from
// 1 to 10^-decades, in random order; 0 decades: not scaled.
func steep(random *rand.Rand, m, n int, rows, columns float64) []float64 {
	factors := func(count int, decades float64) []float64 {
		f := make([]float64, count)
		for k, i := range random.Perm(count) {
			f[i] = math.Pow(10, -decades*float64(k)/float64(max(1, count-1)))
		}
		return f
	}
	r, c := factors(m, rows), factors(n, columns)
	a := make([]float64, m*n)
	for j := range n {
		for i := range m {
			a[i+j*m] = random.NormFloat64() * r[i] * c[j]
		}
	}
	return a
}

// Where sweeps in float32 are asked for, the singular values of graded matrices are as right as those of
// float64, however small they are: 1e-280 is not in the range of float32.
func TestFloat32Steep(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 24).Draw(rt, "n")
		m := n + rapid.SampledFrom([]int{0, 0, 1, 8, 3*n + 1}).Draw(rt, "m-n")
		decades := rapid.Float64Range(0, 280).Draw(rt, "decades")
		side := rapid.SampledFrom([]string{"rows", "columns", "both"}).Draw(rt, "side")
		rows, columns := decades, decades
		switch {
		case side == "rows":
			columns = 0
		case side == "columns":
			rows = 0
		default:
			rows, columns = decades/2, decades/2
		}
		a := steep(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)), m, n, rows, columns)
		want, err := reference.Sigma(a, m, n, m)
		if err != nil {
			rt.Fatal(err)
		}
		task := both(m, n)
		ranks := rapid.IntRange(1, 2).Draw(rt, "ranks")
		task.Precision = Float64
		exact, err := try(t, a, ranks, 1, task)
		if err != nil {
			rt.Fatal(err)
		}
		task.Precision = Float32
		o, err := try(t, a, ranks, 1, task)
		if err != nil {
			rt.Fatal(err)
		}
		off := func(s []float64) (worst float64) {
			for k, x := range want {
				worst = math.Max(worst, math.Abs(s[k]/x-1))
			}
			return worst
		}
		rt.Logf("%s %.4g: %g, float64 %g, %+v", side, decades, off(o.s), off(exact.s), o.Precision)
		if got := off(o.s); !(got <= 1e-11+4*off(exact.s)) {
			rt.Errorf("%d×%d %s to 1e-%.4g: sigma is off by %g, in float64 by %g (%+v)", m, n, side, decades,
				got, off(exact.s), o.Precision)
		}
		o.verify(rt, a, 10)
	})
}
