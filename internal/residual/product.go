package residual

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// residual returns ‖A − U·diag(S)·Vᵀ‖_F / (‖A‖_F·max(m,n)·ε); of a
// hyperbolic decomposition ‖U·diag(S)‖_F·‖V‖_F stands for ‖A‖_F. Of a cut one it is the difference of
// ‖A − U·diag(S)·Vᵀ‖_F and the norm of what was cut. A
// panel of rows of A is overwritten by its residual, panel of rows by panel of rows of V.
func (d *factors) residual(c scale) (float64, error) {
	s := c.vector(d.s)
	var u panel
	var normA, normUS, normV, norm float64 // squares
	err := d.panels(d.a, func(i0 int64, a panel) error {
		c.panel(a)
		normA += a.sumSquares()
		u.rows, u.cols = a.rows, int(d.k)
		if d.k == 0 {
			norm = normA
			return nil
		}
		if u.data == nil { // the first panel is the largest, and k ≤ n
			u.data = make([]float64, u.rows*u.cols)
		}
		if err := d.u.ReadRows(i0, i0+int64(u.rows), u.data, u.rows); err != nil {
			return err
		}
		u.scaleColumns(func(l int) float64 { return s[l] })
		normUS += u.sumSquares()
		normV = 0
		err := d.panels(d.v, func(j0 int64, v panel) error {
			normV += v.sumSquares()
			a.columns(int(j0), int(j0)+v.rows).add(-1, blas.NoTrans, u, blas.Trans, v)
			return nil
		})
		norm += a.sumSquares()
		return err
	})
	off := math.Sqrt(norm)
	if d.cut != nil {
		off = math.Abs(off - c.vector([]float64{d.cut.Norm})[0])
	}
	if off == 0 {
		return 0, err
	}
	size := math.Sqrt(normA)
	if d.signature != nil {
		size = math.Sqrt(normUS) * math.Sqrt(normV)
	}
	return off / (size * float64(max(d.m, d.n)) * epsilon), err
}
