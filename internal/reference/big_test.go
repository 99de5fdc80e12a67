package reference

import (
	"math/big"
	"slices"
	"testing"

	"jmpi/internal/gen"
)

// precision is the precision of the second opinion.
const precision = 256

func newBig() *big.Float { return new(big.Float).SetPrec(precision) }

func dot(x, y []*big.Float) *big.Float {
	sum, term := newBig(), newBig()
	for i := range x {
		sum.Add(sum, term.Mul(x[i], y[i]))
	}
	return sum
}

// bigSigma returns the singular values, non-increasing, by the one-sided Jacobi method on the columns as they
// are. Its relative error is about 2⁻²⁵⁶ times the condition of the matrix after its columns are scaled to norm 1: so many
// bits that nothing else is needed.
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
	t.Fatal("the 256-bit Jacobi method does not converge")
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

// big returns v, exactly.
func (v value) big() *big.Float {
	x := newBig().SetFloat64(v.Hi)
	return x.SetMantExp(x.Add(x, big.NewFloat(v.Lo)), v.exponent)
}

// Rows, columns, and both graded: every σ has 28 digits, in any order of the grading.
func TestAgainst256Bits(t *testing.T) {
	const n = 32
	for _, kind := range []string{"graded-cols", "graded-rows", "graded-both"} {
		for _, cond := range []float64{1e12, 1e20} {
			for _, sorted := range []bool{false, true} {
				a := dense(t, kind, gen.Options{Rows: n, Cols: n, Seed: 1, Cond: cond, Sorted: sorted})
				got, err := values(a, n, n, n)
				if err != nil {
					t.Fatal(err)
				}
				worst := 0.0
				for i, want := range bigSigma(t, a, n, n) {
					diff := newBig().Sub(got[i].big(), want)
					e, _ := diff.Quo(diff.Abs(diff), want).Float64()
					worst = max(worst, e)
				}
				t.Logf("%s, cond %g, sorted %t: relative error %.2g", kind, cond, sorted, worst)
				if !(worst <= 1e-28) {
					t.Errorf("%s, cond %g, sorted %t: relative error %g", kind, cond, sorted, worst)
				}
			}
		}
	}
}
