package residual

import (
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"jmpi/internal/matio"
)

// decomposition is a matrix with its factors, column-major as in the files.
type decomposition struct {
	m, n, k       int
	a, s, u, v    []float64
	sigma         []float64
	noU, noV, noS bool
}

// decompose returns the singular value decomposition by gonum of the m×n matrix with the entries
// entry(i,j), with the signs that jmpi's results have.
func decompose(t testing.TB, m, n int, entry func(i, j int) float64) *decomposition {
	t.Helper()
	d := &decomposition{m: m, n: n, k: min(m, n)}
	a := mat.NewDense(m, n, nil)
	for i := range m {
		for j := range n {
			a.Set(i, j, entry(i, j))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		t.Fatal("gonum's SVD failed")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	d.a, d.s, d.u, d.v = columns(a), svd.Values(nil), columns(&u), columns(&v)
	for l := range d.k {
		if largest := largestEntry(d.u[l*m : (l+1)*m]); largest < 0 {
			d.negate(l)
		}
	}
	return d
}

// columns returns the entries of a column by column.
func columns(a *mat.Dense) []float64 { return mat.DenseCopyOf(a.T()).RawMatrix().Data }

func largestEntry(x []float64) (largest float64) {
	for _, v := range x {
		if math.Abs(v) > math.Abs(largest) {
			largest = v
		}
	}
	return largest
}

// negate changes the sign of the l-th singular vectors.
func (d *decomposition) negate(l int) {
	for _, x := range [][]float64{d.u[l*d.m : (l+1)*d.m], d.v[l*d.n : (l+1)*d.n]} {
		for i := range x {
			x[i] = -x[i]
		}
	}
}

// run writes the files and checks them, with so small a budget that there are many panels.
func (d *decomposition) run(t testing.TB, budget int64) (Report, error) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, rows, cols int, x []float64) {
		w, err := matio.CreateNpy(filepath.Join(dir, name), int64(rows), int64(cols))
		if err == nil {
			err = w.WriteColumns(0, x, max(1, rows), cols)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("a.npy", d.m, d.n, d.a)
	if !d.noU {
		write("U.npy", d.m, d.k, d.u)
	}
	if !d.noV {
		write("V.npy", d.n, d.k, d.v)
	}
	if !d.noS {
		if err := matio.WriteVector(filepath.Join(dir, "S.npy"), d.s); err != nil {
			t.Fatal(err)
		}
	}
	sigma := filepath.Join(dir, "a.sigma.npy")
	if d.sigma != nil {
		if err := matio.WriteVector(sigma, d.sigma); err != nil {
			t.Fatal(err)
		}
	}
	input, err := matio.Open(filepath.Join(dir, "a.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	return check(input, dir, Options{SigmaFile: sigma}, budget)
}

// verdicts returns the names of the rows that failed.
func verdicts(r Report) string {
	var failed []string
	for _, row := range r.Rows {
		if row.Verdict == Failed {
			failed = append(failed, row.Name)
		}
	}
	return strings.Join(failed, " ")
}

func value(t testing.TB, r Report, name string) Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Name == name {
			return row
		}
	}
	t.Fatalf("no row %s in %v", name, r)
	return Row{}
}

// wave is a full-rank matrix that looks like no other.
func wave(i, j int) float64 { return math.Sin(float64(1 + i*i + 3*j + 7*i*j)) }

func TestRightDecompositionsPass(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {2, 3}, {40, 40}, {61, 23}, {23, 61}, {1, 9}, {9, 1}} {
		for _, budget := range []int64{1, 100, defaultBudget} {
			d := decompose(t, shape[0], shape[1], wave)
			d.sigma = d.s
			r, err := d.run(t, budget)
			if err != nil || !r.Passed() || len(r.Rows) != 6 {
				t.Errorf("%v, budget %d: %v, error %v", shape, budget, r, err)
			}
		}
	}
}

// The verdict must not depend on panels, up to rounding.
func TestPanelsDoNotMatter(t *testing.T) {
	d := decompose(t, 50, 30, wave)
	for i := range d.u {
		d.u[i] *= 1 + 1e-14*wave(i, 1)
	}
	want, err := d.run(t, defaultBudget)
	if err != nil {
		t.Fatal(err)
	}
	for _, budget := range []int64{1, 64, 300} {
		got, err := d.run(t, budget)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range got.Rows {
			if w := want.Rows[i]; w.Verdict != row.Verdict || math.Abs(w.Value-row.Value) > 0.1*(1+w.Value) {
				t.Errorf("budget %d: %v, in one panel %v", budget, row, w)
			}
		}
	}
}

func TestWrongDecompositionsFail(t *testing.T) {
	const m, n = 30, 20
	cases := []struct {
		name  string
		spoil func(d *decomposition)
		want  string // rows that fail
	}{
		{"perturbed σ", func(d *decomposition) { d.s[3] *= 1 + 1e-9 }, "residual sigma"},
		{"σ wrong by less than the tolerance", func(d *decomposition) { d.sigma[19] *= 1 + 0.5e-10 }, ""},
		{"U not orthogonal", func(d *decomposition) { // U·D and S/D: the product stays
			d.s[0] /= 1 + 1e-11
			for i := range m {
				d.u[i] *= 1 + 1e-11
			}
		}, "orthU"},
		{"V not orthogonal", func(d *decomposition) {
			d.s[0] /= 1 + 1e-11
			for i := range n {
				d.v[i] *= 1 + 1e-11
			}
		}, "orthV"},
		{"two columns of U that are not orthogonal", func(d *decomposition) {
			for i := range m {
				d.u[i+18*m] += 1e-11 * d.u[i]
			}
		}, "residual orthU"},
		{"order swapped in S alone", func(d *decomposition) { d.s[4], d.s[5] = d.s[5], d.s[4] }, "residual order sigma"},
		{"order swapped everywhere", func(d *decomposition) {
			d.s[4], d.s[5] = d.s[5], d.s[4]
			for i := range m {
				d.u[i+4*m], d.u[i+5*m] = d.u[i+5*m], d.u[i+4*m]
			}
			for i := range n {
				d.v[i+4*n], d.v[i+5*n] = d.v[i+5*n], d.v[i+4*n]
			}
		}, "order sigma"},
		{"negative σ", func(d *decomposition) {
			d.s[19] = -d.s[19]
			for i := range n {
				d.v[i+19*n] = -d.v[i+19*n]
			}
		}, "order sigma"},
		{"wrong sign", func(d *decomposition) { d.negate(7) }, "sign"},
		{"another matrix, factors perfectly orthogonal", func(d *decomposition) { d.a[5+7*m] += 1e-8 }, "residual"},
		{"A is NaN-free but U is not", func(d *decomposition) { d.u[17] = math.NaN() }, "residual orthU sign"},
		{"Inf in V", func(d *decomposition) { d.v[3] = math.Inf(-1) }, "residual orthV"},
		{"NaN in S", func(d *decomposition) { d.s[2] = math.NaN() }, "residual order sigma"},
		{"all zero", func(d *decomposition) { clear(d.s); clear(d.u); clear(d.v) }, "residual orthU orthV sign sigma"},
	}
	for _, c := range cases {
		for _, e := range []int{0, 960, -990} { // 1e289, 1e-298
			d := decompose(t, m, n, wave)
			d.sigma = append([]float64(nil), d.s...)
			c.spoil(d)
			for _, x := range [][]float64{d.a, d.s, d.sigma} {
				for i := range x {
					x[i] = math.Ldexp(x[i], e)
				}
			}
			r, err := d.run(t, 200)
			if err != nil {
				t.Errorf("%s, scaled by 2^%d: %v", c.name, e, err)
			} else if got := verdicts(r); got != c.want || r.Passed() != (c.want == "") {
				t.Errorf("%s, scaled by 2^%d: rows %q fail, want %q\n%v", c.name, e, got, c.want, r)
			}
		}
	}
}

// The first of two entries of equal magnitude decides.
func TestSignOfEqualMagnitudes(t *testing.T) {
	h := math.Sqrt(0.5)
	for _, c := range []struct {
		u    []float64
		want Verdict
	}{{[]float64{h, -h}, Passed}, {[]float64{-h, h}, Failed}} {
		d := &decomposition{m: 2, n: 1, k: 1, a: c.u, s: []float64{1}, u: c.u, v: []float64{1}}
		for _, budget := range []int64{1, 100} {
			r, err := d.run(t, budget)
			if err != nil || value(t, r, "sign").Verdict != c.want {
				t.Errorf("U = %v: %v, error %v", c.u, r, err)
			}
		}
	}
}

// A column with many entries: the check's own rounding must not grow with m.
func TestOneLongColumn(t *testing.T) {
	const m = 300_000
	d := &decomposition{m: m, n: 1, k: 1, v: []float64{1}}
	d.a, d.u = make([]float64, m), make([]float64, m)
	fill(d.a, func(i int) float64 { return 1 + 0.3*wave(i, 0) })
	squares := new(big.Float).SetPrec(200)
	for _, x := range d.a {
		squares.Add(squares, new(big.Float).SetFloat64(x*x))
	}
	exact, _ := squares.Float64()
	norm := math.Sqrt(exact)
	fill(d.u, func(i int) float64 { return d.a[i] / norm })
	d.s = []float64{norm}
	for _, budget := range []int64{1000, defaultBudget} {
		r, err := d.run(t, budget)
		if err != nil || !r.Passed() {
			t.Errorf("%v, error %v", r, err)
		}
		// u has the norm 1 up to ε and its own rounding, whose effects cancel for the most part.
		if orth := value(t, r, "orthU").Value; orth > 2 {
			t.Errorf("orthU = %g", orth)
		}
	}
}

func fill(x []float64, f func(i int) float64) []float64 {
	for i := range x {
		x[i] = f(i)
	}
	return x
}

func TestZeroAndEmpty(t *testing.T) {
	for _, shape := range [][2]int{{3, 3}, {4, 2}, {2, 4}} {
		d := &decomposition{m: shape[0], n: shape[1], k: 2 + shape[0]%2}
		d.a, d.s = make([]float64, d.m*d.n), make([]float64, d.k)
		d.u, d.v = make([]float64, d.m*d.k), make([]float64, d.n*d.k)
		for l := range d.k {
			d.u[l+l*d.m], d.v[l+l*d.n] = 1, 1
		}
		r, err := d.run(t, 4)
		if err != nil || !r.Passed() || value(t, r, "residual").Value != 0 {
			t.Errorf("A = 0, %v: %v, error %v", shape, r, err)
		}
		d.s[0] = 1e-200
		if r, err = d.run(t, 4); err != nil || verdicts(r) != "residual" {
			t.Errorf("A = 0, %v, with σ = 1e-200: %v, error %v", shape, r, err)
		}
		d.s[0], d.a[0] = 0, 1e-300
		if r, err = d.run(t, 4); err != nil || verdicts(r) != "residual" {
			t.Errorf("S = 0, %v, with A = 1e-300: %v, error %v", shape, r, err)
		}
	}
	for _, shape := range [][2]int{{0, 0}, {0, 3}, {3, 0}} {
		d := &decomposition{m: shape[0], n: shape[1], sigma: []float64{}}
		if r, err := d.run(t, defaultBudget); err != nil || !r.Passed() {
			t.Errorf("%v: %v, error %v", shape, r, err)
		}
	}
}

func TestMissingVectorsAreSkipped(t *testing.T) {
	d := decompose(t, 12, 9, wave)
	d.noV = true
	r, err := d.run(t, defaultBudget)
	if err != nil || !r.Passed() {
		t.Fatalf("%v, error %v", r, err)
	}
	for name, want := range map[string]Verdict{"residual": Skipped, "orthU": Passed, "orthV": Skipped, "order": Passed, "sign": Passed} {
		if got := value(t, r, name).Verdict; got != want {
			t.Errorf("%s is %s without V, want %s", name, got, want)
		}
	}
	d.noU = true
	if r, err = d.run(t, defaultBudget); err != nil || value(t, r, "sign").Verdict != Skipped || value(t, r, "orthU").Verdict != Skipped {
		t.Errorf("without U: %v, error %v", r, err)
	}
	d.s[0] = -1
	if r, err = d.run(t, defaultBudget); err != nil || r.Passed() {
		t.Errorf("without U and V, wrong S: %v, error %v", r, err)
	}
}

func TestUnusable(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(d *decomposition)
		says  string
	}{
		{"no S", func(d *decomposition) { d.noS = true }, "has no S.npy"},
		{"short S", func(d *decomposition) { d.s = d.s[:8] }, "8 singular values"},
		{"U of another shape", func(d *decomposition) { d.u, d.k, d.v = d.u[:12*8], 8, d.v[:9*8] }, "12×8 instead of 12×9"},
		{"NaN in A", func(d *decomposition) { d.a[0] = math.NaN() }, "NaN at row 1, column 1"},
		{"wrong number of true σ", func(d *decomposition) { d.sigma = []float64{1} }, "1 true singular values"},
	}
	for _, c := range cases {
		d := decompose(t, 12, 9, wave)
		c.spoil(d)
		if r, err := d.run(t, defaultBudget); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, error %v", c.name, r, err)
		}
	}
	d := decompose(t, 2, 2, wave)
	dir := t.TempDir()
	path := filepath.Join(dir, "a.npy")
	w, err := matio.CreateNpy(path, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteColumns(0, d.a, 2, 2); err != nil {
		t.Fatal(err)
	}
	w.Close()
	input, err := matio.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	for _, name := range []string{filepath.Join(dir, "absent"), path} {
		if _, err := Check(input, name, Options{}); err == nil {
			t.Errorf("%s as DIR: no error", name)
		}
	}
	if err := matio.WriteVector(filepath.Join(dir, "S.npy"), d.s); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "U.npy"), []byte("\x93NUMPY\x01"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(input, dir, Options{}); err == nil {
		t.Error("truncated U.npy: no error")
	}
}
