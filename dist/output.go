package dist

import (
	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
)

// Part is a rectangle of a matrix of singular vectors: rows Row ≤ i < Row+M, columns Column ≤ j < Column+N, column-major with leading
// dimension M. Column k belongs to Sigma[k].
type Part struct {
	Row, Column, M, N int
	Data              []float64
}

// Vectors calls left and right with the parts of U and V that this rank has, which may be kept only until the call returns; nil for what is
// not wanted. In each column of U (of V if the task says so) the entry of largest magnitude, the first of them, is positive; columns of U whose
// singular value is zero are completed to an orthonormal set. It is collective.
func (d *Decomposition) Vectors(left, right func(Part) error) error {
	if left == nil && right == nil {
		return nil
	}
	if d.direct {
		ordered := make([]float64, d.task.N)
		return d.Solution.Columns(d.task.RightLeads, func(k int, u, v []float64) error {
			if left != nil {
				if err := left(Part{0, k, len(u), 1, u}); err != nil {
					return err
				}
			}
			if right == nil {
				return nil
			}
			if d.order != nil {
				for j, l := range d.order {
					ordered[l] = v[j]
				}
				v = ordered
			}
			return right(Part{0, k, len(v), 1, v})
		})
	}
	flip, err := d.flips()
	if err != nil {
		return err
	}
	return comm.Agree(d.comm, comm.BadResource, d.parts(flip, left, right))
}

// parts gives what this rank has.
func (d *Decomposition) parts(flip []bool, left, right func(Part) error) error {
	if left != nil && d.slabs != nil {
		for _, slab := range d.slabs.Mine() {
			i0, i1 := d.slabs.Span(slab)
			p := Part{i0, 0, i1 - i0, d.task.N, d.slabs.Own[slab].A}
			p.flip(flip)
			if err := left(p); err != nil {
				return err
			}
		}
		left = nil
	}
	for _, side := range []struct {
		s    *matrix.Matrix
		give func(Part) error
	}{{d.u, left}, {d.v, right}} {
		if side.give == nil {
			continue
		}
		for b := d.comm.Rank(); b < side.s.Blocks(); b += d.comm.Size() {
			j0, j1 := side.s.Span(b)
			p := Part{0, j0, side.s.M, j1 - j0, side.s.Own[b]}
			p.flip(flip)
			if err := side.give(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// flip changes the signs of the columns that are marked.
func (p Part) flip(marked []bool) {
	for j := range p.N {
		if marked[p.Column+j] {
			dense.Negate(p.Data[j*p.M : (j+1)*p.M])
		}
	}
}

// flips tells which columns must change their sign, on every rank.
func (d *Decomposition) flips() ([]bool, error) {
	flip := make([]bool, len(d.Sigma))
	if d.slabs != nil && !d.task.RightLeads {
		lead, err := d.slabs.Leads()
		for k, x := range lead {
			flip[k] = x < 0
		}
		return flip, err
	}
	s := d.u
	if d.task.RightLeads {
		s = d.v
	}
	lead, err := s.GatherColumns(func(j int) float64 {
		if dense.LeadsNegative(s.Column(j)) {
			return -1
		}
		return 1
	})
	for k, x := range lead {
		flip[k] = x < 0
	}
	return flip, err
}
