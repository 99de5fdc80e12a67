package residual

import (
	"math"
	"testing"
)

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
		{"order swapped in S alone", func(d *decomposition) { d.s[4], d.s[5] = d.s[5], d.s[4] },
			"residual order sigma"},
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
		{"all zero", func(d *decomposition) { clear(d.s); clear(d.u); clear(d.v) },
			"residual orthU orthV sign sigma"},
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
