package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"jmpi/kernels"
)

// Potrf tests the factor, |RᵀR − A| ≤ 2(n+1)·u·√aᵢᵢ√aⱼⱼ, that the lower triangle is not read, and how many
// columns were factored where a pivot is not positive.
func Potrf(t *testing.T, b kernels.Backend) {
	factor := func(h matrix) (int, matrix) {
		upper := h.clone()
		for j := range h.n {
			for i := j + 1; i < h.n; i++ {
				upper.set(i, j, math.NaN())
			}
		}
		p := place(t, b, upper, kernels.Float64)
		done, err := b.Potrf(p.Panel)
		must(t, err)
		return done, p.read()
	}
	for _, n := range []int{0, 1, 2, 7, 33, 64, 130, 300} {
		a := random(newRand(n), 2*n+1, n)
		for j := range n {
			a.scaleColumn(j, math.Pow(10, -100*float64(j)/float64(n)))
		}
		h := a.gram()
		done, r := factor(h)
		if done != n {
			t.Fatalf("n = %d: %d columns were factored", n, done)
		}
		isFactor(t, "positive definite", r, h, 2*float64(n+1)*roundoff)
		for name, pivot := range map[string]func(x float64) float64{
			"negative": func(x float64) float64 { return -x }, "zero": func(float64) float64 { return 0 },
			"NaN": func(float64) float64 { return math.NaN() },
		} {
			for _, k := range []int{0, n / 2, n - 1} {
				if k < 0 || k >= n {
					continue
				}
				broken := h.clone()
				broken.set(k, k, pivot(h.at(k, k)))
				done, r := factor(broken)
				if done != k {
					t.Fatalf("n = %d, pivot %d %s: %d columns were factored", n, k, name, done)
				}
				isFactor(t, name, leading(r, k), leading(h, k), 2*float64(k+1)*roundoff)
			}
		}
	}
}

// leading returns the leading part of order k.
func leading(x matrix, k int) matrix {
	y := newMatrix(k, k)
	for j := range k {
		copy(y.column(j), x.column(j))
	}
	return y
}

// Trsm tests |X·R − B| ≤ 4(n+2)·u·|X|·|R|, and the same for Rᵀ, with graded columns in R, and that below the
// diagonal R is not read.
func Trsm(t *testing.T, b kernels.Backend) {
	for _, s := range []struct{ m, n int }{{0, 3}, {3, 0}, {1, 1}, {5, 4}, {300, 33}, {700, 130}} {
		for _, e := range elements {
			for _, transposed := range []bool{false, true} {
				rnd := newRand(s.m + s.n)
				r, x := randomUpper(rnd, s.n), random(rnd, s.m, s.n)
				for j := range s.n {
					r.scaleColumn(j, math.Pow(10, 8*rnd.Float64()-4))
				}
				r, x = round(r, e), round(x, e)
				upper := r.clone()
				for j := range s.n {
					for i := j + 1; i < s.n; i++ {
						upper.set(i, j, math.NaN())
					}
				}
				p, q := place(t, b, x, e), place(t, b, upper, e)
				must(t, b.Trsm(p.Panel, q.Panel, transposed))
				got := p.read()
				if transposed {
					r = r.transpose()
				}
				near(t, fmt.Sprintf("%d×%d, type %d, transposed %t", s.m, s.n, e, transposed), got.times(r), x,
					got.abs().times(r.abs()), 4*float64(s.n+2)*unit(e))
				q.read()
			}
		}
	}
}
