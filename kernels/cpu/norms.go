package cpu

import (
	"fmt"

	"jmpi/kernels"
)

func (d *device) ColumnNorms(p kernels.Panel) ([]float64, error) {
	if err := p.Check("panel"); err != nil {
		return nil, fmt.Errorf("cpu: ColumnNorms: %w", err)
	}
	norms := make([]float64, p.N)
	err := d.eachColumns(p, func(j0, j1 int) {
		for j := j0; j < j1; j++ {
			norms[j] = kernels.Norm2(column(p, j))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("cpu: ColumnNorms: %w", err)
	}
	return norms, nil
}
