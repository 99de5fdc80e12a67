package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/kernels"
)

// panelErrors is kernels.PanelNoise in the memory of the host.
type panelErrors struct {
	rows    [][]float64
	columns []float64
}

// panelOptions are how a panel is pivoted, and its errors; nil: none are followed.
type panelOptions struct {
	kernels.PanelOptions
	errors *panelErrors
}

// panelResult is what is found, and the sizes of the rows after it.
type panelResult struct {
	kernels.PanelResult
	rows [][]float64
}

// factorPivoted returns Y, T and the result of a.
func factorPivoted(t *testing.T, b kernels.Backend, a matrix, o panelOptions) (y, tr matrix, r panelResult) {
	t.Helper()
	k := min(a.m, a.n)
	put := func(x matrix) window { return place(t, b, x, kernels.Float64) }
	p, py, pt, pr := put(a), put(nan(a.m, k)), put(nan(k, k)), put(nan(k, k))
	var rows, samples, ratios window
	if e := o.errors; e != nil {
		width := (len(e.rows) + 1) * kernels.Samples
		rows, samples = put(matrix{a.m, len(e.rows), slices.Concat(e.rows...)}), put(matrix{width, a.n, e.columns})
		ratios = put(nan(width, k))
		o.Noise = &kernels.PanelNoise{Rows: rows.Panel, Samples: samples.Panel, Ratios: ratios.Panel}
	}
	q := kernels.Reflectors{Y: py.Panel, T: pt.Panel}
	found, err := b.FactorPivoted(p.Panel, q, pr.Panel, o.PanelOptions)
	must(t, err)
	r.PanelResult, err = found()
	must(t, err)
	p.read()
	if r.Count < 0 || r.Count > k {
		t.Fatalf("%d×%d: %d columns were taken", a.m, a.n, r.Count)
	}
	whole := pr.read()
	y, tr = py.read(), pt.read()
	if there := leading(whole, r.Count); !slices.Equal(there.a, r.R) {
		t.Fatalf("%d×%d: R on the device is %v, on the host %v", a.m, a.n, there.a, r.R)
	}
	zero := func(what string, x []float64) {
		if !slices.Equal(x, make([]float64, len(x))) {
			t.Fatalf("%d×%d, %d taken: %s is not zero behind these: %v", a.m, a.n, r.Count, what, x)
		}
	}
	for j := range k {
		from := 0
		if j < r.Count {
			from = r.Count
		} else {
			zero("Y", y.column(j))
		}
		zero("T", tr.column(j)[from:])
		zero("R", whole.column(j)[from:])
	}
	if o.errors != nil {
		samples.read()
		left, over := rows.read(), ratios.read()
		for i := range left.n {
			r.rows = append(r.rows, left.column(i))
		}
		zero("ratios", over.a[len(r.Columns):])
		for i, x := range r.Columns {
			beta := r.R[i/over.m*(r.Count+1)]
			if got := over.a[i]; got != x/beta {
				t.Fatalf("%d×%d: sample %d over %g is %g, want %g", a.m, a.n, i, beta, got, x/beta)
			}
		}
	}
	return matrix{a.m, r.Count, y.a[:a.m*r.Count]}, leading(tr, r.Count), r
}

// pivotKinds returns matrices of which no two columns are of nearly the same length in any step.
func pivotKinds(m, n int) map[string]matrix {
	rnd := newRand(m + n)
	plain, graded, wide, short := random(rnd, m, n), random(rnd, m, n), random(rnd, m, n), random(rnd, m, n)
	for k, j := range rnd.Perm(n) {
		graded.scaleColumn(j, math.Pow(10, -float64(k)/2))
		wide.scaleColumn(j, math.Pow(10, 400*float64(k)/float64(n)-200))
		if k%3 == 2 {
			short.scaleColumn(j, 1e-280) // less than the negligible length
		}
	}
	return map[string]matrix{"random": plain, "graded": graded, "wide": wide, "short": short}
}

// FactorPivoted tests the pivots, R and Q without noise, and with noise that is too small to matter.
func FactorPivoted(t *testing.T, b kernels.Backend) {
	for _, s := range panelShapes {
		s.n = min(s.n, kernels.PivotedWidth)
		for kind, a := range pivotKinds(s.m, s.n) {
			for _, noise := range []*panelErrors{nil, panelNoise(newRand(s.n), 1e-30, a)} {
				what := fmt.Sprintf("%d×%d, %s, noise %t", s.m, s.n, kind, noise != nil)
				o := panelOptions{errors: noise}
				y, tr, r := factorPivoted(t, b, a, o)
				want := factorized(a, o)
				if want.sure != want.result.Count {
					t.Fatalf("%s: %d columns are noise", what, want.result.Count-want.sure)
				}
				checkPivoted(t, what, a, y, tr, r, want)
			}
		}
	}
}

