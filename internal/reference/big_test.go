package reference

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/internal/gen"
)

// newBig returns a number of the precision of the second opinion.
func newBig() *big.Float { return new(big.Float).SetPrec(1500) }

func dot(x, y []*big.Float) *big.Float {
	sum, term := newBig(), newBig()
	for i := range x {
		sum.Add(sum, term.Mul(x[i], y[i]))
	}
	return sum
}

// bigSigma returns the singular values, non-increasing, by the one-sided Jacobi method on the columns as they
// are. Its relative error is about 2⁻¹⁵⁰⁰ times the condition of the matrix: so many bits that nothing else
// is needed.
func bigSigma(t *testing.T, a []float64, m, n int) []*big.Float {
	t.Helper()
	columns := make([][]*big.Float, n)
	for j := range columns {
		for i := range m {
			columns[j] = append(columns[j], newBig().SetFloat64(a[i+j*m]))
		}
	}
	tolerance := newBig().SetMantExp(big.NewFloat(1), -400) // of the square of the cosine
	for range 60 {
		rotated := false
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotated = bigRotate(columns, p, q, tolerance) || rotated
			}
		}
		if rotated {
			continue
		}
		sigma := make([]*big.Float, n)
		for j, x := range columns {
			square := dot(x, x)
			sigma[j] = newBig().Sqrt(square)
		}
		slices.SortFunc(sigma, func(x, y *big.Float) int { return y.Cmp(x) })
		return sigma
	}
	t.Fatal("the 1500-bit Jacobi method does not converge")
	return nil
}

// bigRotate makes columns p and q orthogonal, the larger one first, and tells whether they were not.
func bigRotate(columns [][]*big.Float, p, q int, tolerance *big.Float) bool {
	a, b, g := dot(columns[p], columns[p]), dot(columns[q], columns[q]), dot(columns[p], columns[q])
	limit := newBig().Mul(a, b)
	if newBig().Mul(g, g).Cmp(limit.Mul(limit, tolerance)) <= 0 {
		return false
	}
	if a.Cmp(b) < 0 {
		columns[p], columns[q] = columns[q], columns[p]
		a, b = b, a
	}
	one := newBig().SetInt64(1)
	cot := newBig().Sub(b, a) // of twice the angle
	cot.Quo(cot, g.Add(g, g))
	root := newBig().Mul(cot, cot)
	root.Sqrt(root.Add(root, one))
	tan := newBig().Abs(cot)
	tan.Quo(one, tan.Add(tan, root))
	if cot.Sign() < 0 {
		tan.Neg(tan)
	}
	cos := newBig().Mul(tan, tan)
	cos.Quo(one, cos.Sqrt(cos.Add(cos, one)))
	term := newBig()
	for i, x := range columns[p] {
		y := columns[q][i]
		newX := newBig().Sub(x, term.Mul(tan, y))
		y.Add(y, term.Mul(tan, x))
		columns[p][i], columns[q][i] = newX.Mul(newX, cos), y.Mul(y, cos)
	}
	return true
}

// steep returns a number of random sign, up to 10^±decades.
func steep(random *rand.Rand, decades float64) float64 {
	x := math.Pow(10, decades*(2*random.Float64()-1))
	if random.IntN(2) == 0 {
		return -x
	}
	return x
}

// Every σ is the float64 number nearest to the truth, or next to it where that is near the middle of two:
// graded matrices, ill-conditioned ones, and those that no scaling makes well-conditioned.
func TestAgainst1500Bits(t *testing.T) {
	const n = 16
	random := rand.New(rand.NewPCG(1, 2))
	bidiagonal := func(decades float64) []float64 {
		a := make([]float64, n*n)
		for i := range n {
			a[i+i*n] = steep(random, decades)
			if i > 0 {
				a[i-1+i*n] = steep(random, decades)
			}
		}
		return a
	}
	full := func(decades float64) []float64 {
		a := make([]float64, n*n)
		for i := range a {
			a[i] = steep(random, decades)
		}
		return a
	}
	matrices := map[string][]float64{
		"hilbert":                     dense(t, "hilbert", gen.Options{Rows: n, Cols: n}),
		"kahan":                       dense(t, "kahan", gen.Options{Rows: n, Cols: n}),
		"bidiagonal over 60 decades":  bidiagonal(30),
		"bidiagonal over 200 decades": bidiagonal(100),
		"over 10 decades":             full(5),
		"over 60 decades":             full(30),
	}
	for _, kind := range []string{"graded-cols", "graded-rows", "graded-both"} {
		for _, cond := range []float64{1e20, 1e100} {
			a := dense(t, kind, gen.Options{Rows: n, Cols: n, Seed: 1, Cond: cond})
			matrices[fmt.Sprintf("%s to %g", kind, 1/cond)] = a
		}
	}
	const m = 200
	matrices["tall"] = dense(t, "graded-both", gen.Options{Rows: m, Cols: n, Seed: 1, Cond: 1e20})
	for name, a := range matrices {
		rows := len(a) / n
		got := sigma(t, a, rows, n, rows)
		for i, want := range bigSigma(t, a, rows, n) {
			if nearest, _ := want.Float64(); got[i] == nearest { // 0 where the truth is below the range
				continue
			}
			diff := newBig().Sub(newBig().SetFloat64(got[i]), want)
			if e, _ := diff.Quo(diff.Abs(diff), want).Float64(); !(e <= 0x1p-53*(1+0x1p-10)) {
				t.Errorf("%s: σ[%d] = %g, relative error %g", name, i, got[i], e)
			}
		}
	}
}
