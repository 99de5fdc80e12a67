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

// Trsm tests |X·R − B| ≤ 4(n+2)·u·|X|·|R|, and the same for Rᵀ, for lists of panels with few rows and with
// many, with graded columns in R. Each must have the same bits alone, and R not be read below the diagonal.
func Trsm(t *testing.T, b kernels.Backend) {
	for _, n := range []int{0, 1, 4, 33, 64, 130} {
		for _, e := range elements {
			for _, transposed := range []bool{false, true} {
				rnd := newRand(n)
				r := randomUpper(rnd, n)
				for j := range n {
					r.scaleColumn(j, math.Pow(10, 8*rnd.Float64()-4))
				}
				r = round(r, e)
				upper := r.clone()
				for j := range n {
					for i := j + 1; i < n; i++ {
						upper.set(i, j, math.NaN())
					}
				}
				q := place(t, b, upper, e)
				var x []matrix
				var together, alone []window
				for _, m := range []int{0, 1, 5, 300, 1000} {
					x = append(x, round(random(rnd, m, n), e))
					together = append(together, place(t, b, x[len(x)-1], e))
					alone = append(alone, place(t, b, x[len(x)-1], e))
				}
				must(t, b.Trsm(panels(together), q.Panel, transposed))
				right := r
				if transposed {
					right = r.transpose()
				}
				for i := range x {
					must(t, b.Trsm(panels(alone[i:i+1]), q.Panel, transposed))
					got := together[i].read()
					what := fmt.Sprintf("%d×%d, type %d, transposed %t", x[i].m, n, e, transposed)
					near(t, what, got.times(right), x[i], got.abs().times(right.abs()), 4*float64(n+2)*unit(e))
					equal(t, alone[i].read(), got)
				}
				q.read()
			}
		}
	}
}
