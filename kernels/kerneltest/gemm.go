package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"jmpi/kernels"
)

// Gemm tests products of graded matrices, |error| ≤ 2(k+2)·u·(|α|·|A|·|B| + |β|·|C|), with all
// transpositions, in a list, and that each has the same bits alone.
func Gemm(t *testing.T, b kernels.Backend) {
	shapes := []struct{ m, n, k int }{{0, 3, 2}, {3, 0, 2}, {3, 4, 0}, {1, 1, 1}, {5, 7, 3}, {33, 65, 17},
		{300, 20, 257}, {9, 100, 600}, {40, 530, 30}}
	for _, e := range elements {
		for mode := range 4 {
			for _, f := range []struct{ alpha, beta float64 }{{1, 0}, {-1, 1}, {0.75, -2}} {
				t.Run(fmt.Sprintf("type%d/%d/%g,%g", e, mode, f.alpha, f.beta), func(t *testing.T) {
					rnd := newRand(mode)
					var list, single []kernels.Gemm
					var a, bb, c []matrix
					var inputs, together, alone []window
					for _, s := range shapes {
						x, y, z := random(rnd, s.m, s.k), random(rnd, s.k, s.n), random(rnd, s.m, s.n)
						decades := 16.0
						if e == kernels.Float32 {
							decades = 6
						}
						for l := range s.k { // the terms of a sum are of all sizes
							x.scaleColumn(l, math.Pow(10, decades*(rnd.Float64()-0.5)))
						}
						for i := range s.m {
							for l := range s.k {
								x.set(i, l, x.at(i, l)*math.Pow(10, decades*float64(i%7)/7-decades/2))
							}
						}
						x, y, z = round(x, e), round(y, e), round(z, e)
						a, bb, c = append(a, x), append(bb, y), append(c, z)
						g := kernels.Gemm{TransA: mode&1 > 0, TransB: mode&2 > 0, Alpha: f.alpha, Beta: f.beta}
						if g.TransA {
							x = x.transpose()
						}
						if g.TransB {
							y = y.transpose()
						}
						if f.beta == 0 {
							z = nan(s.m, s.n)
						}
						p, q := place(t, b, x, e), place(t, b, y, e)
						inputs = append(inputs, p, q)
						together, alone = append(together, place(t, b, z, e)), append(alone, place(t, b, z, e))
						g.A, g.B, g.C = p.Panel, q.Panel, together[len(together)-1].Panel
						list = append(list, g)
						g.C = alone[len(alone)-1].Panel
						single = append(single, g)
					}
					must(t, b.Gemm(list))
					for i := range shapes {
						must(t, b.Gemm(single[i:i+1]))
						got := together[i].read()
						want, bound := combine(f.alpha, a[i].times(bb[i]), f.beta, c[i]),
							combine(math.Abs(f.alpha), a[i].abs().times(bb[i].abs()), math.Abs(f.beta), c[i].abs())
						near(t, fmt.Sprint(shapes[i]), got, want, bound, 2*float64(shapes[i].k+2)*unit(e))
						equal(t, alone[i].read(), got)
					}
					for _, w := range inputs {
						w.read()
					}
				})
			}
		}
	}
	must(t, b.Gemm(nil))
}

// combine returns α·x + β·y.
func combine(alpha float64, x matrix, beta float64, y matrix) matrix {
	z := newMatrix(x.m, x.n)
	for i := range z.a {
		z.a[i] = alpha*x.a[i] + beta*y.a[i]
	}
	return z
}

// Syrk tests |error| ≤ 2(m+2)·u·|A|ᵀ|A| for a list, that C is symmetric bit by bit, and that each has the
// same bits alone.
func Syrk(t *testing.T, b kernels.Backend) {
	for _, e := range elements {
		var a []matrix
		var inputs, together, alone []window
		for _, s := range []struct{ m, n int }{{0, 3}, {3, 0}, {1, 1}, {7, 5}, {300, 33}, {20, 257}, {65, 530},
			{1100, 33}, {3000, 130}, {2500, 64}, {1025, 1}} {
			rnd := newRand(s.m)
			x := random(rnd, s.m, s.n)
			for j := range s.n {
				x.scaleColumn(j, math.Pow(10, 6*rnd.Float64()-3))
			}
			a = append(a, round(x, e))
			inputs = append(inputs, place(t, b, a[len(a)-1], e))
			together = append(together, place(t, b, nan(s.n, s.n), e))
			alone = append(alone, place(t, b, nan(s.n, s.n), e))
		}
		must(t, b.Syrk(panels(inputs), panels(together)))
		for i, x := range a {
			must(t, b.Syrk(panels(inputs[i:i+1]), panels(alone[i:i+1])))
			got, at := together[i].read(), x.transpose()
			near(t, fmt.Sprintf("%d×%d, type %d", x.m, x.n, e), got, at.times(x), at.abs().times(x.abs()),
				2*float64(x.m+2)*unit(e))
			equal(t, got.transpose(), got)
			equal(t, alone[i].read(), got)
			equal(t, inputs[i].read(), x)
		}
	}
	must(t, b.Syrk(nil, nil))
}
