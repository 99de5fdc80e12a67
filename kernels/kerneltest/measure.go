package kerneltest

import (
	"math"
	"math/big"
	"testing"

	"jmpi/kernels"
)

// Lengths tests the norms of the columns of several panels, near the ends of the range too, and that those of
// one panel have the same bits alone.
func Lengths(t *testing.T, b kernels.Backend) {
	scales := []float64{1, 0, 0x1p-449, 0x1p-451, 0x1p-540, 0x1p-1000, 0x1p-1060, 0x1p499, 0x1p501, 0x1p1000}
	var all []matrix
	var list []window
	for _, s := range denseShapes {
		a := random(newRand(s.m), s.m, s.n)
		for j := range s.n {
			a.scaleColumn(j, scales[(j+s.m)%len(scales)])
		}
		all, list = append(all, a), append(list, place(t, b, a, kernels.Float64))
	}
	got, err := b.Lengths(panels(list))
	must(t, err)
	var alone []float64
	for i := range list {
		lengths, err := b.Lengths(panels(list[i : i+1]))
		must(t, err)
		alone = append(alone, lengths...)
		equal(t, list[i].read(), all[i])
	}
	sameNumbers(t, "panels alone", alone, got)
	for _, a := range all {
		for j := range a.n {
			want := exactNorm(a.column(j))
			tol := float64(a.m+4)*roundoff*want + 0x1p-1074
			if len(got) == 0 || !(math.Abs(got[0]-want) <= tol) {
				t.Fatalf("%d×%d: length of column %d: %v, want %g", a.m, a.n, j, got[:min(1, len(got))], want)
			}
			got = got[1:]
		}
	}
	if len(got) > 0 {
		t.Errorf("%d numbers too many", len(got))
	}
	odd := newMatrix(100, 4)
	odd.set(99, 0, math.Inf(-1))
	odd.set(50, 1, math.NaN())
	odd.set(3, 2, math.NaN())
	odd.set(70, 2, math.Inf(1))
	got, err = b.Lengths(panels([]window{place(t, b, odd, kernels.Float64)}))
	must(t, err)
	for j, x := range got[:3] {
		if x <= math.MaxFloat64 {
			t.Errorf("a column with NaN or an infinity, number %d, has length %g", j, x)
		}
	}
}

// exactNorm returns ‖x‖₂, rounded once.
func exactNorm(x []float64) float64 {
	sum := new(big.Float).SetPrec(300)
	for _, e := range x {
		y := new(big.Float).SetPrec(300).SetFloat64(e)
		sum.Add(sum, y.Mul(y, y))
	}
	norm, _ := sum.Sqrt(sum).Float64()
	return norm
}

// Maxima tests RowMaxima and ColumnMaxima, which round one division: zeros over zeros and NaN do not count,
// infinities do.
func Maxima(t *testing.T, b kernels.Backend) {
	for _, s := range denseShapes {
		rnd := newRand(s.m + 3*s.n)
		a, sizes := random(rnd, s.m, s.n), random(rnd, s.n, 1).abs().a
		for i := range a.a {
			switch rnd.IntN(5) {
			case 0:
				a.a[i] = 0
			case 1:
				a.a[i] *= math.Pow(10, 200*rnd.Float64()-100)
			}
		}
		if s.m > 5 && s.n > 5 {
			for i := range s.m {
				a.set(i, 2, 0)
			}
			for j := range s.n {
				a.set(3, j, 0)
			}
			a.set(1, 1, math.NaN())
			a.set(4, 4, math.Inf(-1))
			sizes[2] = 0
		}
		for _, weights := range [][]float64{nil, sizes} {
			want := make([]float64, s.m)
			for i := range s.m {
				for j := range s.n {
					x := math.Abs(a.at(i, j))
					if weights != nil && x > 0 {
						x /= weights[j]
					}
					if x > want[i] {
						want[i] = x
					}
				}
			}
			p, q := place(t, b, a, kernels.Float64), place(t, b, a.transpose(), kernels.Float64)
			got, err := b.RowMaxima(p.Panel, weights)
			must(t, err)
			sameNumbers(t, "RowMaxima", got, want)
			got, err = b.ColumnMaxima(q.Panel, weights)
			must(t, err)
			sameNumbers(t, "ColumnMaxima", got, want)
			p.read()
			q.read()
		}
	}
}

// Leads tests that the first of several largest elements is found, and its sign.
func Leads(t *testing.T, b kernels.Backend) {
	for _, s := range denseShapes {
		rnd := newRand(s.m)
		a, want := random(rnd, s.m, s.n), make([]float64, s.n)
		for j := range s.n {
			c := a.column(j)
			switch j % 4 {
			case 0:
				clear(c)
			case 1: // as few numbers as there are ties
				for i := range c {
					c[i] = float64(rnd.IntN(5) - 2)
				}
			case 2:
				if s.m > 0 {
					c[rnd.IntN(s.m)] = math.NaN()
				}
			}
			for _, x := range c {
				if math.Abs(x) > math.Abs(want[j]) {
					want[j] = x
				}
			}
		}
		got, err := b.Leads(place(t, b, a, kernels.Float64).Panel)
		must(t, err)
		sameNumbers(t, "Leads", got, want)
	}
}
