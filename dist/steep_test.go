package dist

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/internal/reference"
)

// steep returns a Gaussian matrix, m×n by columns, whose rows or columns are scaled by numbers that fall by
// so many decades, in random order; 0: not scaled. The largest are about 10^top.
func steep(random *rand.Rand, m, n int, rows, columns, top float64) []float64 {
	exponents := func(count int, decades float64) []float64 {
		e := make([]float64, count)
		for k, i := range random.Perm(count) {
			e[i] = -decades * float64(k) / float64(max(1, count-1))
		}
		return e
	}
	r, c := exponents(m, rows), exponents(n, columns)
	a := make([]float64, m*n)
	for j := range n {
		for i := range m {
			half := math.Pow(10, (top+r[i]+c[j])/2) // the whole may not be in the range of Pow
			a[i+j*m] = random.NormFloat64() * half * half
		}
	}
	return a
}

// verifyScaled is verify for a matrix whose largest numbers are about 10^top, which it overwrites.
func (o solved) verifyScaled(rt *rapid.T, a []float64, top float64) {
	_, e := math.Frexp(math.Pow(10, top)) // squares are to be in the range
	dense.Ldexp(a, -e)
	dense.Ldexp(o.s, -e)
	o.verify(rt, a, 10)
}

// Where columns, or rows of a square matrix, are in the range that float64 leaves to products, every singular
// value is right. The others are counted, also those that scaling by a power of two brings to zero, and what
// is larger than they is right all the same.
func TestOutOfRange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 24).Draw(rt, "n")
		m := n + rapid.SampledFrom([]int{0, 0, 1, 8, 3*n + 1, 1100}).Draw(rt, "m-n")
		decades := rapid.SampledFrom([]float64{1, 200, 270, 284, 290, 300, 310, 400, 600}).Draw(rt, "decades")
		levels := rapid.IntRange(2, n).Draw(rt, "levels")
		top := rapid.SampledFrom([]float64{300, 150, 0, -20}).Draw(rt, "top")
		rows := m == n && rapid.Bool().Draw(rt, "rows")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		exponents := make([]float64, n) // decimal ones, of the sizes
		for k, i := range random.Perm(n) {
			level := float64(k * levels / n)
			exponents[i] = top - decades*level/float64(levels-1)
		}
		a := make([]float64, m*n)
		for j := range n {
			for i := range m {
				x := random.NormFloat64()
				if i == j {
					x += float64(n)
				}
				e := exponents[j]
				if rows {
					e = exponents[i]
				}
				// In two steps, and no subnormal numbers: these have fewer digits.
				if a[i+j*m] = x * math.Pow(10, e/2) * math.Pow(10, e/2); math.Abs(a[i+j*m]) < 0x1p-1022 {
					a[i+j*m] = 0
				}
			}
		}
		want, err := reference.Sigma(a, m, n, m)
		if err != nil {
			rt.Fatal(err)
		}
		task := both(m, n)
		task.Block = rapid.SampledFrom([]int{0, 4}).Draw(rt, "block")
		task.Precondition = rapid.SampledFrom([]Preconditioner{AutoPreconditioner, QRCPLQ}).Draw(rt, "precondition")
		o, err := try(t, a, rapid.IntRange(1, 3).Draw(rt, "ranks"), 1, task)
		if err != nil {
			rt.Fatal(err)
		}
		if want := countTooSmall(a, m, n); o.OutOfRange != want {
			rt.Errorf("%+v, not %+v", o.OutOfRange, want)
		}
		for k, x := range want {
			if o.OutOfRange != (OutOfRange{}) && x < 0x1p-940*want[0] {
				break
			}
			if d := math.Abs(o.s[k] - x); !(d <= 1e-13*x) {
				rt.Errorf("%d×%d, rows %t, %g decades in %d steps: sigma %d is %g, not %g", m, n, rows, decades, levels,
					k+1, o.s[k], x)
			}
		}
		o.verifyScaled(rt, a, top)
	})
}

// The hyperbolic SVD of columns in that range holds. Beyond it there is one, or it is told that the sizes of
// the columns span too much.
func TestHyperbolicOutOfRange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 24).Draw(rt, "n")
		m := n + rapid.SampledFrom([]int{0, 1, 8, 3*n + 1}).Draw(rt, "m-n")
		decades := rapid.SampledFrom([]float64{1, 100, 200, 284, 290, 300, 310, 600}).Draw(rt, "decades")
		top := rapid.SampledFrom([]float64{300, 150, 0}).Draw(rt, "top")
		seed := rapid.Uint64().Draw(rt, "seed")
		a := steep(rand.New(rand.NewPCG(seed, 0)), m, n, 0, decades, top)
		task := signed(m, n, rapid.IntRange(1, n-1).Draw(rt, "positive"), seed)
		task.Block = rapid.SampledFrom([]int{0, 4}).Draw(rt, "block")
		o, err := try(t, a, rapid.IntRange(1, 3).Draw(rt, "ranks"), 1, task)
		small := countTooSmall(a, m, n).Columns
		if err != nil {
			var f *comm.Failure
			told := fmt.Sprintf("1e-286 times the largest, %d in all", small)
			if small == 0 || !errors.As(err, &f) || f.Kind != comm.NoDecomposition ||
				!strings.HasSuffix(f.Text, told) {
				rt.Fatalf("%d columns are out of range: %v", small, err)
			}
			return
		}
		if o.OutOfRange.Columns != small {
			rt.Errorf("%+v, not %d columns", o.OutOfRange, small)
		}
		o.verifyScaled(rt, a, top)
	})
}

// countTooSmall counts what OutOfRange does, by numbers of any range.
func countTooSmall(a []float64, m, n int) (o OutOfRange) {
	exponent := func(x float64) float64 { return math.Log2(math.Abs(x)) }
	count := func(outer, inner int, at func(i, j int) float64) (small int) {
		sizes, largest := make([]float64, outer), math.Inf(-1)
		for i := range sizes {
			sizes[i] = math.Inf(-1)
			for j := range inner {
				sizes[i] = max(sizes[i], exponent(at(i, j)))
			}
			largest = max(largest, sizes[i])
		}
		for _, x := range sizes {
			if !math.IsInf(x, -1) && x < largest-950 {
				small++
			}
		}
		return small
	}
	o.Columns = count(n, m, func(i, j int) float64 { return a[j+i*m] })
	if m == n {
		o.Rows = count(m, n, func(i, j int) float64 { return a[i+j*m] })
	}
	return o
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
		a := steep(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)), m, n, rows, columns, 0)
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
