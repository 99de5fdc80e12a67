package matrix

import (
	"math/rand/v2"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// region is a part of what a factorization has made of its matrix: the rows from one on, and some
// columns, nil for all.
type region struct {
	rows    int
	columns []bool
}

// norm2 estimates the spectral norm of a region X of the matrix, or of X·(I − Z·Zᵀ) where the first columns
// of [Z N] = space are orthonormal vectors: the power method on XᵀX from random numbers, the same ones on
// any number of ranks. It is too small, by some per cent where the largest singular values are close to
// each other. It is collective.
func (f *moving) norm2(x region, space *rowSpace) (norm float64, err error) {
	const steps, normal = 4, 0x6e6f726d // so that no other numbers are the same
	random := rand.New(rand.NewPCG(uint64(f.done), normal))
	v := make([]float64, f.N)
	for j := range v {
		v[j] = random.NormFloat64()
	}
	for range steps {
		if v, err = space.without(v); err != nil {
			return 0, err
		}
		w, err := f.times(x, v)
		if err != nil {
			return 0, err
		}
		dense.Normalize(w)
		if v, err = f.transposedTimes(x, w); err != nil {
			return 0, err
		}
		if v, err = space.without(v); err != nil {
			return 0, err
		}
		norm = kernels.Norm2(v)
		dense.Normalize(v)
	}
	return norm, nil
}

// of sets those elements of v to zero that belong to other columns.
func (x region) of(v []float64) []float64 {
	for j := range x.columns {
		if !x.columns[j] {
			v[j] = 0
		}
	}
	return v
}

// times returns X·v. It changes v. It is collective; the sums do not depend on the number of devices.
func (f *moving) times(x region, v []float64) ([]float64, error) {
	x.of(v)
	parts := make([][]float64, len(f.own))
	err := f.each(func(i int, dev *device) (err error) {
		parts[i], err = dev.Product(f.shares[i].Rows(x.rows, f.M), false, f.slotted(i, v), 1)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f.sumTwice(parts)
}

// transposedTimes returns Xᵀ·w. It is collective.
func (f *moving) transposedTimes(x region, w []float64) ([]float64, error) {
	v := make([]float64, f.N)
	err := f.each(func(i int, dev *device) error {
		all, err := dev.Product(f.shares[i].Rows(x.rows, f.M), true, w, 1)
		if err != nil {
			return err
		}
		for at, j := range f.inSlots(i) {
			v[j] = all[at]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if v, err = f.gatherEach(v); err != nil {
		return nil, err
	}
	return x.of(v), nil
}

// inSlots returns the columns in the share of this rank's device i, as they lie now.
func (f *moving) inSlots(i int) (columns []int) {
	for b := range f.blocksOf(f.first + i) {
		columns = append(columns, f.slots[b]...)
	}
	return columns
}

// slotted returns the elements of v that belong to the columns of this rank's device i, as they lie now.
func (f *moving) slotted(i int, v []float64) (x []float64) {
	for _, j := range f.inSlots(i) {
		x = append(x, v[j])
	}
	return x
}

// rowSpace is the space of the rows that are done: the first `dimension` columns of q span it.
type rowSpace struct {
	q         *Orthogonal
	dimension int
	vector    *Matrix
}

// rowSpace returns the space of the rows that are done, in the columns that are done and in some
// others. It is collective.
func (f *moving) rowSpace(columns []bool) (*rowSpace, error) {
	r, err := f.New(f.done, f.N)
	if err != nil {
		return nil, err
	}
	defer r.Free()
	err = f.each(func(i int, dev *device) error {
		var to, from []int
		for at, j := range f.inSlots(i) {
			if columns[j] || f.place[j] >= 0 {
				_, natural := f.home(j)
				to, from = append(to, natural), append(from, at)
			}
		}
		return dev.MoveColumns(r.shares[i], to, f.shares[i].Rows(0, f.done), from)
	})
	if err != nil {
		return nil, err
	}
	t, err := r.Transpose(nil, f.done)
	if err != nil {
		return nil, err
	}
	defer t.Free()
	s := &rowSpace{dimension: f.done}
	if s.q, err = Factor(t); err != nil {
		return nil, err
	}
	s.vector, err = f.New(f.N, 1)
	return s, err
}

// free gives its memory back.
func (s *rowSpace) free() {
	s.q.Free()
	s.vector.Free()
}

// without returns v without its part in the space; nil stands for none. It is collective.
func (s *rowSpace) without(v []float64) ([]float64, error) {
	if s == nil {
		return v, nil
	}
	dev := s.vector.here(0) // the device that has the vector: all others take its bits
	if dev != nil {
		if err := dev.Write(s.vector.block(0), v, len(v)); err != nil {
			return nil, err
		}
	}
	if err := s.q.applyTransposed(s.vector); err != nil {
		return nil, err
	}
	if dev != nil {
		if err := dev.Zero(s.vector.block(0).Rows(0, min(s.dimension, len(v)))); err != nil {
			return nil, err
		}
	}
	if err := s.q.Apply(s.vector); err != nil {
		return nil, err
	}
	x := make([]float64, len(v))
	if dev != nil {
		if err := dev.Read(x, len(x), s.vector.block(0)); err != nil {
			return nil, err
		}
	}
	return comm.FromRank(s.q.Comm, s.q.ranks[0], x)
}
