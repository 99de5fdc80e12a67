package kerneltest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/kernels"
)

// Angles compares the primitive with its definition: the angles bit by bit, and what it tells of them. The
// columns of a matrix come in three panels, not in their order; those of one panel give the same bits alone.
func Angles(t *testing.T, b kernels.Backend) {
	for _, n := range []int{0, 1, 2, 31, 33, 100, 257, 1001} {
		c, norms := manyCosines(newRand(n), n)
		for _, o := range []kernels.AngleOptions{{Tolerance: 1e-9, Limits: []float64{1e-2}},
			{Limits: []float64{math.Inf(1)}}, {Tolerance: 1e-9, Limits: []float64{1e-2}, Write: true},
			{Tolerance: 1e-9, Limits: []float64{1e-4, 1e-3, 1e-2, 0.1}}, {Limits: []float64{0, 1e-5, 1e-3}},
			{Tolerance: 0.5, Limits: []float64{1e-2, 1e-3}, Write: true}} {
			var list []window
			var first []int
			for _, cut := range [][2]int{{n / 3, n / 2}, {0, n / 3}, {n / 2, n}} {
				first = append(first, cut[0])
				list = append(list, place(t, b, matrix{n, cut[1] - cut[0], c.a[cut[0]*n : cut[1]*n]}, kernels.Float64))
			}
			reading := kernels.AngleOptions{Tolerance: o.Tolerance, Limits: o.Limits}
			want := kernels.Angles{Within: make([]kernels.Within, len(o.Limits))}
			var elements []matrix
			for k, w := range list {
				e, some := anglesOf(c, norms, first[k], w.N, o)
				alone, err := b.Angles(panels(list[k:k+1]), first[k:k+1], norms, reading)
				must(t, err)
				sameAngles(t, alone, some)
				want.Join(some)
				for l := range want.Within {
					want.Within[l].Left = append(want.Within[l].Left, some.Within[l].Left...)
				}
				elements = append(elements, e)
			}
			got, err := b.Angles(panels(list), first, norms, o)
			must(t, err)
			sameAngles(t, got, want)
			for k, w := range list {
				equal(t, w.read(), elements[k])
			}
		}
	}
	odd := newMatrix(40, 40)
	odd.set(39, 7, math.NaN())
	for _, limits := range [][]float64{{1}, {1, 2}} {
		o := kernels.AngleOptions{Tolerance: 1, Limits: limits}
		p := place(t, b, odd, kernels.Float64).Panel
		with, err := b.Angles([]kernels.Panel{p}, []int{0}, ones(40).a[:40], o)
		must(t, err)
		rest := []kernels.Panel{p.Columns(0, 7), p.Columns(8, 40)}
		without, err := b.Angles(rest, []int{0, 8}, ones(40).a[:40], o)
		must(t, err)
		for l := range limits {
			if x, y := with.Within[l].Sum, without.Within[l].Sum; x == x || y != 0 {
				t.Errorf("limit %g: sums with and without NaN are %g and %g", limits[l], x, y)
			}
		}
	}
}

// Departures tests several panels at a time, bit by bit. What is below the diagonal is not read.
func Departures(t *testing.T, b kernels.Backend) {
	var list []window
	var want []matrix
	for _, n := range []int{0, 1, 2, 33, 300} {
		p := random(newRand(n), n, n)
		s := p.clone()
		for j := range n {
			s.set(j, j, (p.at(j, j)-1)/2)
			for i := j + 1; i < n; i++ {
				p.set(i, j, math.NaN())
				s.set(i, j, 0)
			}
		}
		list, want = append(list, place(t, b, p, kernels.Float64)), append(want, s)
	}
	must(t, b.Departures(panels(list)))
	for k, w := range list {
		equal(t, w.read(), want[k])
	}
}

// manyCosines returns a matrix whose elements have many sizes, and norms, of which some are equal, and some
// nearly.
func manyCosines(rnd *rand.Rand, n int) (c matrix, norms []float64) {
	c, norms = random(rnd, n, n), make([]float64, n)
	for j := range n {
		switch norms[j] = math.Pow(10, 200*rnd.Float64()-100); {
		case j%5 == 1:
			norms[j] = norms[j-1]
		case j%5 == 2:
			norms[j] = norms[j-1] * (1 + 0x1p-30*rnd.Float64())
		}
		for i := range n {
			c.set(i, j, c.at(i, j)*math.Pow(10, -15*rnd.Float64()))
			if j > 64 && i < 64 || rnd.IntN(9) == 0 { // pieces that are not active
				c.set(i, j, 1e-10*rnd.Float64())
			}
		}
	}
	return c, norms
}

// anglesOf is Angles of some columns of c: their elements afterwards, and what is found.
func anglesOf(c matrix, norms []float64, first, columns int, o kernels.AngleOptions) (e matrix,
	a kernels.Angles) {
	for _, limit := range o.Limits {
		var w kernels.Within
		e = matrix{c.m, columns, append([]float64{}, c.a[first*c.m:(first+columns)*c.m]...)}
		a.Cosine, a.Active, w = anglesWithin(e, norms, first, o.Tolerance, limit)
		a.Within = append(a.Within, w)
	}
	if !o.Write {
		copy(e.a, c.a[first*c.m:])
	}
	return e, a
}

// anglesWithin puts the angles up to a limit in the place of the cosines of some columns.
func anglesWithin(e matrix, norms []float64, first int, tolerance, limit float64) (cosine float64, active int,
	w kernels.Within) {
	pieces := map[[2]int]bool{}
	for j := range e.n {
		sum, low, high := 0.0, e.m, -1
		for i := range e.m {
			x, turn := e.at(i, j), 0.0
			if i != first+j {
				cosine = math.Max(cosine, math.Abs(x))
			}
			if i != first+j && math.Abs(x) > tolerance {
				pieces[[2]int{i / kernels.PivotSide, j / kernels.PivotSide}] = true
				small, big := min(norms[i], norms[first+j]), max(norms[i], norms[first+j])
				r := small / big
				turn = r * x / ((big - small) / big * (1 + r))
				if norms[first+j] <= norms[i] {
					turn = -turn
				}
				if math.Abs(turn) > limit {
					low, high, turn = min(low, i), i, 0
				}
				w.Largest = math.Max(w.Largest, math.Abs(turn))
				sum += math.Abs(turn)
			}
			e.set(i, j, turn)
		}
		w.Sum, w.Left = math.Max(w.Sum, sum), append(w.Left, [2]int32{int32(low), int32(high)})
	}
	return cosine, len(pieces), w
}

// sameAngles compares what was found with what is expected. Sums may have another order.
func sameAngles(t *testing.T, got, want kernels.Angles) {
	t.Helper()
	if !same(got.Cosine, want.Cosine) || got.Active != want.Active || len(got.Within) != len(want.Within) {
		t.Fatalf("cosine %g, %d active, %d limits; want %g, %d, %d", got.Cosine, got.Active, len(got.Within),
			want.Cosine, want.Active, len(want.Within))
	}
	for l, w := range want.Within {
		x := got.Within[l]
		if !same(x.Largest, w.Largest) || x.Sum != w.Sum && !(math.Abs(x.Sum-w.Sum) <= 1e-12*w.Sum) {
			t.Fatalf("limit %d: angles up to %g, sums up to %g; want %g, %g", l, x.Largest, x.Sum, w.Largest, w.Sum)
		}
		if !slices.Equal(x.Left, w.Left) {
			t.Fatalf("limit %d: other rows are left out", l)
		}
	}
}
