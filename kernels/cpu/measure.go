package cpu

import (
	"math"

	"jmpi/internal/dense"
	"jmpi/kernels"
)

func (d *device) Lengths(p []kernels.Panel) ([]float64, error) {
	if err := kernels.CheckList(p); err != nil {
		return nil, named("Lengths", err)
	}
	first := make([]int, len(p)) // number of a panel's first column among all
	columns := 0
	for i := range p {
		first[i] = columns
		columns += p[i].N
	}
	lengths := make([]float64, columns)
	err := d.eachPiece(p, moved, func(i, j0, j1 int) {
		for j := j0; j < j1; j++ {
			lengths[first[i]+j] = dense.Length(column(p[i], j))
		}
	})
	return lengths, named("Lengths", err)
}

func (d *device) RowMaxima(p kernels.Panel, columns []float64) ([]float64, error) {
	if err := p.CheckFactors(nil, columns); err != nil {
		return nil, named("RowMaxima", err)
	}
	maxima := make([]float64, p.M)
	err := d.eachRows(p.M, pieceRows, func(_ *workspace, i0, i1 int) error {
		for j := range p.N {
			size := 1.0
			if columns != nil {
				size = columns[j]
			}
			for i, x := range column(p, j)[i0:i1] {
				if q := math.Abs(x) / size; q > maxima[i0+i] { // false for 0/0 and NaN
					maxima[i0+i] = q
				}
			}
		}
		return nil
	})
	return maxima, named("RowMaxima", err)
}

func (d *device) ColumnMaxima(p kernels.Panel, rows []float64) ([]float64, error) {
	if err := p.CheckFactors(rows, nil); err != nil {
		return nil, named("ColumnMaxima", err)
	}
	return d.columnNumbers("ColumnMaxima", p, func(c []float64) (most float64) {
		for i, x := range c {
			q := math.Abs(x)
			if rows != nil {
				q /= rows[i]
			}
			if q > most { // false for 0/0 and NaN
				most = q
			}
		}
		return most
	})
}

func (d *device) Leads(p kernels.Panel) ([]float64, error) {
	return d.columnNumbers("Leads", p, dense.Lead)
}

func (d *device) ColumnNorms(p kernels.Panel) ([]float64, error) {
	if p.Type != kernels.Float32 {
		return d.columnNumbers("ColumnNorms", p, kernels.Norm2)
	}
	y := make([]float64, p.N)
	err := p.CheckAny("panel")
	if err == nil {
		err = d.eachColumns(p, func(j0, j1 int) {
			x := make([]float64, p.M)
			for j := j0; j < j1; j++ {
				for i, e := range columnOf[float32](p, j) {
					x[i] = float64(e)
				}
				y[j] = kernels.Norm2(x)
			}
		})
	}
	return y, named("ColumnNorms", err)
}

// columnNumbers returns f of each column.
func (d *device) columnNumbers(primitive string, p kernels.Panel,
	f func(c []float64) float64) ([]float64, error) {
	if err := p.Check("panel"); err != nil {
		return nil, named(primitive, err)
	}
	y := make([]float64, p.N)
	err := d.eachColumn(p, func(j int, c []float64) {
		y[j] = f(c)
	})
	return y, named(primitive, err)
}
