package cpu

import (
	"jmpi/internal/dense"
	"jmpi/kernels"
)

func (d *device) Scale(p kernels.Panel, rows, columns []float64) error {
	err := p.CheckFactors(rows, columns)
	if err == nil {
		err = d.eachColumn(p, func(j int, c []float64) {
			for i, f := range rows {
				c[i] *= f
			}
			if columns != nil {
				dense.Scale(c, columns[j])
			}
		})
	}
	return named("Scale", err)
}

func (d *device) Divide(p kernels.Panel, rows, columns []float64) error {
	err := p.CheckFactors(rows, columns)
	if err == nil {
		err = d.eachColumn(p, func(j int, c []float64) {
			for i, f := range rows {
				c[i] /= f
			}
			if columns == nil {
				return
			}
			for i := range c {
				c[i] /= columns[j]
			}
		})
	}
	return named("Divide", err)
}

func (d *device) Ldexp(p kernels.Panel, e int) error {
	err := p.Check("panel")
	if err == nil {
		err = d.eachColumn(p, func(_ int, c []float64) { dense.Ldexp(c, e) })
	}
	return named("Ldexp", err)
}

func (d *device) Add(dst, src kernels.Panel) error {
	err := kernels.CheckAdd(dst, src)
	if err == nil {
		err = d.eachColumn(dst, func(j int, c []float64) {
			for i, x := range column(src, j) {
				c[i] += x
			}
		})
	}
	return named("Add", err)
}
