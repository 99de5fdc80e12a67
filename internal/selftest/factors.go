package selftest

import (
	"math"

	"jmpi/kernels"
)

func abs(x float64) float64 { return math.Abs(x) }
func pow10(e int) float64   { return math.Pow10(e) }

// gramTest compares Gram matrices.
func gramTest(device, reference kernels.Backend) (float64, error) {
	x := pivotProblems()
	got, want, err := x.onBoth(device, reference,
		func(be kernels.Backend, b *kernels.Batch) error { return be.Gram(b) })
	if err != nil {
		return 0, err
	}
	var w worst
	for i, g := range x.g {
		w.compare(got.r[i], want.r[i], g.norms(), 4*float64(g.m)*kernels.UnitRoundoff)
	}
	return float64(w), nil
}

// compare adds |x_ij − y_ij| by the bound tol·‖a_i‖·‖a_j‖.
func (w *worst) compare(x, y matrix, norms []float64, tol float64) {
	for j := range x.n {
		for i := range x.m {
			w.add(abs(x.a[i+j*x.m]-y.a[i+j*x.m]), tol*norms[i]*norms[j])
		}
	}
}

// choleskyTest factors Gram matrices, some of which break down.
func choleskyTest(device, reference kernels.Backend) (float64, error) {
	h, err := pivotProblems().on(reference, reference.Gram)
	if err != nil {
		return 0, err
	}
	got, want, err := h.onBoth(device, reference,
		func(be kernels.Backend, b *kernels.Batch) error { return be.Cholesky(b) })
	if err != nil {
		return 0, err
	}
	if differingTallies(got, want) > 0 {
		return 0, errTallies
	}
	var w worst
	for i, r := range got.r {
		if want.tally[i].Broken == 0 && want.tally[i].Inactive == 0 {
			norms := h.g[i].norms()
			w.compare(r.gram(nil), h.r[i], norms, 4*float64(r.n+1)*kernels.UnitRoundoff)
		}
	}
	return float64(w), nil
}

// qrTest factors the pivots themselves.
func qrTest(device, reference kernels.Backend) (float64, error) {
	x := pivotProblems()
	for i := range x.tally {
		x.tally[i].Broken = 1
	}
	got, want, err := x.onBoth(device, reference,
		func(be kernels.Backend, b *kernels.Batch) error { return be.QR(b) })
	if err != nil {
		return 0, err
	}
	var w worst
	for i, g := range x.g {
		norms := g.norms() // taken out before squares of graded columns are formed
		ones := make([]float64, g.n)
		for j := range ones {
			ones[j] = 1
		}
		w.compare(got.r[i].gram(norms), want.r[i].gram(norms), ones, 16*float64(g.m+g.n)*kernels.UnitRoundoff)
	}
	return float64(w), nil
}

// multiplyTest applies orthogonal transformations to the pivots of G and V; one problem is unchanged,
// and columns of R are zero.
func multiplyTest(device, reference kernels.Backend) (float64, error) {
	x, err := rotated(reference)
	if err != nil {
		return 0, err
	}
	x.tally[0].Changed = 0
	clear(x.r[1].column(5))
	got, want, err := x.onBoth(device, reference,
		func(be kernels.Backend, b *kernels.Batch) error { return be.Multiply(b) })
	if err != nil {
		return 0, err
	}
	var w worst
	for i, t := range x.t {
		for _, c := range []struct{ before, got, want matrix }{{x.g[i], got.g[i], want.g[i]},
			{x.v[i], got.v[i], want.v[i]}} {
			bound := c.before.absTimes(t)
			for l, b := range bound.a {
				w.add(abs(c.got.a[l]-c.want.a[l]), 4*float64(t.n)*kernels.UnitRoundoff*b)
			}
		}
	}
	return float64(w), nil
}
