package residual

import (
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jmpi/internal/matio"
)

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

// Terms too small for the sum to see one by one add up beside it.
func TestAccumulateIsCompensated(t *testing.T) {
	hi, lo := []float64{1}, []float64{0}
	for range 1 << 20 {
		accumulate(hi, lo, []float64{0x1p-54})
	}
	if hi[0] != 1 || lo[0] != 0x1p-34 {
		t.Errorf("sum %g + %g, want 1 + 2^-34", hi[0], lo[0])
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
		for _, missing := range []string{"v", "u", "uv"} {
			d.without(missing)
			for _, c := range []struct{ a, s float64 }{{0, 0}, {0, 1e-200}, {1e-300, 0}} {
				d.a[0], d.s[0] = c.a, c.s
				r, err := d.run(t, 4)
				if zero := c.a == c.s; err != nil || r.Passed() != zero || (value(t, r, "norm").Value == 0) != zero {
					t.Errorf("without %s, %v, A = %g, σ = %g: %v, error %v", missing, shape, c.a, c.s, r, err)
				}
			}
		}
	}
	for _, shape := range [][2]int{{0, 0}, {0, 3}, {3, 0}} {
		for _, missing := range []string{"", "v", "u", "uv"} {
			d := &decomposition{m: shape[0], n: shape[1], sigma: []float64{}}
			if r, err := d.without(missing).run(t, defaultBudget); err != nil || !r.Passed() {
				t.Errorf("%v without %q: %v, error %v", shape, missing, r, err)
			}
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
	for name, want := range map[string]Verdict{"residual": Skipped, "orthU": Passed, "orthV": Skipped,
		"order": Passed, "sign": Passed} {
		if got := value(t, r, name).Verdict; got != want {
			t.Errorf("%s is %s without V, want %s", name, got, want)
		}
	}
	d.noU = true
	if r, err = d.run(t, defaultBudget); err != nil || value(t, r, "sign").Verdict != Skipped ||
		value(t, r, "orthU").Verdict != Skipped {
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
		{"U of another shape", func(d *decomposition) { d.u, d.k, d.v = d.u[:12*8], 8, d.v[:9*8] },
			"12×8 instead of 12×9"},
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
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
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
