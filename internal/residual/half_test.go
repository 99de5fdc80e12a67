package residual

import (
	"math"
	"strings"
	"testing"

	"jmpi/internal/report"
)

// without returns d without U ("u"), V ("v") or both ("uv").
func (d *decomposition) without(which string) *decomposition {
	d.noU, d.noV = strings.Contains(which, "u"), strings.Contains(which, "v")
	return d
}

// names returns the names of the rows that are not skipped.
func names(r Report) string {
	var all []string
	for _, row := range r.Rows {
		if row.Verdict != Skipped {
			all = append(all, row.Name)
		}
	}
	return strings.Join(all, " ")
}

// The rows that stand for the residual where vectors are missing; those of the long factor end with its
// range.
func TestRightHalvesPass(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {14, 14}, {25, 11}, {11, 25}, {1, 9}, {9, 1}} {
		m, n := shape[0], shape[1]
		rangeU, rangeV := "", ""
		if m > n {
			rangeU = " rangeU"
		} else if m < n {
			rangeV = " rangeV"
		}
		for _, budget := range []int64{1, 40, defaultBudget} {
			for missing, want := range map[string]string{
				"":   "residual orthU orthV order sign",
				"v":  "norm rayleighU eigenU" + rangeU + " orthU order sign",
				"u":  "norm rayleighV eigenV" + rangeV + " orthV order",
				"uv": "norm norm4 order",
			} {
				halves := []*decomposition{decompose(t, m, n, wave)}
				if m >= n && n > 1 {
					halves = append(halves, indefinite(t, m, n, false), indefinite(t, m, n, true))
					halves[1].lambda, halves[2].lambda = nil, nil
				}
				for _, d := range halves {
					r, err := d.without(missing).run(t, budget)
					if err != nil || !r.Passed() || names(r) != want {
						t.Errorf("%v, budget %d, without %q: %v, error %v", shape, budget, missing, r, err)
					}
				}
			}
		}
	}
}

// The readings must not depend on panels, up to rounding.
func TestPanelsDoNotMatterToHalves(t *testing.T) {
	for _, shape := range [][2]int{{25, 15}, {15, 25}} {
		for _, missing := range []string{"u", "v", "uv"} {
			d := decompose(t, shape[0], shape[1], wave).without(missing)
			for i := range d.a {
				d.a[i] *= 1 + 1e-13*wave(i, 1)
			}
			want, err := d.run(t, defaultBudget)
			if err != nil {
				t.Fatal(err)
			}
			for _, budget := range []int64{1, 64, 150} {
				got, err := d.run(t, budget)
				if err != nil {
					t.Fatal(err)
				}
				for i, row := range got.Rows {
					if w := want.Rows[i]; w.Verdict != row.Verdict || math.Abs(w.Value-row.Value) > 0.1*(1+w.Value) {
						t.Errorf("%v without %s, budget %d: %v, in one panel %v", shape, missing, budget, row, w)
					}
				}
			}
		}
	}
}

