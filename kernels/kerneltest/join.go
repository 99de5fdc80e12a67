package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"jmpi/kernels"
)

// Join tests reflectors of several panels together: Q·R gives the columns back that were factored, and Q is
// orthogonal. The columns are random, or those of the triangular factor of Kahan's matrix with pivoted
// columns, transposed: many of their elements are equal, so that sums which are formed one after the other
// are rounded in one direction.
func Join(t *testing.T, b kernels.Backend) {
	const bound = 600 * roundoff // of QᵀQ − I
	for _, s := range []struct{ m, k int }{{300, 130}, {400, 256}, {700, 256}} {
		for name, a := range map[string]matrix{"random": random(newRand(s.m), s.m, s.k),
			"Kahan": kahanRows(s.m, s.k)} {
			name = fmt.Sprintf("%s, %d×%d", name, s.m, s.k)
			q, r := factorJoined(t, b, a)
			unit := place(t, b, identity(s.m), kernels.Float64)
			must(t, b.Reflect(q, false, []kernels.Panel{unit.Panel}, s.m))
			all := unit.read()
			e := inner(all, all)
			for i := range s.m {
				e.set(i, i, e.at(i, i)-1)
			}
			off := kernels.Norm2(e.a)
			t.Logf("%s: QᵀQ − I is %.0f u", name, off/roundoff)
			if !(off <= bound) {
				t.Errorf("%s: QᵀQ − I is %.0f u", name, off/roundoff)
			}
			closeColumns(t, name, all.times(r), a, reflectorError(s.k))
		}
	}
	must(t, b.Join(kernels.Reflectors{}))
}

// factorJoined factors the columns of a panel by panel, and returns their reflectors, joined, and R.
func factorJoined(t *testing.T, b kernels.Backend, a matrix) (q kernels.Reflectors, r matrix) {
	t.Helper()
	x, y := place(t, b, a, kernels.Float64), place(t, b, newMatrix(a.m, a.n), kernels.Float64)
	q = kernels.Reflectors{Y: y.Panel, T: place(t, b, newMatrix(a.n, a.n), kernels.Float64).Panel}
	must(t, FactorJoined(b, x.Panel, q))
	return q, x.read()
}

// FactorJoined factors the columns of x panel by panel, and joins the reflectors. R takes the place of x. Q.Y
// and Q.T must be zero before.
func FactorJoined(b kernels.Backend, x kernels.Panel, q kernels.Reflectors) error {
	for at := 0; at < x.N; at += kernels.PanelWidth {
		to := min(at+kernels.PanelWidth, x.N)
		a := x.Columns(at, to).Rows(at, x.M)
		part := kernels.Reflectors{Y: q.Y.Columns(at, to).Rows(at, x.M), T: q.T.Columns(at, to).Rows(at, to)}
		if err := b.FactorPanel(a, part, a.Rows(0, to-at)); err != nil {
			return err
		}
		if err := b.Reflect(part, true, []kernels.Panel{x.Columns(to, x.N).Rows(at, x.M)}, 0); err != nil {
			return err
		}
	}
	return b.Join(q)
}

// kahanRows returns the first k rows of the triangular factor of Kahan's matrix with pivoted columns as the
// columns of a matrix of m rows.
func kahanRows(m, k int) matrix {
	sine, cosine := math.Sincos(1.2)
	x := newMatrix(m, m)
	for j := range m {
		for i := range j {
			x.set(i, j, -cosine*math.Pow(sine, float64(i)))
		}
		x.set(j, j, math.Pow(sine, float64(j)))
	}
	return factorized(x, panelOptions{}).x.transpose().columns(0, k)
}
