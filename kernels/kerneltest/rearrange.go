package kerneltest

import (
	"math"
	"slices"
	"testing"

	"jmpi/kernels"
)

// denseShapes are shapes of panels, empty ones among them.
var denseShapes = []struct{ m, n int }{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 9}, {9, 1}, {7, 5}, {33, 64},
	{64, 33}, {257, 100}, {1001, 70}, {70, 1001}}

// Convert tests every pair of element types: rounding to nearest, ties to even, subnormal numbers, what is
// out of the range, and zeros with their signs.
func Convert(t *testing.T, b kernels.Backend) {
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1 + 0x1p-24, 1 + 0x3p-24,
		1 + 0x1p-24 + 0x1p-50, 0x1p-149, 0x1.8p-149, 0x1p-150, 0x1.000002p-130, 1e300, -1e39, 1e-300,
		0x1.fffffffp127, math.MaxFloat32}
	for _, s := range denseShapes {
		for _, from := range elements {
			for _, to := range elements {
				a := random(newRand(s.m), s.m, s.n)
				if s.m > 100 {
					copy(a.a, special)
				}
				a = round(a, from)
				src, dst := place(t, b, a, from), place(t, b, nan(s.m, s.n), to)
				must(t, b.Convert(dst.Panel, src.Panel))
				equal(t, dst.read(), round(a, to))
				equal(t, src.read(), a)
			}
		}
	}
	p := place(t, b, matrix{1, 1, []float64{math.NaN()}}, kernels.Float64)
	q := place(t, b, newMatrix(1, 1), kernels.Float32)
	must(t, b.Convert(q.Panel, p.Panel))
	if x := q.read().a[0]; x == x {
		t.Errorf("NaN becomes %g", x)
	}
}

// Zero tests that panels become zero, NaN in them too: one, all of a list, parts of one.
func Zero(t *testing.T, b kernels.Backend) {
	must(t, b.Zero())
	for _, e := range elements {
		var list []window
		var panels []kernels.Panel
		for _, s := range denseShapes {
			p := place(t, b, nan(s.m, s.n), e)
			must(t, b.Zero(p.Panel))
			equal(t, p.read(), newMatrix(s.m, s.n))
			list = append(list, place(t, b, nan(s.m, s.n), e))
			panels = append(panels, list[len(list)-1].Panel)
		}
		must(t, b.Zero(panels...))
		for i, s := range denseShapes {
			equal(t, list[i].read(), newMatrix(s.m, s.n))
		}
		a := round(random(newRand(7), 70, 50), e)
		p := place(t, b, a, e)
		panels = nil
		want := matrix{a.m, a.n, slices.Clone(a.a)}
		for j := 0; j < 50; j += 10 {
			panels = append(panels, p.Panel.Columns(j, j+7).Rows(j, j+7))
			for k := range 49 {
				want.a[j+k/7+(j+k%7)*a.m] = 0
			}
		}
		must(t, b.Zero(panels...))
		equal(t, p.read(), want)
	}
}

// Transpose tests dst ← srcᵀ, for one panel, for all of a list, and for parts of one.
func Transpose(t *testing.T, b kernels.Backend) {
	must(t, b.Transpose(nil, nil))
	var all, turned []kernels.Panel
	var results []func()
	for _, s := range denseShapes {
		a := random(newRand(s.m), s.m, s.n)
		src, dst := place(t, b, a, kernels.Float64), place(t, b, nan(s.n, s.m), kernels.Float64)
		must(t, b.Transpose([]kernels.Panel{dst.Panel}, []kernels.Panel{src.Panel}))
		equal(t, dst.read(), a.transpose())
		again := place(t, b, nan(s.n, s.m), kernels.Float64)
		all, turned = append(all, src.Panel), append(turned, again.Panel)
		results = append(results, func() {
			equal(t, again.read(), a.transpose())
			equal(t, src.read(), a)
		})
	}
	must(t, b.Transpose(turned, all))
	for _, result := range results {
		result()
	}
	const n = 90
	a := random(newRand(n), n, n)
	p, want := place(t, b, a, kernels.Float64), a.clone()
	all, turned = nil, nil
	for j := 0; j < n; j += 30 { // what is above the diagonal blocks is mirrored
		for i := range j {
			for l := j; l < j+30; l++ {
				want.a[l+i*n] = a.at(i, l)
			}
		}
		all = append(all, p.Panel.Columns(j, j+30).Rows(0, j))
		turned = append(turned, p.Panel.Columns(0, j).Rows(j, j+30))
	}
	must(t, b.Transpose(turned, all))
	equal(t, p.read(), want)
}

