package residual

import "math"

// scale returns the e for which 2^(−e)·max|A| lies in [½,1); for A = 0, that of max|S|.
func (d *factors) scale() (e int, err error) {
	size := 0.0
	err = d.panels(d.a, func(_ int64, p panel) error {
		sizes := make([]float64, p.cols)
		p.eachColumn(func(j int, column []float64) { sizes[j] = largest(column) })
		size = max(size, largest(sizes))
		return nil
	})
	if size == 0 {
		size = largest(d.s)
	}
	_, e = math.Frexp(size)
	return e, err
}

// residual returns ‖A − U·diag(S)·Vᵀ‖_F / (‖A‖_F·max(m,n)·ε), with A and S divided by 2^e; of a
// hyperbolic decomposition ‖U·diag(S)‖_F·‖V‖_F stands for ‖A‖_F. A
// panel of rows of A is overwritten by its residual, panel of rows by panel of rows of V.
func (d *factors) residual(e int) (float64, error) {
	// Two factors, because 2^(−e) alone may overflow.
	first, second := math.Ldexp(1, -e/2), math.Ldexp(1, e/2-e)
	s := make([]float64, d.k)
	for l, x := range d.s {
		s[l] = x * first * second
	}
	var u panel
	var normA, normUS, normV, norm float64 // squares
	err := d.panels(d.a, func(i0 int64, a panel) error {
		a.eachColumn(func(_ int, column []float64) {
			for i := range column {
				column[i] = column[i] * first * second
			}
		})
		normA += a.sumSquares()
		u.rows, u.cols = a.rows, int(d.k)
		if u.data == nil { // the first panel is the largest, and k ≤ n
			u.data = make([]float64, u.rows*u.cols)
		}
		if err := d.u.ReadRows(i0, i0+int64(u.rows), u.data, u.rows); err != nil {
			return err
		}
		u.eachColumn(func(l int, column []float64) {
			for i := range column {
				column[i] *= s[l]
			}
		})
		normUS += u.sumSquares()
		normV = 0
		err := d.panels(d.v, func(j0 int64, v panel) error {
			normV += v.sumSquares()
			c := a.data[int(j0)*a.rows:]
			tiles(a.rows, v.rows, func(i0, i1, j0, j1 int) {
				subtractProduct(i1-i0, j1-j0, u.cols, u.data[i0:], u.rows, v.data[j0:], v.rows, c[i0+j0*a.rows:], a.rows)
			})
			return nil
		})
		norm += a.sumSquares()
		return err
	})
	if norm == 0 {
		return 0, err
	}
	size := math.Sqrt(normA)
	if d.signature != nil {
		size = math.Sqrt(normUS) * math.Sqrt(normV)
	}
	return math.Sqrt(norm) / (size * float64(max(d.m, d.n)) * epsilon), err
}
