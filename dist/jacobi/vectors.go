package jacobi

import (
	"fmt"
	"math"
	"slices"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// Columns calls visit for each column that lies on this rank's devices: k is its number in Sigma, u (length
// M) the left singular vector, v (length N, nil if V was not accumulated) the right one; both may be kept
// only until visit returns. The entry of largest magnitude (the first of them) of u, or of v with signByV, is
// positive. U must not be Deficient. It is collective.
func (s *Solution) Columns(signByV bool, visit func(k int, u, v []float64) error) error {
	return comm.Agree(s.run.comm, comm.BadResource, s.columns(signByV, visit))
}

func (s *Solution) columns(signByV bool, visit func(k int, u, v []float64) error) error {
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
				for l := range u {
					u[l] /= s.at.norm[j]
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

// Collect makes matrices of the singular vectors, in the order of Sigma and with the signs of Columns; v is
// nil if V was not accumulated. Columns of U whose singular value is zero are completed to an orthonormal
// set. The memory of the block-columns is given back. It is collective.
func (s *Solution) Collect(d *matrix.Devices) (u, v *matrix.Matrix, err error) {
	u, v, err = s.take(d)
	s.Free()
	if err != nil {
		return nil, nil, err
	}
	if err = s.normalize(u); err != nil {
		return nil, nil, err
	}
	lead, err := u.Leads()
	if err != nil {
		return nil, nil, err
	}
	signs := make([]float64, len(lead))
	for k, x := range lead {
		signs[k] = math.Copysign(1, x)
	}
	if err = u.Scale(nil, signs); err != nil || v == nil {
		return u, nil, err
	}
	var j []float64 // nil for I
	if positive := s.run.config.positive(); positive < v.N {
		j = slices.Repeat([]float64{1}, v.N)
		dense.Negate(j[positive:])
		dense.Negate(signs[positive:])
	}
	return u, v, v.Scale(j, signs) // V = J·W·J, see invert
}

// take makes matrices of G·V and of W. It is collective.
func (s *Solution) take(d *matrix.Devices) (u, v *matrix.Matrix, err error) {
	left, right, err := s.pieces()
	if err != nil {
		return nil, nil, err
	}
	m, n := s.run.m, s.run.n
	if u, err = d.New(m, n); err == nil {
		err = u.Take(left)
	}
	if err != nil || !s.run.config.Vectors {
		return u, nil, err
	}
	if v, err = d.New(n, n); err == nil {
		err = v.Take(right)
	}
	return u, v, err
}

// normalize makes the columns of G·V, in the order of Sigma, those of U. It is collective.
func (s *Solution) normalize(u *matrix.Matrix) error {
	norm, divisors := make([]float64, u.N), make([]float64, u.N)
	for j, k := range s.at.position {
		norm[k], divisors[k] = s.at.norm[j], s.at.norm[j]
		if norm[k] == 0 {
			divisors[k] = 1
		}
	}
	if err := u.Divide(nil, divisors); err != nil {
		return err
	}
	if err := complete(u, norm); err != nil {
		return fmt.Errorf("jacobi: completing U: %w", err)
	}
	return nil
}

// pieces tells where the columns of G·V and W are, on all devices. It is collective.
func (s *Solution) pieces() (left, right []matrix.Columns, err error) {
	var mine []float64 // device and macro block-column
	var panels [][2]kernels.Panel
	_ = s.run.each(func(r *runner, slot, column int) error { // which never fails
		g, w := s.run.panels(r, slot, column)
		mine = append(mine, float64(r.id), float64(column))
		panels = append(panels, [2]kernels.Panel{g, w})
		return nil
	})
	all, err := comm.Gather(s.run.comm, mine)
	if err != nil {
		return nil, nil, fmt.Errorf("jacobi: singular vectors: %w", err)
	}
	for rank, part := range all {
		for i := 0; i < len(part); i += 2 {
			j0, j1 := s.Layout.Macro(int(part[i+1]))
			g := matrix.Columns{Device: int(part[i]), To: s.at.position[j0:j1]}
			w := g
			if rank == s.run.comm.Rank() {
				g.Panel, w.Panel = panels[i/2][0], panels[i/2][1]
			}
			left, right = append(left, g), append(right, w)
		}
	}
	return left, right, nil
}
