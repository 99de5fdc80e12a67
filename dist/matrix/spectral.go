package matrix

import (
	"math/rand/v2"
	"slices"

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

// times returns X·v. It changes v. It is collective; the sums do not depend on the number of ranks.
func (f *moving) times(x region, v []float64) ([]float64, error) {
	rank, size, rows := f.Comm.Rank(), f.Comm.Size(), f.M-x.rows
	x.of(v)
	mine := make([]float64, len(f.Own)*rows) // of each block
	f.Each(func(b int, a []float64) {
		y := make([]float64, len(f.slots[b]))
		for slot, j := range f.slots[b] {
			y[slot] = v[j]
		}
		i := (b - rank) / size
		dense.Product(false, false, rows, 1, len(y), 1, a[x.rows:], f.M, y, len(y), 0, mine[i*rows:(i+1)*rows],
			rows)
	})
	all, err := comm.Gather(f.Comm, mine)
	if err != nil {
		return nil, err
	}
	w := make([]float64, rows)
	for b := range f.Blocks() {
		for i, e := range all[b%size][b/size*rows : (b/size+1)*rows] {
			w[i] += e
		}
	}
	return w, nil
}

// transposedTimes returns Xᵀ·w. It is collective.
func (f *moving) transposedTimes(x region, w []float64) ([]float64, error) {
	v := make([]float64, f.N)
	f.Each(func(b int, a []float64) {
		y := make([]float64, len(f.slots[b]))
		dense.Product(true, false, len(y), 1, len(w), 1, a[x.rows:], f.M, w, len(w), 0, y, len(y))
		for slot, j := range f.slots[b] {
			v[j] = y[slot]
		}
	})
	v, err := f.GatherColumns(func(j int) float64 { return v[j] })
	return x.of(v), err
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
	r := New(f.Comm, f.Threads, f.done, f.N)
	for b, x := range f.Own {
		for slot, j := range f.slots[b] {
			if columns[j] || f.place[j] >= 0 {
				copy(r.Column(j), x[slot*f.M:slot*f.M+f.done])
			}
		}
	}
	r, err := r.Transpose(nil, f.done)
	if err != nil {
		return nil, err
	}
	q, _, err := Factor(r, Natural(r.N))
	return &rowSpace{q, f.done, New(f.Comm, f.Threads, f.N, 1)}, err
}

// without returns v without its part in the space; nil stands for none. It is collective.
func (s *rowSpace) without(v []float64) ([]float64, error) {
	if s == nil {
		return v, nil
	}
	const home = 0 // the rank that has the vector: all others take its bits
	x := s.vector.Own[home]
	copy(x, v)
	if err := s.q.applyTransposed(s.vector); err != nil {
		return nil, err
	}
	clear(x[:min(s.dimension, len(x))])
	if err := s.q.Apply(s.vector); err != nil {
		return nil, err
	}
	v, err := comm.FromRank(s.q.comm, home, x)
	return slices.Clone(v), err
}
