package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"jmpi/kernels"
)

// panelShapes are shapes of panels that are factored.
var panelShapes = []struct{ m, n int }{{0, 3}, {3, 0}, {1, 1}, {1, 5}, {5, 1}, {7, 7}, {9, 20}, {40, 13},
	{65, 64}, {64, 64}, {300, 31}, {1001, 64}, {4200, 64}}

// panelKinds returns matrices that are hard to factor, by name.
func panelKinds(m, n int) map[string]matrix {
	rnd := newRand(m + n)
	graded, equal, zeros := random(rnd, m, n), random(rnd, m, n), random(rnd, m, n)
	near := random(rnd, m, n) // so near to each other that squares have few of their digits
	small, upper := newMatrix(m, n), newMatrix(m, n)
	for k, j := range rnd.Perm(n) {
		graded.scaleColumn(j, math.Pow(10, 400*float64(k)/float64(n)-200))
		copy(equal.column(j), equal.column(0))
		near.scaleColumn(j, math.Pow(2, -float64(k)/4))
		if j%5 == 0 || j == n-1 {
			zeros.scaleColumn(j, 0)
		}
		if m > 0 {
			upper.set(min(j, m-1), j, -3)
		}
	}
	for j := range n {
		for i, x := range near.column(0) {
			if j > 0 {
				near.set(i, j, near.at(i, j)+x)
			}
		}
	}
	for i := range small.a {
		small.a[i] = float64(rnd.IntN(3) - 1)
	}
	return map[string]matrix{"random": random(rnd, m, n), "graded": graded, "equal": equal, "near": near,
		"zero columns": zeros, "integers": small, "upper": upper}
}

// FactorPanel tests that Q is orthogonal to a few u, that each column of Q·[R; 0] is that of A to some u of
// its own norm, and that the bits are the same where Y takes the memory of A, or R does.
func FactorPanel(t *testing.T, b kernels.Backend) {
	for _, s := range panelShapes {
		for kind, a := range panelKinds(s.m, s.n) {
			what := fmt.Sprintf("%d×%d, %s", s.m, s.n, kind)
			y, tr, r := factorPanel(t, b, a, nowhere)
			checkReflectors(t, what, y, tr)
			checkFactored(t, what, y, tr, r, a)
			for _, into := range []inPlace{reflectorsInPlace, factorInPlace} {
				y2, tr2, r2 := factorPanel(t, b, a, into)
				equal(t, y2, y)
				equal(t, tr2, tr)
				equal(t, r2, r)
			}
		}
	}
}

// inPlace says what takes the memory of the panel that is factored.
type inPlace int

const (
	nowhere inPlace = iota
	reflectorsInPlace
	factorInPlace
)

// factorPanel returns Y, T and R of a.
func factorPanel(t *testing.T, b kernels.Backend, a matrix, into inPlace) (y, tr, r matrix) {
	t.Helper()
	k := min(a.m, a.n)
	p, py := place(t, b, a, kernels.Float64), place(t, b, nan(a.m, k), kernels.Float64)
	pt, pr := place(t, b, nan(k, k), kernels.Float64), place(t, b, nan(k, k), kernels.Float64)
	q, factor := kernels.Reflectors{Y: py.Panel, T: pt.Panel}, pr.Panel
	switch into {
	case reflectorsInPlace:
		q.Y = p.Panel.Columns(0, k)
	case factorInPlace:
		factor = p.Panel.Columns(0, k).Rows(0, k)
	}
	must(t, b.FactorPanel(p.Panel, q, factor))
	left := p.read()
	switch into {
	case reflectorsInPlace:
		return matrix{a.m, k, left.a[:a.m*k]}, pt.read(), pr.read()
	case factorInPlace:
		r = newMatrix(k, k)
		for j := range k {
			copy(r.column(j), left.column(j))
			for i := k; i < a.m; i++ {
				if x := left.at(i, j); x != 0 {
					t.Fatalf("%d×%d: there is %g at (%d,%d) below R", a.m, a.n, x, i, j)
				}
			}
		}
		return py.read(), pt.read(), r
	}
	return py.read(), pt.read(), pr.read()
}

