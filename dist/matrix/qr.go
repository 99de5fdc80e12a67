package matrix

import (
	"fmt"
	"math"

	"jmpi/kernels"
)

// Factor computes the QR factorization of a matrix, A = Q·R, by Householder reflectors, and overwrites it by
// R. No number comes to the hosts, so on GPUs panels are queued without waiting. It is collective.
func Factor(s *Matrix) (*Orthogonal, error) {
	q, _, err := factorWhile(s, nil)
	return q, err
}

// FactorIndependent is Factor for columns that may depend on each other. It tells whether they seem to: an
// element on the diagonal of R is at most tol[j]. Then it ends early, and s is undefined. It is collective.
func FactorIndependent(s *Matrix, tol []float64) (q *Orthogonal, independent bool, err error) {
	return factorWhile(s, tol)
}

// checkedPanels is how many panels are factored between two looks at the diagonal of R, for which the host
// waits.
const checkedPanels = 8

// factorWhile factors blocks while no element on the diagonal of R is at most tol[j]; nil: all blocks. While
// a device factors its block, all devices apply the reflectors of the block before to the blocks behind it.
func factorWhile(s *Matrix, tol []float64) (q *Orthogonal, independent bool, err error) {
	f := &stepping{Matrix: s, q: &Orthogonal{Devices: s.Devices, M: s.M},
		beside: make([]kernels.Mark, len(s.own))}
	independent = true
	count, seen := min(s.M, s.N), 0 // columns to be factored, and those of which the diagonal was looked at
	for b := 0; b*s.tile < count && err == nil; b++ {
		if err = f.block(b); err != nil {
			break
		}
		_, end := s.span(b)
		end = min(end, count)
		if tol == nil || (end-seen)/kernels.PanelWidth < checkedPanels && end < count {
			continue
		}
		if independent, err = s.exceed(seen, end, tol); !independent {
			break
		}
		seen = end
	}
	if err == nil && independent {
		err = f.reflect((count + s.tile - 1) / s.tile)
	}
	if err == nil {
		err = f.meet()
	}
	if err != nil {
		return f.q, false, fmt.Errorf("matrix: QR factorization: %w", err)
	}
	return f.q, independent, nil
}

// stepping is a QR factorization under way. The reflectors of the last block that was factored have been
// shown to all devices, but not been applied to other blocks.
type stepping struct {
	*Matrix
	q         *Orthogonal
	rows      []int                  // on which the reflectors of each panel act, from this one on
	remaining int                    // how many columns of the matrix they are to be applied to
	shown     [][]kernels.Reflectors // of each panel, on each device of this rank
	// of each device of this rank: behind this come they, and what was applied before to the blocks
	beside []kernels.Mark
}

// block factors block b. Beside that the reflectors of the block before are applied to those behind it.
func (f *stepping) block(b int) error {
	lead := f.owner(b)
	if err := f.reflect(b + 1); err != nil {
		return err
	}
	var panels []reflectors
	j0, j1 := f.span(b)
	width := Together(f.own[0].Limits(), f.M)
	for j := j0; j < min(j1, f.M); j += width {
		panels = append(panels, reflectors{row: j, count: min(width, j1-j, f.M-j), owner: lead})
	}
	if dev := f.here(lead); dev != nil {
		if err := f.factor(dev, b, panels); err != nil {
			return err
		}
	}
	f.q.panels = append(f.q.panels, panels...)
	f.rows, f.shown = nil, nil
	if j1 == f.N { // no columns are left
		return nil
	}
	for _, p := range panels {
		f.rows = append(f.rows, p.row)
	}
	f.remaining = f.N - j1
	ready, err := f.ready()
	if err != nil {
		return err
	}
	// What is shown takes the place of the block before the last, whose reflectors a device may have used in
	// factoring.
	f.beside, err = f.Devices.beside(ready.marks, func() (err error) {
		f.shown, err = f.q.shown(panels, ready)
		return err
	})
	return err
}

// factor applies the reflectors of the block before to block b, and factors it panel by panel, on its device.
func (f *stepping) factor(dev *device, b int, panels []reflectors) (err error) {
	i, x := f.indexOf(dev), f.Matrix.block(b)
	if err := dev.Follow(f.beside[i]); err != nil {
		return err
	}
	for k, row := range f.rows {
		if err := dev.Reflect(f.shown[k][i], true, []kernels.Panel{x.Rows(row, f.M)}, f.remaining); err != nil {
			return err
		}
	}
	j0, _ := f.span(b)
	for k := range panels {
		r := &panels[k]
		if r.memory, err = f.q.reserve(dev, f.M-r.row, r.count); err != nil {
			return err
		}
		if err := f.columns(dev, x.Columns(r.row-j0, x.N).Rows(r.row, f.M), r.of(f.M, r.memory)); err != nil {
			return err
		}
	}
	return nil
}

// columns factors the first columns of x, as many as q has reflectors, panel by panel, and applies these to
// the others.
func (f *stepping) columns(dev *device, x kernels.Panel, q kernels.Reflectors) error {
	for at := 0; at < q.Y.N; at += kernels.PanelWidth {
		to := min(at+kernels.PanelWidth, q.Y.N)
		a, part := x.Columns(at, to).Rows(at, x.M), diagonalPart(q, at, to)
		if err := dev.FactorPanel(a, part, a.Rows(0, to-at)); err != nil {
			return err
		}
		if to == x.N {
			continue
		}
		if err := dev.Reflect(part, true, []kernels.Panel{x.Columns(to, x.N).Rows(at, x.M)}, 0); err != nil {
			return err
		}
	}
	return dev.Join(q)
}

// reflect applies the reflectors that are shown to the blocks from one on, beside what else is queued.
func (f *stepping) reflect(from int) error {
	return f.each(func(i int, dev *device) error {
		_, err := dev.Beside(func() error {
			for k, row := range f.rows {
				if err := dev.Reflect(f.shown[k][i], true, f.behind(i, from*f.tile, row), f.remaining); err != nil {
					return err
				}
			}
			return nil
		})
		return err
	})
}

// behind returns the columns from j on of each block of this rank's device i, from a row on.
func (s *Matrix) behind(i, j, row int) (all []kernels.Panel) {
	for b := range s.blocksOf(s.first + i) {
		if j0, j1 := s.span(b); j < j1 {
			all = append(all, s.block(b).Columns(max(0, j-j0), j1-j0).Rows(row, s.M))
		}
	}
	return all
}

// exceed tells whether the elements on the diagonal exceed tol[j] in size, for the columns j0 ≤ j < j1. It is
// collective.
func (s *Matrix) exceed(j0, j1 int, tol []float64) (bool, error) {
	small := []int64{0}
	err := s.eachDiagonal(j0, j1, func(j int, x float64) {
		if !(math.Abs(x) > tol[j]) {
			small[0] = 1
		}
	})
	if err == nil {
		err = s.Comm.AllreduceMax(small)
	}
	return small[0] == 0, err
}