// Elements tests those of one panel, of all of a list, and of parts of one.
func Elements(t *testing.T, b kernels.Backend) {
	var list []kernels.Panel
	var all, parts []float64
	check := func(want []float64, p ...kernels.Panel) {
		t.Helper()
		got, err := b.Elements(p)
		if must(t, err); !slices.Equal(got, want) {
			t.Errorf("%d panels: other elements", len(p))
		}
	}
	check(nil)
	for _, s := range denseShapes {
		a := random(newRand(s.m), s.m, s.n)
		p := place(t, b, a, kernels.Float64).Panel
		check(a.a, p)
		list, all = append(list, p), append(all, a.a...)
	}
	check(all, list...)
	a := random(newRand(9), 70, 50)
	p := place(t, b, a, kernels.Float64).Panel
	list = nil
	for j := 0; j < 50; j += 10 {
		list = append(list, p.Columns(j, j+7).Rows(j+1, j+20))
		for k := range 7 {
			parts = append(parts, a.column(j + k)[j+1:j+20]...)
		}
	}
	check(parts, list...)
}

// GatherRows tests rows that are missing, and rows that come twice.
func GatherRows(t *testing.T, b kernels.Backend) {
	for _, s := range denseShapes {
		for _, rows := range []int{0, 1, s.m, 2*s.m + 3} {
			rnd := newRand(s.m + rows)
			a := random(rnd, s.m, s.n)
			from, want := make([]int, rows), newMatrix(rows, s.n)
			for i := range from {
				from[i] = rnd.IntN(s.m+2) - 2
				for j := 0; j < s.n && from[i] >= 0; j++ {
					want.set(i, j, a.at(from[i], j))
				}
			}
			src, dst := place(t, b, a, kernels.Float64), place(t, b, nan(rows, s.n), kernels.Float64)
			must(t, b.GatherRows(dst.Panel, src.Panel, from))
			equal(t, dst.read(), want)
			equal(t, src.read(), a)
		}
	}
}

// MoveColumns tests some columns from one panel to another, of any element types, and permutations and other
// moves within one.
func MoveColumns(t *testing.T, b kernels.Backend) {
	for _, e := range elements {
		for _, f := range elements {
			for _, s := range denseShapes {
				for _, count := range []int{0, s.n / 2, s.n} {
					moveColumns(t, b, s.m, s.n, count, e, f)
				}
			}
		}
	}
}

// moveColumns moves so many columns of m×n panels, of those of type f to those of type e.
func moveColumns(t *testing.T, b kernels.Backend, m, n, count int, e, f kernels.Element) {
	rnd := newRand(m + n)
	a, c := round(random(rnd, m, n), f), round(random(rnd, m, n+3), e)
	to, from := rnd.Perm(n + 3)[:count], make([]int, count)
	want := c.clone()
	for k := range from {
		from[k] = rnd.IntN(n)
		copy(want.column(to[k]), round(a, e).column(from[k]))
	}
	src, dst := place(t, b, a, f), place(t, b, c, e)
	must(t, b.MoveColumns(dst.Panel, to, src.Panel, from))
	equal(t, dst.read(), want)
	equal(t, src.read(), a)

	to, from, want = rnd.Perm(n)[:count], rnd.Perm(n)[:count], a.clone()
	for k := range from {
		copy(want.column(to[k]), a.column(from[k]))
	}
	must(t, b.MoveColumns(src.Panel, to, src.Panel, from))
	equal(t, src.read(), want)
}

// Scale tests (x·row)·column, in this order, bit by bit.
func Scale(t *testing.T, b kernels.Backend) {
	testFactors(t, b, b.Scale, func(x, f float64) float64 { return x * f })
}

// Divide tests divisors of rows and columns in the same way.
func Divide(t *testing.T, b kernels.Backend) {
	testFactors(t, b, b.Divide, func(x, f float64) float64 { return x / f })
}