// checkPivoted compares a result with that of plain Go.
func checkPivoted(t *testing.T, what string, a, y, tr matrix, r panelResult, want *pivoting) {
	t.Helper()
	w := want.result
	noisy := func(list [][2]int) [][2]int {
		list = slices.Clone(list)
		for i := range list {
			list[i][0] = twin(a, list[i][0])
		}
		slices.SortFunc(list, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
		return list
	}
	if r.Count != w.Count || r.Rank != w.Rank || !slices.Equal(noisy(r.Noisy), noisy(w.Noisy)) {
		t.Fatalf("%s: %d columns were taken, rank %d, %v became zero; want %d, %d, %v", what, r.Count, r.Rank,
			r.Noisy, w.Count, w.Rank, w.Noisy)
	}
	if len(r.Pivots) != r.Count || len(r.Tau) != r.Count || len(r.R) != r.Count*r.Count {
		t.Fatalf("%s: %d pivots, %d numbers τ and %d of R for %d columns", what, len(r.Pivots), len(r.Tau),
			len(r.R), r.Count)
	}
	checkReflectors(t, what, y, tr)
	taken, factor := newMatrix(a.m, r.Count), matrix{r.Count, r.Count, r.R}
	met := map[int]bool{}
	for j, c := range r.Pivots {
		if met[c] || c < 0 || c >= a.n {
			t.Fatalf("%s: the pivots are %v", what, r.Pivots)
		}
		met[c] = true
		copy(taken.column(j), a.column(c))
		if e := math.Abs(r.Tau[j] - tr.at(j, j)); !(e <= 4*roundoff) {
			t.Fatalf("%s: τ is %g, T has %g", what, r.Tau[j], tr.at(j, j))
		}
	}
	checkFactored(t, what, y, tr, factor, taken)
	for j := range want.sure {
		if twin(a, r.Pivots[j]) != twin(a, w.Pivots[j]) {
			t.Fatalf("%s: the pivots are %v, want %v", what, r.Pivots, w.Pivots)
		}
		norm := kernels.Norm2(taken.column(j))
		for i := range j + 1 {
			e := math.Abs(math.Abs(factor.at(i, j)) - math.Abs(want.x.at(i, j)))
			if !(e <= 1e-11*norm) {
				t.Fatalf("%s: R has %g at (%d,%d), want ±%g", what, factor.at(i, j), i, j, want.x.at(i, j))
			}
		}
	}
	checkSpread(t, what, a.m, r, want)
}

// twin returns the first column of a that is the same as column j.
func twin(a matrix, j int) int {
	for i := range j {
		if slices.Equal(a.column(i), a.column(j)) {
			return i
		}
	}
	return j
}

// checkSpread compares the noise as far as the pivots are the same.
func checkSpread(t *testing.T, what string, m int, r panelResult, want *pivoting) {
	t.Helper()
	w, bounds := want.result, len(want.rows)
	if bounds == 0 {
		if len(r.Columns)+len(r.From) != 0 {
			t.Fatalf("%s: noise comes back where there was none", what)
		}
		return
	}
	width := (bounds + 1) * kernels.Samples
	if len(r.From) != bounds || len(r.Columns) != r.Count*width {
		t.Fatalf("%s: noise of %d bounds, and %d numbers of the pivots", what, len(r.From), len(r.Columns))
	}
	for j := range want.sure {
		got, wanted := r.Columns[j*width:(j+1)*width], w.Columns[j*width:(j+1)*width]
		for g := 0; g < width; g += kernels.Samples {
			bound := 1e-10 * kernels.Norm2(wanted[g:g+kernels.Samples])
			for i := g; i < g+kernels.Samples; i++ {
				if e := math.Abs(got[i] - wanted[i]); !(e <= bound) {
					t.Fatalf("%s: sample %d of pivot %d is %g, want %g", what, i, j, got[i], wanted[i])
				}
			}
		}
	}
	for b := range bounds {
		if len(r.From[b]) != r.Count+1 {
			t.Fatalf("%s: bound %d: the lengths of %d steps", what, b, len(r.From[b]))
		}
		for j := range want.sure + 1 {
			if e := math.Abs(r.From[b][j] - w.From[b][j]); !(e <= 1e-10*w.From[b][j]) {
				t.Fatalf("%s: after %d columns bound %d is %g, want %g", what, j, b, r.From[b][j], w.From[b][j])
			}
		}
		for i := 0; i < m && want.sure == r.Count; i++ {
			if e := math.Abs(r.rows[b][i] - w.rows[b][i]); !(e <= 1e-9*w.rows[b][i]) {
				t.Fatalf("%s: row %d of bound %d is %g, want %g", what, i, b, r.rows[b][i], w.rows[b][i])
			}
		}
	}
}

// panelNoise returns the noise of a matrix whose elements are known to tol of two bounds.
func panelNoise(rnd *rand.Rand, tol float64, a matrix) *panelErrors {
	balanced, largest, share := make([]float64, a.m), make([]float64, a.m), make([]float64, a.n)
	norms := make([]float64, a.n)
	for j := range a.n {
		norms[j] = kernels.Norm2(a.column(j))
		for i, x := range a.column(j) {
			balanced[i] = math.Max(balanced[i], math.Abs(x)/norms[j])
			largest[i] = math.Max(largest[i], math.Abs(x))
		}
	}
	for j := range a.n {
		for i, x := range a.column(j) {
			share[j] = math.Max(share[j], math.Abs(x)/largest[i])
		}
	}
	n := &panelErrors{rows: [][]float64{balanced, largest}}
	for _, rows := range n.rows {
		for i := range rows {
			rows[i] *= tol
		}
	}
	for j := range a.n {
		sample := random(rnd, kernels.Samples, 1)
		sample.scaleColumn(0, 1/kernels.Norm2(sample.a))
		for _, size := range []float64{norms[j], share[j], tol * norms[j]} {
			for _, x := range sample.a {
				n.columns = append(n.columns, x*size)
			}
		}
	}
	return n
}

// SortedRows tests that each row keeps its own scale where the rows are sorted by decreasing size.
func SortedRows(t *testing.T, b kernels.Backend) {
	for _, s := range []struct{ m, n int }{{7, 7}, {40, 13}, {300, 32}} {
		a := random(newRand(s.m), s.m, s.n)
		row := make([]float64, s.m)
		for i := range s.m {
			for j := range s.n {
				a.set(i, j, a.at(i, j)*math.Pow(10, -float64(i)/2))
				row[i] = math.Max(row[i], math.Abs(a.at(i, j)))
			}
		}
		y, tr, r := factorPivoted(t, b, a, panelOptions{})
		full := newMatrix(s.m, r.Count)
		for j := range r.Count {
			copy(full.column(j), r.R[j*r.Count:(j+1)*r.Count])
		}
		got := reflected(y, tr, false, full)
		for j, c := range r.Pivots {
			for i := range s.m {
				if e := math.Abs(got.at(i, j) - a.at(i, c)); !(e <= 200*float64(s.m)*roundoff*row[i]) {
					t.Fatalf("%d×%d: Q·R is off by %g at (%d,%d), in a row of %g", s.m, s.n, e, i, c, row[i])
				}
			}
		}
	}
}

// PivotsEnd tests where a panel ends: before a pivot that the columns outside could beat, but not before the
// first, and at columns that are too short.
func PivotsEnd(t *testing.T, b kernels.Backend) {
	a := random(newRand(5), 50, 8)
	for j := range a.n {
		a.scaleColumn(j, math.Pow(4, -float64(j))/kernels.Norm2(a.column(j)))
	}
	tiny := a.clone()
	for j := range tiny.n {
		tiny.scaleColumn(j, 1e-275)
	}
	for _, c := range []struct {
		name  string
		a     matrix
		bound float64
		count int
	}{
		{"1, 1/4 and 1/16 are not below 1/20", a, 0.1, 3}, {"the first is always taken", a, 4, 1},
		{"nothing outside", a, 0, 8}, {"zeros", newMatrix(6, 3), 0, 0}, {"many zeros", newMatrix(600, 3), 0, 0},
		{"too short", tiny, 0, 0},
	} {
		o := panelOptions{PanelOptions: kernels.PanelOptions{Bound: c.bound}}
		y, tr, r := factorPivoted(t, b, c.a, o)
		if r.Count != c.count {
			t.Errorf("%s: %d columns were taken, want %d", c.name, r.Count, c.count)
		}
		checkPivoted(t, c.name, c.a, y, tr, r, factorized(c.a, o))
	}
}

// PivotedRange tests columns of which the squares of what is left come to the end of the range of float64 in
// the course of a panel: Q is orthogonal all the same.
func PivotedRange(t *testing.T, b kernels.Backend) {
	for _, m := range []int{20, 100, 700} {
		falling := newMatrix(m, 12) // rows fall by a factor of four, and are smaller below the diagonal
		for j := range falling.n {
			for i := range min(m, 40) {
				x := math.Pow(0.25, float64(i))
				if i > j {
					x *= 0.1
				}
				falling.set(i, j, x*(1+0.01*float64((i*7+j*5)%11)))
			}
		}
		dependent := random(newRand(m), m, 6) // of the second what is left are rounding errors
		copy(dependent.column(1), dependent.column(0))
		dependent.scaleColumn(1, 0.9)
		dependent.scaleColumn(5, 0x1p-30)
		for name, a := range map[string]matrix{"falling": falling, "dependent": dependent} {
			for _, exponent := range []int{0, -380, -400, -410, -420, -425, -430, -435, -440, -445} {
				x := a.clone()
				for j := range x.n {
					x.scaleColumn(j, math.Ldexp(1, exponent))
				}
				y, tr, r := factorPivoted(t, b, x, panelOptions{})
				what := fmt.Sprintf("%s, %d rows, times 2^%d, %d taken", name, m, exponent, r.Count)
				if r.Count == 0 {
					t.Fatal(what)
				}
				checkReflectors(t, what, y.columns(0, r.Count), leading(tr, r.Count))
			}
		}
	}
}
