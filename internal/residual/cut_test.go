package residual

import (
	"math"
	"slices"
	"strings"
	"testing"

	"jmpi/internal/report"
)

// cutTo keeps the singular values and vectors of some columns.
func (d *decomposition) cutTo(keep ...int) *decomposition {
	of, s, u, v := d.k, d.s, d.u, d.v
	var rest []float64
	for l, x := range s {
		if !slices.Contains(keep, l) {
			rest = append(rest, x)
		}
	}
	d.k, d.s, d.u, d.v = len(keep), nil, nil, nil
	for _, l := range keep {
		d.s = append(d.s, s[l])
		d.u = append(d.u, u[l*d.m:(l+1)*d.m]...)
		d.v = append(d.v, v[l*d.n:(l+1)*d.n]...)
	}
	d.info = &report.Info{Cut: &report.Cut{Of: int64(of), Norm: norm(rest), Next: largest(rest)}}
	return d
}

// first returns 0, 1, …, n−1.
func first(n int) (all []int) {
	for l := range n {
		all = append(all, l)
	}
	return all
}

// The leading part of a decomposition passes, with and without U and V, whatever is left of it.
func TestCutsPass(t *testing.T) {
	for _, shape := range [][2]int{{14, 14}, {25, 11}, {11, 25}, {2, 9}} {
		for _, budget := range []int64{1, 40, defaultBudget} {
			for missing, want := range map[string]string{
				"":   "residual pairsU pairsV leading orthU orthV order sign",
				"v":  "leading norm rayleighU eigenU orthU order sign",
				"u":  "leading norm rayleighV eigenV orthV order",
				"uv": "norm order",
			} {
				for _, keep := range []int{0, 1, min(shape[0], shape[1]) - 1} {
					d := decompose(t, shape[0], shape[1], wave).cutTo(first(keep)...)
					r, err := d.without(missing).run(t, budget)
					if err != nil || !r.Passed() || names(r) != want {
						t.Errorf("%v, %d of them, budget %d, without %q: %v, error %v", shape, keep, budget, missing, r, err)
					}
				}
			}
		}
	}
}

// True singular values beside the input are compared with what is left.
func TestCutSigma(t *testing.T) {
	d := decompose(t, 9, 8, wave)
	d.sigma = d.s
	r, err := d.cutTo(first(3)...).run(t, defaultBudget)
	if err != nil || value(t, r, "sigma").Verdict != Passed {
		t.Errorf("%v, error %v", r, err)
	}
	d.sigma = slices.Clone(d.sigma)
	d.sigma[2] *= 1 + 1e-9
	if r, err := d.run(t, defaultBudget); err != nil || verdicts(r) != "sigma" {
		t.Errorf("%v, error %v", r, err)
	}
}

// What is wrong fails, and in the rows that are to see it.
func TestWrongCutsFail(t *testing.T) {
	turned := func(angle float64) func(d *decomposition) {
		return func(d *decomposition) { // the first columns of U by an angle towards what was cut
			whole := decompose(t, d.m, d.n, wave)
			for i := range d.m {
				d.u[i] = math.Cos(angle)*d.u[i] + math.Sin(angle)*whole.u[(whole.k-1)*d.m+i]
			}
		}
	}
	for _, c := range []struct {
		name, missing, failed string
		keep                  []int
		spoil                 func(d *decomposition)
	}{
		{"one left out", "", "order", []int{0, 2, 3}, nil},
		{"one left out, of U", "v", "order", []int{0, 2, 3}, nil},
		{"one left out, of V", "u", "order", []int{0, 2, 3}, nil},
		{"the largest left out", "", "order", []int{1, 2}, nil},
		{"the largest left out, told so", "", "leading", []int{1, 2},
			func(d *decomposition) { d.info.Cut.Next = d.s[1] }},
		{"one left out, told so", "v", "leading", []int{0, 2, 3},
			func(d *decomposition) { d.info.Cut.Next = d.s[2] }},
		{"one left out, told so, of V", "u", "leading", []int{0, 2, 3},
			func(d *decomposition) { d.info.Cut.Next = d.s[2] }},
		{"the norm of another part", "", "residual", first(4),
			func(d *decomposition) { d.info.Cut.Norm *= 1 + 1e-12 }},
		{"the norm of another part, of U", "v", "norm", first(4),
			func(d *decomposition) { d.info.Cut.Norm *= 1 + 1e-12 }},
		{"the norm of another part, of S", "uv", "norm", first(4),
			func(d *decomposition) { d.info.Cut.Norm *= 1 + 1e-12 }},
		// ‖A − U·S·Vᵀ‖_F sees the square of the angle alone.
		{"turned by 1e-9", "", "pairsU pairsV", first(4), turned(1e-9)},
		{"a wrong value", "", "pairsU pairsV", first(4), func(d *decomposition) { d.s[1] *= 1 + 1e-11 }},
		{"NaN", "", "residual pairsU pairsV leading orthV", first(4),
			func(d *decomposition) { d.v[3] = math.NaN() }},
	} {
		d := decompose(t, 20, 12, wave).cutTo(c.keep...)
		if c.spoil != nil {
			c.spoil(d)
		}
		r, err := d.without(c.missing).run(t, defaultBudget)
		got := strings.Fields(verdicts(r))
		for _, name := range strings.Fields(c.failed) {
			if err != nil || !slices.Contains(got, name) {
				t.Errorf("%s: %v, error %v, want %s to fail", c.name, r, err, c.failed)
				break
			}
		}
	}
}

// A short S is one that was cut only if info.json says so, of a matrix of this shape.
func TestCutOfAnother(t *testing.T) {
	for _, cut := range []*report.Cut{nil, {Of: 7}} {
		d := decompose(t, 9, 8, wave).cutTo(first(3)...)
		d.info.Cut = cut
		if r, err := d.run(t, defaultBudget); err == nil || !strings.Contains(err.Error(), "3 singular values") {
			t.Errorf("%v: %v, error %v", cut, r, err)
		}
	}
}
