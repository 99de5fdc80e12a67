package dist

import (
	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
)

// Part is a rectangle of a matrix of singular vectors: rows Row ≤ i < Row+M, columns Column ≤ j < Column+N,
// column-major with leading dimension M. Column k belongs to Sigma[k].
type Part struct {
	Row, Column, M, N int
	Data              []float64
}

// vectors are the singular vectors of A, where they lie.
type vectors struct {
	u, v       *matrix.Matrix   // nil where they are not needed, or elsewhere
	slabs      *matrix.Slabs    // U of a tall matrix
	direct     *jacobi.Solution // U and V on the devices
	order      []int            // row j of the V on the devices is row order[j] of V; nil: row j
	rightLeads bool
}

// Vectors calls left and right with the parts of U and V that this rank has, which may be kept only until the
// call returns; nil for what is not wanted. In each column of U (of V if the task says so) the entry of
// largest magnitude, the first of them, is positive; columns of U whose singular value is zero are completed
// to an orthonormal set. It is collective.
func (d *Decomposition) Vectors(left, right func(Part) error) error {
	if left == nil && right == nil {
		return nil
	}
	if d.vectors.direct != nil {
		return d.vectors.fromDevices(left, right)
	}
	flip, err := d.vectors.flips(len(d.Sigma))
	if err != nil {
		return err
	}
	return comm.Agree(d.where.Comm, comm.BadResource, d.vectors.parts(flip, left, right))
}

// fromDevices gives the columns of U and V that lie on this rank's devices.
func (x vectors) fromDevices(left, right func(Part) error) error {
	ordered := make([]float64, len(x.order))
	return x.direct.Columns(x.rightLeads, func(k int, u, v []float64) error {
		if left != nil {
			if err := left(Part{0, k, len(u), 1, u}); err != nil {
				return err
			}
		}
		if right == nil {
			return nil
		}
		if x.order != nil {
			for j, l := range x.order {
				ordered[l] = v[j]
			}
			v = ordered
		}
		return right(Part{0, k, len(v), 1, v})
	})
}

// parts gives what this rank has.
func (x vectors) parts(flip []bool, left, right func(Part) error) error {
	if left != nil && x.slabs != nil {
		err := x.slabs.EachStrip(func(i0, i1 int, a []float64) error {
			p := Part{i0, 0, i1 - i0, len(flip), a}
			p.flip(flip)
			return left(p)
		})
		if err != nil {
			return err
		}
		left = nil
	}
	for _, side := range []struct {
		x    *matrix.Matrix
		give func(Part) error
	}{{x.u, left}, {x.v, right}} {
		if side.give == nil {
			continue
		}
		err := side.x.EachBlock(func(j0, j1 int, data []float64) error {
			p := Part{0, j0, side.x.M, j1 - j0, data}
			p.flip(flip)
			return side.give(p)
		})
		if err != nil {
			return err
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

// flips tells which of the n columns must change their sign, on every rank.
func (x vectors) flips(n int) (flip []bool, err error) {
	var lead []float64
	if x.slabs != nil && !x.rightLeads {
		lead, err = x.slabs.Leads()
	} else {
		s := x.u
		if x.rightLeads {
			s = x.v
		}
		lead, err = s.Leads()
	}
	flip = make([]bool, n)
	for k, e := range lead {
		flip[k] = e < 0
	}
	return flip, err
}
