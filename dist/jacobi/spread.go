package jacobi

import (
	"encoding/binary"
	"fmt"
	"math"

	"jmpi/dist/comm"
	"jmpi/kernels"
	"jmpi/node"
)

// spread is G, m×n, and V where it is carried, on the devices of all ranks.
type spread struct {
	comm      comm.Comm
	layout    node.Layout
	m, n      int
	precision kernels.Element
	runners   []*runner // of this rank's devices
}

// each calls f for every macro block-column on this rank.
func (s *spread) each(f func(r *runner, slot, column int) error) error {
	for _, r := range s.runners {
		for slot := range node.Slots {
			if column := r.dev.Column(slot); column >= 0 {
				if err := f(r, slot, column); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// runner returns that of a device, nil if it is another rank's.
func (s *spread) runner(id int) *runner {
	for _, r := range s.runners {
		if r.id == id {
			return r
		}
	}
	return nil
}

// panels returns a macro block-column of G and V.
func (s *spread) panels(r *runner, slot, column int) node.Block {
	return r.dev.Panels(slot, column, 0, s.layout.PerMacro)
}

// panel returns a macro block-column of G or, with right, of V.
func (s *spread) panel(r *runner, slot, column int, right bool) kernels.Panel {
	b := s.panels(r, slot, column)
	if right {
		return b.V
	}
	return b.G
}

// lengths returns the norms of the columns of a macro block-column of G or, with right, of V.
func (s *spread) lengths(r *runner, slot, column int, right bool) ([]float64, error) {
	b := s.panels(r, slot, column)
	if right || s.precision != kernels.Float32 {
		return r.dev.Backend.ColumnNorms(s.panel(r, slot, column, right))
	}
	x := make([]float64, b.Norms.M)
	return x, r.dev.Backend.Read(x, max(1, len(x)), b.Norms)
}

// norms gathers the column norms of G or, with right, of V, in the order of the columns. It is collective.
func (s *spread) norms(right bool) ([]float64, error) {
	var mine []byte
	err := s.each(func(r *runner, slot, column int) error {
		x, err := s.lengths(r, slot, column, right)
		if err != nil {
			return err
		}
		mine = binary.LittleEndian.AppendUint64(mine, uint64(column))
		for _, f := range x {
			mine = binary.LittleEndian.AppendUint64(mine, math.Float64bits(f))
		}
		return nil
	})
	all, e := s.comm.Allgather(mine)
	if e != nil {
		return nil, fmt.Errorf("jacobi: singular values: %w", e)
	}
	if err != nil {
		return nil, fmt.Errorf("jacobi: singular values: %w", err)
	}
	norms := make([]float64, s.n)
	for rank, b := range all {
		for len(b) >= 8 {
			j0, j1 := s.layout.Macro(int(binary.LittleEndian.Uint64(b)))
			b = b[8:]
			if len(b) < 8*(j1-j0) {
				return nil, fmt.Errorf("jacobi: singular values: rank %d sent %d bytes too few", rank, 8*(j1-j0)-len(b))
			}
			for j := j0; j < j1; j++ {
				norms[j] = math.Float64frombits(binary.LittleEndian.Uint64(b))
				b = b[8:]
			}
		}
	}
	return norms, nil
}
