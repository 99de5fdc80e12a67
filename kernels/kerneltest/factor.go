package kerneltest

import (
	"math"
	"testing"

	"jmpi/kernels"
)

// Gram tests the Gram matrices against plain sums, |error| ≤ 2m·u·|P Q|ᵀ|P Q|, and that they are symmetric.
func Gram(t *testing.T, b kernels.Backend) {
	eachBatch(t, func(t *testing.T, g []pivot) {
		s := newBatch(t, b, g, nil)
		must(t, b.Gram(&s.Batch))
		for i := range g {
			a := g[i].join()
			got, want, bound := s.r[i].download(), a.gram(), a.abs().gram()
			for j := range a.n {
				for l := range a.n {
					if e := math.Abs(got.at(l, j) - want.at(l, j)); !(e <= 2*float64(a.m)*roundoff*bound.at(l, j)) {
						t.Fatalf("problem %d: h(%d,%d) = %g, want %g", i, l, j, got.at(l, j), want.at(l, j))
					}
					if !same(got.at(l, j), got.at(j, l)) {
						t.Fatalf("problem %d: h(%d,%d) is not h(%d,%d)", i, l, j, j, l)
					}
				}
			}
			equal(t, s.p[i].download(), g[i].p)
			equal(t, s.q[i].download(), g[i].q)
		}
	})
}

// Cholesky tests the factor, |RᵀR − H| ≤ 2(k+1)·u·√hᵢᵢ√hⱼⱼ, and the rule by which it breaks down.
func Cholesky(t *testing.T, b kernels.Backend) {
	rnd := newRand(2)
	for _, k := range []int{1, 2, 7, 16, 33, 64, 95} {
		ok := random(rnd, 3*k+2, k)
		graded := ok.clone()
		for j := range k {
			graded.scaleColumn(j, math.Pow(10, -130*float64(j)/float64(k)))
		}
		zero, double, tiny := ok.clone(), ok.clone(), ok.clone()
		zero.scaleColumn(k/2, 0)
		copy(double.column(k-1), double.column(0))
		tiny.scaleColumn(k-1, 1e-140)
		infinite, undefined := ok.gram(), ok.gram()
		infinite.set(k-1, k-1, math.Inf(1))
		undefined.set(0, 0, math.NaN())
		cases := []struct {
			name   string
			h      matrix
			broken int64
		}{
			{"random", ok.gram(), 0}, {"graded", graded.gram(), 0}, {"zero column", zero.gram(), 1},
			{"duplicate column", double.gram(), 1}, {"tiny column", tiny.gram(), 1},
			{"infinite", infinite, 1}, {"NaN", undefined, 1},
		}
		if k == 1 {
			cases[3].broken = 0 // a single column has no double
		}
		var hs []matrix
		for _, c := range cases {
			hs = append(hs, c.h)
		}
		s := newFactors(t, b, hs)
		for i := range s.Tally {
			s.Tally[i] = kernels.Tally{Rotations: 3, Proper: 2, Changed: 1, Broken: 1}
		}
		must(t, b.Cholesky(&s.Batch))
		must(t, b.Sync())
		for i, c := range cases {
			want := kernels.Tally{Broken: c.broken}
			if k == 1 {
				want.Inactive = 1 - c.broken // a single column is orthogonal to all others
			}
			if counters(s.Tally[i]) != want {
				t.Errorf("k = %d, %s: tally %+v, want %+v", k, c.name, s.Tally[i], want)
			}
			if want == (kernels.Tally{}) {
				isFactor(t, c.name, s.r[i].download(), c.h, 2*float64(k+1)*roundoff)
			}
		}
	}
}