// checkReflectors tests that Y is unit lower trapezoidal and T upper triangular, and that Q = I − Y·T·Yᵀ is
// orthogonal: QᵀQ − I = −Y·S·Yᵀ with S = T + Tᵀ − TᵀYᵀY·T, and no column of Y is longer than √2 where its
// reflector is not the identity.
func checkReflectors(t *testing.T, what string, y, tr matrix) {
	t.Helper()
	for j := range y.n {
		for i, x := range y.column(j) {
			if i < j && x != 0 || i == j && x != 1 || !(math.Abs(x) <= 1+4*roundoff) {
				t.Fatalf("%s: Y has %g at (%d,%d)", what, x, i, j)
			}
		}
		for i := j + 1; i < tr.m; i++ {
			if tr.at(i, j) != 0 {
				t.Fatalf("%s: T has %g at (%d,%d)", what, tr.at(i, j), i, j)
			}
		}
	}
	g := inner(y, y)
	back := inner(tr, g.times(tr))
	for j := range tr.n {
		for i := range tr.n {
			if s := tr.at(i, j) + tr.at(j, i) - back.at(i, j); !(math.Abs(s) <= reflectorError(tr.n)) {
				t.Fatalf("%s: T + Tᵀ − TᵀYᵀY·T is %.1f u at (%d,%d)", what, s/roundoff, i, j)
			}
		}
	}
}

// reflectorError is what k reflectors may be off, relative to a norm: some u each.
func reflectorError(k int) float64 { return float64(4*k+20) * roundoff }

// checkFactored tests that Q·[R; 0] is a in its first columns, as many as R has, column by column.
func checkFactored(t *testing.T, what string, y, tr, r, a matrix) {
	t.Helper()
	full := newMatrix(y.m, r.n)
	for j := range r.n {
		copy(full.column(j), r.column(j))
		for i := j + 1; i < r.m; i++ {
			if r.at(i, j) != 0 {
				t.Fatalf("%s: R has %g at (%d,%d)", what, r.at(i, j), i, j)
			}
		}
	}
	closeColumns(t, what+": Q·R", reflected(y, tr, false, full), a, reflectorError(r.n))
}

// closeColumns tests ‖got_j − want_j‖ ≤ tol·‖want_j‖ for the columns of got.
func closeColumns(t *testing.T, what string, got, want matrix, tol float64) {
	t.Helper()
	for j := range got.n {
		d := make([]float64, got.m)
		for i := range d {
			d[i] = got.at(i, j) - want.at(i, j)
		}
		norm := kernels.Norm2(want.column(j))
		if e := kernels.Norm2(d); !(e <= tol*norm) {
			t.Fatalf("%s: column %d is off by %.1f u, bound %.1f u", what, j, e/norm/roundoff, tol/roundoff)
		}
	}
}

// inner returns xᵀ·y, its sums formed in twice the precision.
func inner(x, y matrix) matrix {
	z := newMatrix(x.n, y.n)
	for j := range y.n {
		for i := range x.n {
			sum, low := 0.0, 0.0
			for l, e := range x.column(i) {
				f := y.at(l, j)
				p := e * f
				s, d := kernels.TwoSum(sum, p)
				sum, low = s, low+d+math.FMA(e, f, -p)
			}
			z.set(i, j, sum+low)
		}
	}
	return z
}

// reflected returns (I − Y·T·Yᵀ)·c, or its transpose times c.
func reflected(y, tr matrix, transposed bool, c matrix) matrix {
	if transposed {
		tr = tr.transpose()
	}
	return combine(1, c, -1, y.times(tr.times(inner(y, c))))
}

func placeReflectors(t *testing.T, b kernels.Backend, y, tr matrix) kernels.Reflectors {
	t.Helper()
	return kernels.Reflectors{Y: place(t, b, y, kernels.Float64).Panel,
		T: place(t, b, tr, kernels.Float64).Panel}
}

// Reflect tests Q·C and Qᵀ·C against products of Y and T, column by column, for a list of panels, and that
// each has the same bits alone.
func Reflect(t *testing.T, b kernels.Backend) {
	for _, s := range panelShapes {
		if s.m > 300 {
			s.m = 700
		}
		for kind, a := range panelKinds(s.m, s.n) {
			y, tr, _ := factorPanel(t, b, a, nowhere)
			q := placeReflectors(t, b, y, tr)
			var all []matrix
			var list, single []window
			rnd := newRand(s.m)
			for _, n := range []int{5, 0, 1, 259} {
				if n > 5 && kind != "random" {
					continue
				}
				c := random(rnd, s.m, n)
				for j := range n {
					c.scaleColumn(j, math.Pow(10, 200*rnd.Float64()-100))
				}
				all = append(all, c)
				list = append(list, place(t, b, c, kernels.Float64))
				single = append(single, place(t, b, c, kernels.Float64))
			}
			for _, transposed := range []bool{true, false} { // the second brings C back
				must(t, b.Reflect(q, transposed, panels(list), 0))
				for i, c := range all {
					what := fmt.Sprintf("%d×%d, %s, transposed %t, C %d", s.m, s.n, kind, transposed, i)
					got := list[i].read()
					closeColumns(t, what, got, reflected(y, tr, transposed, c), reflectorError(y.n))
					must(t, b.Reflect(q, transposed, panels(single[i:i+1]), 0))
					equal(t, single[i].read(), got)
					all[i] = got
				}
			}
		}
	}
}

