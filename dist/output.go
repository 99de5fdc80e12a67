package dist

import (
	"fmt"
	"math"

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
	return Agree(d.comm, BadResource, d.parts(flip, left, right))
}

// parts gives what this rank has.
func (d *Decomposition) parts(flip []bool, left, right func(Part) error) error {
	if left != nil && d.slabs != nil {
		for _, slab := range d.slabs.mine() {
			i0, i1 := d.slabs.span(slab)
			p := Part{i0, 0, i1 - i0, d.task.N, d.slabs.own[slab].a}
			p.flip(flip)
			if err := left(p); err != nil {
				return err
			}
		}
		left = nil
	}
	for _, side := range []struct {
		s    *sheet
		give func(Part) error
	}{{d.u, left}, {d.v, right}} {
		if side.give == nil {
			continue
		}
		for b := d.comm.Rank(); b < side.s.blocks(); b += d.comm.Size() {
			j0, j1 := side.s.span(b)
			p := Part{0, j0, side.s.m, j1 - j0, side.s.own[b]}
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
		lead, err := d.slabs.leads()
		for k, x := range lead {
			flip[k] = x < 0
		}
		return flip, err
	}
	s := d.u
	if d.task.RightLeads {
		s = d.v
	}
	lead, err := s.gatherColumns(func(j int) float64 {
		if dense.LeadsNegative(s.column(j)) {
			return -1
		}
		return 1
	})
	for k, x := range lead {
		flip[k] = x < 0
	}
	return flip, err
}

// leads returns, for each column, its first entry of largest magnitude.
func (s *slabs) leads() ([]float64, error) {
	lead := make([]float64, s.n)
	larger := func(k int, x float64) {
		if math.Abs(x) > math.Abs(lead[k]) {
			lead[k] = x
		}
	}
	for _, slab := range s.mine() {
		f := s.own[slab]
		for k := range s.n {
			for _, x := range f.a[k*f.m : (k+1)*f.m] {
				larger(k, x)
			}
		}
	}
	all, err := gather(s.comm, lead)
	if err != nil {
		return nil, fmt.Errorf("dist: signs: %w", err)
	}
	lead = make([]float64, s.n)
	for _, part := range all { // the slabs of the ranks follow one another
		for k, x := range part {
			larger(k, x)
		}
	}
	return lead, nil
}