// QR tests the factor of columns whose scale a Gram matrix would lose: zero, duplicate, from 1 to
// 1e-150 and beyond. Every column is divided by a power of two near its norm before RᵀR is compared
// with the Gram matrix.
func QR(t *testing.T, b kernels.Backend) {
	eachBatch(t, func(t *testing.T, g []pivot) {
		s := newBatch(t, b, g, nil)
		before := s.r[0].download()
		for i := range s.Tally {
			s.Tally[i].Broken = int64(1)
		}
		s.Tally[0].Broken = 0
		must(t, b.QR(&s.Batch))
		for i := 1; i < len(g); i++ {
			checkQR(t, g[i].join(), s.r[i].download())
			equal(t, s.p[i].download(), g[i].p)
			equal(t, s.q[i].download(), g[i].q)
		}
		for j, v := range s.r[0].download().a { // not broken, so not touched
			if !same(v, before.a[j]) {
				t.Fatalf("R of a problem that is not broken was changed to %g", v)
			}
		}
	})
}

func checkQR(t *testing.T, a, r matrix) {
	t.Helper()
	for j := range r.n {
		for i := min(j+1, a.m); i < r.m; i++ {
			if r.at(i, j) != 0 {
				t.Fatalf("r(%d,%d) = %g below the diagonal or row m", i, j, r.at(i, j))
			}
		}
		norm := kernels.Norm2(a.column(j))
		if norm == 0 {
			continue
		}
		_, e := math.Frexp(norm)
		for _, x := range []matrix{a, r} {
			x.scaleColumn(j, math.Ldexp(1, -e/2))
			x.scaleColumn(j, math.Ldexp(1, -(e-e/2)))
		}
	}
	want, got := a.gram(), r.gram()
	for i := range want.a {
		if e := math.Abs(got.a[i] - want.a[i]); !(e <= 8*float64(a.m+a.n)*roundoff) {
			t.Fatalf("RᵀR(%d) = %g, AᵀA = %g, columns normalised", i, got.a[i], want.a[i])
		}
	}
}

// isFactor tests that r is upper triangular with a positive diagonal and |rᵀr − h| ≤ tol·√hᵢᵢ√hⱼⱼ.
func isFactor(t *testing.T, name string, r, h matrix, tol float64) {
	t.Helper()
	k := h.n
	for j := range k {
		if !(r.at(j, j) > 0) {
			t.Fatalf("k = %d, %s: r(%d,%d) = %g", k, name, j, j, r.at(j, j))
		}
		for i := j + 1; i < k; i++ {
			if r.at(i, j) != 0 {
				t.Fatalf("k = %d, %s: r(%d,%d) = %g", k, name, i, j, r.at(i, j))
			}
		}
	}
	got := r.gram()
	for j := range k {
		for i := range k {
			if e := math.Abs(got.at(i, j) - h.at(i, j)); !(e <= tol*math.Sqrt(h.at(i, i))*math.Sqrt(h.at(j, j))) {
				t.Fatalf("k = %d, %s: RᵀR(%d,%d) = %g, want %g", k, name, i, j, got.at(i, j), h.at(i, j))
			}
		}
	}
}

// eachBatch calls f with batches of every size and shape; among the problems of a batch are some
// with a zero column, a duplicate column, and graded columns.
func eachBatch(t *testing.T, f func(t *testing.T, g []pivot)) {
	for n, s := range shapes {
		for _, size := range batchSizes {
			if size == 7 && s.m > 300 {
				continue
			}
			t.Run(shapeName(s.m, s.p, s.q), func(t *testing.T) {
				rnd := newRand(100*n + size)
				var g []pivot
				for i := range size {
					a := random(rnd, s.m, s.p+s.q-i%2*min(1, s.q)) // widths differ within the batch, too
					switch i % 7 {
					case 1, 5:
						for j := range a.n {
							a.scaleColumn(j, math.Pow(10, -150*float64(j)/float64(a.n)))
						}
					case 2:
						a.scaleColumn(a.n/2, 0)
					case 3:
						copy(a.column(a.n-1), a.column(0))
					case 4:
						a.scaleColumn(0, 1e-170)
					}
					g = append(g, split(a, s.p))
				}
				f(t, g)
			})
		}
	}
}