// ReflectMany tests Q·C and Qᵀ·C for more reflectors than a panel has, on columns that follow each other in
// memory and on others.
func ReflectMany(t *testing.T, b kernels.Backend) {
	for _, s := range []struct{ m, k int }{{65, 65}, {300, 100}, {700, 150}} {
		rnd := newRand(s.m)
		y, tr := reflectors(rnd, s.m, s.k)
		q, c := placeReflectors(t, b, y, tr), random(rnd, s.m, 700)
		p := place(t, b, c, kernels.Float64)
		list := []kernels.Panel{p.Columns(0, 100), p.Columns(100, 400), p.Columns(401, 402), p.Columns(403, 700)}
		for _, transposed := range []bool{true, false} { // the second brings C back
			must(t, b.Reflect(q, transposed, list, 0))
			want := reflected(y, tr, transposed, c)
			copy(want.column(400), c.column(400))
			copy(want.column(402), c.column(402))
			c = p.read()
			closeColumns(t, fmt.Sprintf("%d×%d, transposed %t", s.m, s.k, transposed), c, want, reflectorError(s.k))
		}
	}
}

// reflectors returns Y and T of k random reflectors of length m.
func reflectors(rnd *rand.Rand, m, k int) (y, tr matrix) {
	y, tr = random(rnd, m, k), newMatrix(k, k)
	for j := range k {
		y.scaleColumn(j, 1/math.Sqrt(float64(m)))
		for i := range j {
			y.set(i, j, 0)
		}
		y.set(j, j, 1)
	}
	// Q is orthogonal where T⁻¹ + T⁻ᵀ = YᵀY.
	for g, j := inner(y, y), 0; j < k; j++ {
		tr.set(j, j, 2/g.at(j, j))
		for i := range j {
			sum := 0.0
			for l := i; l < j; l++ {
				sum += tr.at(i, l) * g.at(l, j)
			}
			tr.set(i, j, -sum*tr.at(j, j))
		}
	}
	return y, tr
}

// OneSign tests sums of which all terms have one sign, as those of a reflector with columns that are nearly
// the same as its own. Formed one after the other they are off by much more than the bound, and Q is as far
// from orthogonal.
func OneSign(t *testing.T, b kernels.Backend) {
	const n, bound = 12, 60 * roundoff
	for _, m := range []int{40, 64, 256, 512, 1000, 3000} {
		for name, element := range map[string]func(rnd *rand.Rand) float64{
			"uniform": (*rand.Rand).Float64, "equal": func(*rand.Rand) float64 { return 1. / 3 },
			"signs": func(rnd *rand.Rand) float64 { return float64(2*rnd.IntN(2)-1) / 3 },
		} {
			rnd, a := newRand(m), newMatrix(m, n)
			for i := range m {
				a.set(i, 0, element(rnd))
			}
			for j := 1; j < n; j++ {
				copy(a.column(j), a.column(0))
				a.scaleColumn(j, 1+rnd.Float64())
			}
			check := func(what string, c, j int, x []float64) {
				norm := exactNorm(a.column(c))
				e := math.Max(math.Abs(math.Abs(x[0])-norm), kernels.Norm2(x[1:]))
				if !(e <= bound*norm) {
					t.Errorf("%d rows, %s, %s: column %d is off by %.1f u", m, name, what, j, e/norm/roundoff)
				}
			}
			_, _, r := factorPanel(t, b, a, nowhere)
			_, _, pivoted := factorPivoted(t, b, a, panelOptions{})
			for j := range n {
				check("factored", j, j, r.column(j))
			}
			for j, c := range pivoted.Pivots {
				check("pivoted", c, j, pivoted.R[j*pivoted.Count:(j+1)*pivoted.Count])
			}
			y, tr, _ := factorPanel(t, b, matrix{m, 1, a.column(0)}, nowhere)
			q := placeReflectors(t, b, y, tr)
			c := place(t, b, a, kernels.Float64)
			must(t, b.Reflect(q, true, []kernels.Panel{c.Panel}, 0))
			got := c.read()
			for j := range n {
				check("reflected", j, j, got.column(j))
			}
		}
	}
}
