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
// norm 1, so that of G·V carries errors of at least 2⁻⁵³ times the norm of the shortest column of G, or 2⁻²⁴
// times it in float32. It is 0 if all columns are zero.
func floorOf(norms []float64, e kernels.Element) float64 {
	shortest := 0.0
	for _, x := range norms {
		if x > 0 && (shortest == 0 || x < shortest) {
			shortest = x
		}
	}
	if e == kernels.Float32 {
		return kernels.UnitRoundoff32 * shortest
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
			if err := r.clearBelow(d, slot, column, floor); err != nil {
				return fmt.Errorf("jacobi: dependent columns: %w", err)
			}
		}
		return d.dev.Backend.Sync()
	})
}

// clearBelow sets the columns of a macro block-column of G to zero that are shorter than floor.
func (s *spread) clearBelow(r *runner, slot, column int, floor float64) error {
	be, b := r.dev.Backend, s.panels(r, slot, column)
	norms, err := s.lengths(r, slot, column, false)
	if err != nil {
		return err
	}
	short := false
	for j, x := range norms {
		if x == 0 || x >= floor {
			continue
		}
		if err := be.Identity(b.G.Columns(j, j+1), b.G.M); err != nil { // no row: zero
			return err
		}
		norms[j], short = 0, true
	}
	if !short || s.precision != kernels.Float32 {
		return nil
	}
	return be.Write(b.Norms, norms, len(norms))
}
