package jacobi

import (
	"slices"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
)

// Columns calls visit for each column that lies on this rank's devices: k is its number in Sigma, u (length
// M) the left singular vector, v (length N, nil if V was not accumulated) the right one; both may be kept
// only until visit returns. The entry of largest magnitude (the first of them) of u, or of v with signByV, is
// positive. Columns of U whose singular value is zero are completed to an orthonormal set. It is collective.
func (s *Solution) Columns(signByV bool, visit func(k int, u, v []float64) error) error {
	c := completion{s.run.spread, s.at.norm}
	completed, err := c.complete()
	if err != nil {
		return err
	}
	return comm.Agree(s.run.comm, comm.BadResource, s.columns(signByV, completed, visit))
}

func (s *Solution) columns(signByV bool, completed map[int][]float64,
	visit func(k int, u, v []float64) error) error {
	return s.run.each(func(r *runner, slot, column int) error {
		g, v := s.run.panels(r, slot, column)
		j0, _ := s.Layout.Macro(column)
		vbuf := make([]float64, v.M)
		return chunks(g, func(a, b int, buf []float64) error {
			if err := r.dev.Backend.Read(buf, g.M, g.Columns(a, b)); err != nil {
				return err
			}
			for i := range b - a {
				j := j0 + a + i
				u := buf[i*g.M : (i+1)*g.M]
				if c := completed[j]; c != nil {
					u = c
				} else {
					for l := range u {
						u[l] /= s.at.norm[j]
					}
				}
				x := []float64(nil)
				if v.N > 0 {
					x = vbuf
					if err := r.dev.Backend.Read(x, v.M, v.Columns(a+i, a+i+1)); err != nil {
						return err
					}
					invert(j, s.run.config.positive(), x)
				}
				lead := u
				if signByV {
					lead = x
				}
				if dense.LeadsNegative(lead) {
					dense.Negate(u)
					dense.Negate(x)
				}
				if err := visit(s.at.position[j], u, x); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// invert turns column j of the accumulated W into that of V = W⁻ᵀ = J·W·J ([Nov15, §2]).
func invert(j, positive int, x []float64) {
	if j < positive {
		dense.Negate(x[positive:])
	} else {
		dense.Negate(x[:positive])
	}
}

// Collect brings the singular vectors from the devices into the memory of the hosts, in the order of Sigma; v
// is nil if V was not accumulated. It is collective.
func (s *Solution) Collect(threads int) (u, v *matrix.Matrix, err error) {
	left, right := map[int][]float64{}, map[int][]float64{}
	err = s.Columns(false, func(k int, x, y []float64) error {
		left[k] = slices.Clone(x)
		if y != nil {
			right[k] = slices.Clone(y)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	m, n := s.run.m, s.run.n
	if u, err = matrix.Scatter(s.run.comm, threads, m, n, left); err != nil || !s.run.config.Vectors {
		return u, nil, err
	}
	v, err = matrix.Scatter(s.run.comm, threads, n, n, right)
	return u, v, err
}
