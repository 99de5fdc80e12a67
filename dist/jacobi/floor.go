package jacobi

import (
	"fmt"

	"jmpi/kernels"
	"jmpi/node"
)

// floorSweeps is after how many sweeps columns can be told to be rounding errors: before, small ones may
// still be what is left of a cancellation under way.
const floorSweeps = 3

// floorOf returns the norm below which a column of G·V is nothing but rounding errors: every column of V has
// norm 1, so that of G·V carries errors of at least 2⁻⁵³ times the norm of the shortest column of G. It is 0
// if all columns are zero.
func floorOf(norms []float64) float64 {
	shortest := 0.0
	for _, x := range norms {
		if x > 0 && (shortest == 0 || x < shortest) {
			shortest = x
		}
	}
	return kernels.UnitRoundoff * shortest
}

// clearDependent sets columns of rounding errors to zero. Dependent columns end as such, by combinations of
// more columns than one factor has, so that the pointwise method cannot tell (kernels.Backend, Jacobi). They
// would be orthogonalized again and again, each time to the errors of the errors: 1e-16, 1e-29, …, to the end
// of the range. A grading of the columns moves the bound, so graded columns stay.
func clearDependent(r *run, sweep int, floor float64) error {
	if sweep < floorSweeps || floor == 0 || r.config.Independent {
		return nil
	}
	return r.all(func(d *runner) error {
		if err := d.settle(); err != nil {
			return err
		}
		for slot := range node.Slots {
			column := d.dev.Column(slot)
			if column < 0 {
				continue
			}
			g, _ := r.panels(d, slot, column)
			norms, err := d.dev.Backend.ColumnNorms(g)
			if err != nil {
				return fmt.Errorf("jacobi: norms: %w", err)
			}
			for j, x := range norms {
				if x == 0 || x >= floor {
					continue
				}
				if err := d.dev.Backend.Identity(g.Columns(j, j+1), g.M); err != nil { // no row: zero
					return fmt.Errorf("jacobi: dependent columns: %w", err)
				}
			}
		}
		return d.dev.Backend.Sync()
	})
}