// testFactors compares an operation with numbers for rows and columns, either or both, with f.
func testFactors(t *testing.T, b kernels.Backend, op func(p kernels.Panel, rows, columns []float64) error,
	f func(x, y float64) float64) {
	for _, s := range denseShapes {
		rnd := newRand(s.m)
		a, rows, columns := random(rnd, s.m, s.n), random(rnd, s.m, 1).a, random(rnd, s.n, 1).a
		for i := range rows {
			rows[i] *= math.Pow(10, 300*rnd.Float64()-150)
		}
		for _, c := range []struct{ rows, columns []float64 }{{nil, nil}, {rows, nil}, {nil, columns},
			{rows, columns}} {
			want := a.clone()
			for j := range s.n {
				for i := range s.m {
					x := a.at(i, j)
					if c.rows != nil {
						x = f(x, c.rows[i])
					}
					if c.columns != nil {
						x = f(x, c.columns[j])
					}
					want.set(i, j, x)
				}
			}
			p := place(t, b, a, kernels.Float64)
			must(t, op(p.Panel, c.rows, c.columns))
			equal(t, p.read(), want)
		}
	}
}

// Add tests the rounded sums bit by bit.
func Add(t *testing.T, b kernels.Backend) {
	for _, s := range denseShapes {
		rnd := newRand(s.m)
		x, y := random(rnd, s.m, s.n), random(rnd, s.m, s.n)
		p, q := place(t, b, x, kernels.Float64), place(t, b, y, kernels.Float64)
		must(t, b.Add(p.Panel, q.Panel))
		equal(t, p.read(), combine(1, x, 1, y))
		equal(t, q.read(), y)
	}
}

// Ldexp tests powers of two that are no numbers themselves, and results out of the range.
func Ldexp(t *testing.T, b kernels.Backend) {
	for _, s := range denseShapes {
		for _, e := range []int{0, 1, -3, 1000, -1000, 1023, 1024, 1100, 2000, -1074, -1075, -1100, -2000} {
			rnd := newRand(s.m)
			a := random(rnd, s.m, s.n)
			for i := range a.a {
				a.a[i] = math.Ldexp(a.a[i], rnd.IntN(2060)-1050)
			}
			p := place(t, b, a, kernels.Float64)
			must(t, b.Ldexp(p.Panel, e))
			got := p.read()
			for i, x := range a.a {
				want := math.Ldexp(x, e)
				if d := math.Abs(got.a[i] - want); got.a[i] != want && !(math.Abs(want) < 0x1p-1022 && d <= 0x1p-1074) {
					t.Fatalf("%g·2^%d is %g, want %g", x, e, got.a[i], want)
				}
			}
		}
	}
}

// Put tests whole panels and parts of them, small and large ones, and that what is put comes in the order of
// what is queued: after what was queued before, and before what is queued afterwards. The slice may change
// after the call.
func Put(t *testing.T, b kernels.Backend) {
	for _, s := range []struct{ m, n int }{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {7, 5}, {300, 200}, {1001, 333}} {
		p, x, want := upload(t, b, nan(s.m, s.n)), random(newRand(s.m), s.m, s.n), newMatrix(s.m, s.n)
		copy(want.a, x.a)
		must(t, b.Zero(p.Panel))
		must(t, b.Put(p.Panel, x.a))
		clear(x.a)
		must(t, b.Ldexp(p.Panel, 1))
		if s.m > 2 && s.n > 2 {
			must(t, b.Put(p.Rows(1, s.m-1).Columns(1, s.n-1), x.a))
		}
		for j := range s.n {
			for i := range s.m {
				want.set(i, j, 2*want.at(i, j))
				if i > 0 && i < s.m-1 && j > 0 && j < s.n-1 {
					want.set(i, j, 0)
				}
			}
		}
		equal(t, p.download(), want)
	}
	p, want := upload(t, b, newMatrix(1000, 100)), newMatrix(1000, 100) // more than is on its way at a time
	for k := range 20 {
		x := nan(1000, 100)
		for i := range x.a {
			x.a[i] = float64(i + k)
		}
		must(t, b.Put(p.Panel, x.a))
		copy(want.a, x.a)
	}
	equal(t, p.download(), want)
}
