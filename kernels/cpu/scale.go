package cpu

import (
	"jmpi/internal/dense"
	"jmpi/kernels"
)

func (d *device) Scale(p kernels.Panel, rows, columns []float64) error {
	err := p.CheckFactors(rows, columns)
	if err == nil {
		err = d.eachColumns(p, func(j0, j1 int) {
			for j := j0; j < j1; j++ {
				c := column(p, j)
				for i, f := range rows {
					c[i] *= f
				}
				if columns != nil {
					dense.Scale(c, columns[j])
				}
			}
		})
	}
	return named("Scale", err)
}

func (d *device) Divide(p kernels.Panel, rows, columns []float64) error {
	err := p.CheckFactors(rows, columns)
	if err == nil {
		err = d.eachColumns(p, func(j0, j1 int) {
			for j := j0; j < j1; j++ {
				c := column(p, j)
				for i, f := range rows {
					c[i] /= f
				}
				if columns == nil {
					continue
				}
				for i := range c {
					c[i] /= columns[j]
				}
			}
		})
	}
	return named("Divide", err)
}

func (d *device) Ldexp(p kernels.Panel, e int) error {
	err := p.Check("panel")
	if err == nil {
		err = d.eachColumns(p, func(j0, j1 int) {
			for j := j0; j < j1; j++ {
				dense.Ldexp(column(p, j), e)
			}
		})
	}
	return named("Ldexp", err)
}
