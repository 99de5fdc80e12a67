package jacobi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// Finish makes singular vectors of the block-columns, where they lie, with the signs of Collect; with signByV
// the entry of largest magnitude of each column of V, not of U, is positive. U must not be Deficient. It is
// collective, and is done once.
func (s *Solution) Finish(signByV bool) error {
	if s.run.precision == kernels.Float32 {
		return errors.New("jacobi: block-columns of float32 do not become vectors where they lie: Collect them")
	}
	return comm.Agree(s.run.comm, comm.BadResource, s.run.each(func(r *runner, slot, column int) error {
		b := s.run.panels(r, slot, column)
		g, v := b.G, b.V
		j0, j1 := s.Layout.Macro(column)
		be := r.dev.Backend
		if err := be.Divide(g, nil, s.at.norm[j0:j1]); err != nil {
			return err
		}
		if positive := s.run.config.positive(); v.N > 0 && positive < v.M {
			// V = W⁻ᵀ = J·W·J ([Nov15, §2])
			j := slices.Repeat([]float64{1}, v.M)
			dense.Negate(j[positive:])
			if err := be.Scale(v, j, j[j0:j1]); err != nil {
				return err
			}
		}
		lead := g
		if signByV {
			lead = v
		}
		signs, err := be.Leads(lead)
		if err != nil {
			return err
		}
		for k, x := range signs {
			signs[k] = math.Copysign(1, x)
		}
		if err = be.Scale(g, nil, signs); err == nil && v.N > 0 {
			err = be.Scale(v, nil, signs)
		}
		return err
	}))
}

// Store calls left and right with the parts of the first columns of U and V, so many, that lie on this rank's
// devices, after Finish, as matrix.Devices.Store does; nil for what is not wanted. It is collective.
func (s *Solution) Store(d *matrix.Devices, threads, count int, left, right func(matrix.Part) error) error {
	u, v, err := s.pieces()
	if err != nil {
		return err
	}
	var sinks []matrix.Sink
	if left != nil {
		sinks = append(sinks, d.ColumnsSink(u, count, left))
	}
	if right != nil {
		sinks = append(sinks, d.ColumnsSink(v, count, right))
	}
	return d.Store(threads, sinks...)
}

// Collect makes matrices of the singular vectors, in the order of Sigma. In each column of U the entry of
// largest magnitude, the first of them, is positive. v is nil if V was not accumulated. Columns of U whose
// singular value is zero are completed to an orthonormal set. The memory of the block-columns is given back.
// It is collective.
func (s *Solution) Collect(d *matrix.Devices) (u, v *matrix.Matrix, err error) {
	return s.CollectLeading(d, s.run.n)
}

// CollectLeading is Collect for the first columns alone, so many, of an SVD in float64.
func (s *Solution) CollectLeading(d *matrix.Devices, count int) (u, v *matrix.Matrix, err error) {
	u, v, err = s.take(d, count)
	s.Free()
	if err != nil {
		return nil, nil, err
	}
	if s.run.precision == kernels.Float32 {
		err = s.normalizeSingle(u, v)
	} else {
		err = s.normalize(u)
	}
	if err != nil {
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
	if positive := s.run.config.positive(); positive < v.M {
		j = slices.Repeat([]float64{1}, v.M)
		dense.Negate(j[positive:])
		dense.Negate(signs[positive:])
	}
	return u, v, v.Scale(j, signs) // V = J·W·J, see Finish
}

// take makes matrices of the first columns, so many, of G·V and of W. It is collective.
func (s *Solution) take(d *matrix.Devices, count int) (u, v *matrix.Matrix, err error) {
	left, right, err := s.pieces()
	if err != nil {
		return nil, nil, err
	}
	m, n := s.run.m, s.run.n
	if u, err = d.New(m, count); err == nil {
		err = u.Take(left)
	}
	if err != nil || !s.run.config.Vectors {
		return u, nil, err
	}
	if v, err = d.New(n, count); err == nil {
		err = v.Take(right)
	}
	return u, v, err
}

// normalize makes the columns of G·V, in the order of Sigma, those of U. It is collective.
func (s *Solution) normalize(u *matrix.Matrix) error {
	norm, divisors := make([]float64, s.run.n), make([]float64, s.run.n)
	for j, k := range s.at.position {
		norm[k], divisors[k] = s.at.norm[j], s.at.norm[j]
		if norm[k] == 0 {
			divisors[k] = 1
		}
	}
	norm, divisors = norm[:u.N], divisors[:u.N]
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
		b := s.run.panels(r, slot, column)
		mine = append(mine, float64(r.id), float64(column))
		panels = append(panels, [2]kernels.Panel{b.G, b.V})
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
