package residual

import (
	"math"
	"slices"
)

// scale is a power of two, as the product of two factors: one may overflow.
type scale struct{ first, second float64 }

// scale returns that with which the largest |A| is in [½,1); for A = 0, the largest of |S|.
func (d *factors) scale() (scale, error) {
	size := 0.0
	err := d.panels(d.a, func(_ int64, p panel) error {
		sizes := make([]float64, p.cols)
		p.eachColumn(func(j int, column []float64) { sizes[j] = largest(column) })
		size = max(size, largest(sizes))
		return nil
	})
	if size == 0 {
		size = largest(d.s)
	}
	_, e := math.Frexp(size)
	return scale{math.Ldexp(1, -e/2), math.Ldexp(1, e/2-e)}, err
}

// panel scales all entries.
func (c scale) panel(p panel) {
	p.eachColumn(func(_ int, column []float64) {
		for i := range column {
			column[i] = column[i] * c.first * c.second
		}
	})
}

// vector returns x, scaled.
func (c scale) vector(x []float64) []float64 {
	scaled := slices.Clone(x)
	c.panel(panel{len(x), 1, scaled})
	return scaled
}
