package jacobi

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
	"jmpi/node"
)

// extract forms the singular values, the norms of the columns of G·V ([Nov15, (2.5)]), unscaled by 2^e, and their order: non-increasing
// where the sign is +1, non-decreasing where it is −1.
func (s *Solution) extract(e int) error {
	sigma, err := s.norms()
	if err := comm.Agree(s.comm, comm.BadResource, err); err != nil {
		return err
	}
	s.norm = append([]float64(nil), sigma...)
	dense.Ldexp(sigma, e)
	if err := matrix.InRange(sigma, e); err != nil {
		return err
	}
	if s.config.Vectors && s.config.positive() < s.config.N {
		v, err := s.normsOf(func(_, v kernels.Panel) kernels.Panel { return v })
		if err := comm.Agree(s.comm, comm.BadResource, err); err != nil {
			return err
		}
		s.VNorm = kernels.Norm2(v)
	}
	order := make([]int, len(sigma)) // order[k]: column of G·V that holds Sigma[k]
	for j := range order {
		order[j] = j
	}
	positive := s.config.positive()
	if s.config.Rising {
		positive = 0
	}
	sort.SliceStable(order[:positive], func(a, b int) bool { return sigma[order[a]] > sigma[order[b]] })
	rest := order[positive:]
	sort.SliceStable(rest, func(a, b int) bool { return sigma[rest[a]] < sigma[rest[b]] })
	s.position = make([]int, len(sigma))
	s.Sigma = make([]float64, len(sigma))
	for k, j := range order {
		s.position[j] = k
		s.Sigma[k] = sigma[j]
	}
	return nil
}

// Natural returns the singular values in the order of the columns of G.
func (s *Solution) Natural() []float64 {
	x := make([]float64, len(s.Sigma))
	for j, k := range s.position {
		x[j] = s.Sigma[k]
	}
	return x
}

// Unscaled returns what each column of G on the devices is to be multiplied by.
func (s *Solution) Unscaled() []float64 {
	return slices.Repeat([]float64{math.Ldexp(1, s.scale)}, s.config.N)
}

// norms gathers the column norms of G in the order of the matrix columns.
func (s *Solution) norms() ([]float64, error) {
	return s.normsOf(func(g, _ kernels.Panel) kernels.Panel { return g })
}

// normsOf gathers the column norms of G or V, as choose says.
func (s *Solution) normsOf(choose func(g, v kernels.Panel) kernels.Panel) ([]float64, error) {
	var mine []byte
	err := s.each(func(r *runner, slot, column int) error {
		x, err := r.dev.Backend.ColumnNorms(choose(r.dev.Panels(slot, column, 0, s.Layout.PerMacro)))
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
	sigma := make([]float64, s.config.N)
	for rank, b := range all {
		for len(b) >= 8 {
			j0, j1 := s.Layout.Macro(int(binary.LittleEndian.Uint64(b)))
			b = b[8:]
			if len(b) < 8*(j1-j0) {
				return nil, fmt.Errorf("jacobi: singular values: rank %d sent %d bytes too few", rank, 8*(j1-j0)-len(b))
			}
			for j := j0; j < j1; j++ {
				sigma[j] = math.Float64frombits(binary.LittleEndian.Uint64(b))
				b = b[8:]
			}
		}
	}
	return sigma, nil
}

// Columns calls visit for each column that lies on this rank's devices: k is its place in Sigma, u (length M) the left
// singular vector, v (length N, nil if V was not accumulated) the right one; both may be kept only until visit returns.
// The entry of largest magnitude (the first of them) of u, or of v with signByV, is positive. Columns of U whose singular value is
// zero are completed to an orthonormal set. It is collective.
func (s *Solution) Columns(signByV bool, visit func(k int, u, v []float64) error) error {
	completed, err := s.complete()
	if err != nil {
		return err
	}
	return comm.Agree(s.comm, comm.BadResource, s.columns(signByV, completed, visit))
}

func (s *Solution) columns(signByV bool, completed map[int][]float64, visit func(k int, u, v []float64) error) error {
	return s.each(func(r *runner, slot, column int) error {
		g, v := r.dev.Panels(slot, column, 0, s.Layout.PerMacro)
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
						u[l] /= s.norm[j]
					}
				}
				x := []float64(nil)
				if v.N > 0 {
					x = vbuf
					if err := r.dev.Backend.Read(x, v.M, v.Columns(a+i, a+i+1)); err != nil {
						return err
					}
					s.invert(j, x)
				}
				lead := u
				if signByV {
					lead = x
				}
				if dense.LeadsNegative(lead) {
					dense.Negate(u)
					dense.Negate(x)
				}
				if err := visit(s.position[j], u, x); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// invert turns column j of the accumulated W into that of V = W⁻ᵀ = J·W·J ([Nov15, §2]).
func (s *Solution) invert(j int, x []float64) {
	if positive := s.config.positive(); j < positive {
		dense.Negate(x[positive:])
	} else {
		dense.Negate(x[:positive])
	}
}

// each calls f for every macro block-column on this rank.
func (s *Solution) each(f func(r *runner, slot, column int) error) error {
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
