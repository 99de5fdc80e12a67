package kerneltest

import (
	"math"
	"math/rand/v2"
	"testing"

	"jmpi/kernels"
)

// Angles compares the primitive with its definition: the angles bit by bit, and what it tells of them. The
// columns of a matrix come in three panels, not in their order; those of one panel give the same bits alone.
func Angles(t *testing.T, b kernels.Backend) {
	for _, n := range []int{0, 1, 2, 31, 33, 100, 257, 1001} {
		c, norms := manyCosines(newRand(n), n)
		for _, o := range []kernels.AngleOptions{{Tolerance: 1e-9, Limit: 1e-2}, {Limit: math.Inf(1)},
			{Tolerance: 1e-9, Limit: 1e-2, Write: true}, {Tolerance: 0.5, Limit: 1e-3, Write: true}} {
			var list []window
			var first []int
			for _, cut := range [][2]int{{n / 3, n / 2}, {0, n / 3}, {n / 2, n}} {
				first = append(first, cut[0])
				list = append(list, place(t, b, matrix{n, cut[1] - cut[0], c.a[cut[0]*n : cut[1]*n]}, kernels.Float64))
			}
			alone, err := b.Angles(panels(list[2:]), first[2:], norms, kernels.AngleOptions{Tolerance: o.Tolerance,
				Limit: o.Limit})
			must(t, err)
			got, err := b.Angles(panels(list), first, norms, o)
			must(t, err)
			before := 0
			for k, w := range list {
				e, want := anglesOf(c, norms, first[k], w.N, o)
				got.Active -= want.Active
				equal(t, w.read(), e)
				sameAngles(t, got, before, want)
				before += w.N
			}
			sameNumbers(t, "sums of a panel alone", got.Sum[before-list[2].N:], alone.Sum)
			if got.Active != 0 {
				t.Errorf("n = %d, tolerance %g: %d pieces too many", n, o.Tolerance, got.Active)
			}
		}
	}
	odd := newMatrix(40, 40)
	odd.set(39, 7, math.NaN())
	got, err := b.Angles([]kernels.Panel{place(t, b, odd, kernels.Float64).Panel}, []int{0}, ones(40).a[:40],
		kernels.AngleOptions{Tolerance: 1, Limit: 1})
	must(t, err)
	if got.Sum[7] == got.Sum[7] || got.Sum[6] != 0 {
		t.Errorf("sums with and without NaN are %g and %g", got.Sum[7], got.Sum[6])
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
	e = matrix{c.m, columns, append([]float64{}, c.a[first*c.m:(first+columns)*c.m]...)}
	pieces := map[[2]int]bool{}
	for j := range columns {
		cosine, largest, sum, low, high := 0.0, 0.0, 0.0, c.m, -1
		for i := range c.m {
			x, turn := e.at(i, j), 0.0
			if i != first+j {
				cosine = math.Max(cosine, math.Abs(x))
			}
			if i != first+j && math.Abs(x) > o.Tolerance {
				pieces[[2]int{i / kernels.PivotSide, j / kernels.PivotSide}] = true
				small, big := min(norms[i], norms[first+j]), max(norms[i], norms[first+j])
				r := small / big
				turn = r * x / ((big - small) / big * (1 + r))
				if norms[first+j] <= norms[i] {
					turn = -turn
				}
				if math.Abs(turn) > o.Limit {
					low, high, turn = min(low, i), i, 0
				}
				largest = math.Max(largest, math.Abs(turn))
				sum += math.Abs(turn)
			}
			if o.Write {
				e.set(i, j, turn)
			}
		}
		a.Cosine, a.Largest, a.Sum = append(a.Cosine, cosine), append(a.Largest, largest), append(a.Sum, sum)
		a.Low, a.High = append(a.Low, low), append(a.High, high)
	}
	a.Active = len(pieces)
	return e, a
}

// sameAngles compares what was found in columns with what is expected from column `from` of them on. Sums may
// have another order.
func sameAngles(t *testing.T, got kernels.Angles, from int, want kernels.Angles) {
	t.Helper()
	for j := range want.Sum {
		k := from + j
		if k >= len(got.Sum) || !same(got.Cosine[k], want.Cosine[j]) || !same(got.Largest[k], want.Largest[j]) ||
			got.Low[k] != want.Low[j] || got.High[k] != want.High[j] ||
			got.Sum[k] != want.Sum[j] && !(math.Abs(got.Sum[k]-want.Sum[j]) <= 1e-12*want.Sum[j]) {
			t.Fatalf("column %d of %d: found otherwise than %g, %g, %g, %d, %d", k, len(got.Sum), want.Cosine[j],
				want.Largest[j], want.Sum[j], want.Low[j], want.High[j])
		}
	}
}