// Each row finds what the others cannot see.
func TestWrongHalvesFail(t *testing.T) {
	const m, n = 30, 20
	square := func() *decomposition { return decompose(t, n, n, wave) }
	tall := func() *decomposition { return decompose(t, m, n, wave) }
	wide := func() *decomposition { return decompose(t, n, m, wave) }
	signed := func() *decomposition { return indefinite(t, m, n, false) }
	identity := func() *decomposition { return decompose(t, n, n, diagonal(1)) }
	graded := func() *decomposition { return decompose(t, m, n, diagonal(1e-9)) }
	entry := func(d *decomposition) { d.a[7] += 1e-8 }
	swapFirst := func(d *decomposition) { swapColumns(d.a, d.m, 1, 0) }
	nanU := func(d *decomposition) { d.u[17] = math.NaN() }
	infV := func(d *decomposition) { d.v[3] = math.Inf(-1) }
	cases := []struct {
		name    string
		of      func() *decomposition
		missing string
		spoil   func(d *decomposition)
		want    string // rows that fail
	}{
		{"an entry", square, "v", entry, "norm rayleighU eigenU"},
		{"an entry", tall, "v", entry, "norm rayleighU eigenU rangeU"},
		{"an entry", tall, "u", entry, "norm rayleighV eigenV"},
		{"an entry", wide, "v", entry, "norm rayleighU eigenU"},
		{"an entry", wide, "u", entry, "norm rayleighV eigenV rangeV"},
		{"an entry", tall, "uv", entry, "norm norm4"},
		{"an entry", signed, "v", entry, "norm rayleighU eigenU rangeU"},
		{"an entry", signed, "u", entry, "norm rayleighV eigenV"},
		{"an entry", signed, "uv", entry, "norm norm4"},
		{"a sign", tall, "uv", func(d *decomposition) { d.a[7] *= -1 }, "norm4"},
		{"a sign", signed, "uv", func(d *decomposition) { d.a[7] *= -1 }, "norm4"},
		{"rows of norm 1", identity, "v", func(d *decomposition) { d.a[0], d.a[n] = 0.8, 0.6 }, "eigenU"},
		{"columns of norm 1", identity, "u", func(d *decomposition) { d.a[0], d.a[1] = 0.8, 0.6 }, "eigenV"},
		{"σ of the same norm", square, "v", rotateSigma, "rayleighU eigenU"},
		{"σ of the same norm", square, "uv", rotateSigma, "norm4"},
		{"outside the range of U", graded, "v", func(d *decomposition) { d.a[m*n-1] = 1e-9 }, "rangeU"},
		{"two vectors", tall, "v", func(d *decomposition) { swapColumns(d.u, m, 3, 4) }, "rayleighU eigenU"},
		{"two rows", square, "v", func(d *decomposition) { swapRows(d.a, n, 0, 1) }, "rayleighU eigenU"},
		{"two columns", square, "u", swapFirst, "rayleighV eigenV"},
		{"two columns, of which U tells nothing", square, "v", swapFirst, ""},
		{"columns of unlike signs", signed, "v", swapFirst, "norm rayleighU eigenU"},
		{"columns of unlike signs", signed, "uv", swapFirst, "norm norm4"},
		{"NaN in U", tall, "v", nanU, "rayleighU eigenU rangeU orthU sign"},
		{"Inf in V", tall, "u", infV, "rayleighV eigenV orthV"},
		{"Inf in V", signed, "u", infV, "norm rayleighV eigenV orthV"},
		{"NaN in S", tall, "uv", func(d *decomposition) { d.s[2] = math.NaN() }, "norm norm4 order"},
		{"no matrix but 0", tall, "v", func(d *decomposition) { clear(d.a) }, "norm rayleighU eigenU"},
		{"no S but 0", tall, "uv", func(d *decomposition) { clear(d.s) }, "norm norm4"},
	}
	for _, c := range cases {
		for _, e := range []int{0, 960, -990} {
			d := c.of().without(c.missing)
			d.lambda, d.signs = nil, nil
			c.spoil(d)
			for _, x := range [][]float64{d.a, d.s} {
				for i := range x {
					x[i] = math.Ldexp(x[i], e)
				}
			}
			if r, err := d.run(t, 200); err != nil || verdicts(r) != c.want {
				t.Errorf("%s, without %s, scaled by 2^%d: rows %q fail, want %q\n%v, error %v",
					c.name, c.missing, e, verdicts(r), c.want, r, err)
			}
		}
	}
}

// diagonal has ones and a last entry in its diagonal, if it has 20 columns.
func diagonal(last float64) func(i, j int) float64 {
	return func(i, j int) float64 {
		if i != j {
			return 0
		} else if i == 19 {
			return last
		}
		return 1
	}
}

// rotateSigma changes the two largest singular values, but not their sum of squares.
func rotateSigma(d *decomposition) {
	a, b := d.s[0]*d.s[0], d.s[1]*d.s[1]
	d.s[0], d.s[1] = math.Sqrt(a+1e-3*b), math.Sqrt(b-1e-3*b)
}

func swapColumns(x []float64, rows, p, q int) {
	for i := range rows {
		x[i+p*rows], x[i+q*rows] = x[i+q*rows], x[i+p*rows]
	}
}

func swapRows(x []float64, rows, p, q int) {
	for i := 0; i < len(x); i += rows {
		x[i+p], x[i+q] = x[i+q], x[i+p]
	}
}

// What S and U may be wrong by grows with ‖V‖_F, which info.json tells where V is missing.
func TestHalvesKnowTheNormOfV(t *testing.T) {
	c, s := math.Cosh(12), math.Sinh(12)
	for _, missing := range []string{"v", "u", "uv"} {
		d := &decomposition{m: 2, n: 2, k: 2, u: []float64{1, 0, 0, 1}, v: []float64{c, s, s, c}}
		d.s = []float64{3, 5}
		d.a = []float64{3 * c, 5 * s, 3 * s, 5 * c} // rounded: the eigenvalues are no longer 9 and −25
		d.info = &report.Info{Signature: &report.Signature{Positive: 1}, VNorm: norm(d.v)}
		if r, err := d.without(missing).run(t, 100); err != nil || !r.Passed() {
			t.Errorf("without %s: %v, error %v", missing, r, err)
		}
		d.info.VNorm = 0
		if r, err := d.run(t, 100); err != nil || r.Passed() != (missing == "u") {
			t.Errorf("without %s and the norm: %v, error %v", missing, r, err)
		}
	}
}
