package matrix

import (
	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/internal/parallel"
)

// blockWidth is the width of a matrix' blocks, and so of the products on them: it does not depend on the
// number of ranks, nor do the bits.
const blockWidth = 64

// Matrix is a dense m×n matrix in the memory of the hosts, for what is done before and after the Jacobi
// method: its blocks of blockWidth columns are dealt out to the ranks one after the other. Each is
// column-major with leading dimension m.
type Matrix struct {
	Comm    comm.Comm
	Threads int // that work on the blocks of this rank
	M, N    int
	Own     map[int][]float64 // the blocks of this rank, by number
}

// New returns a zero matrix.
func New(comm comm.Comm, threads, m, n int) *Matrix {
	s := &Matrix{Comm: comm, Threads: threads, M: m, N: n, Own: map[int][]float64{}}
	for b := comm.Rank(); b < s.Blocks(); b += comm.Size() {
		j0, j1 := s.Span(b)
		s.Own[b] = make([]float64, m*(j1-j0))
	}
	return s
}

// Load returns the matrix of which load writes the columns j0 ≤ j < j1, column-major with leading dimension
// m, to dst. A rank calls it for its own blocks, from one goroutine in increasing order.
func Load(comm comm.Comm, threads, m, n int, load func(j0, j1 int, dst []float64) error) (*Matrix, error) {
	s := New(comm, threads, m, n)
	for b := range s.Blocks() {
		if x := s.Own[b]; x != nil {
			j0, j1 := s.Span(b)
			if err := load(j0, j1, x); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// UnitColumns returns so many columns of the identity of order m, from the given one on.
func UnitColumns(comm comm.Comm, threads, m, from, count int) *Matrix {
	s := New(comm, threads, m, count)
	s.Columns(func(j int, x []float64) {
		x[from+j] = 1
	})
	return s
}

// Blocks returns the number of blocks of all ranks.
func (s *Matrix) Blocks() int { return (s.N + blockWidth - 1) / blockWidth }

// Span returns the columns j0 ≤ j < j1 of block b.
func (s *Matrix) Span(b int) (j0, j1 int) { return b * blockWidth, min(s.N, (b+1)*blockWidth) }

// owner returns the rank that has column j.
func (s *Matrix) owner(j int) int { return j / blockWidth % s.Comm.Size() }

// Column returns column j, which must be this rank's.
func (s *Matrix) Column(j int) []float64 {
	b, i := j/blockWidth, j%blockWidth
	return s.Own[b][i*s.M : (i+1)*s.M]
}

// Columns calls f for all columns of this rank, in increasing order within a block, from several goroutines.
func (s *Matrix) Columns(f func(j int, x []float64)) {
	s.Each(func(b int, x []float64) {
		j0, j1 := s.Span(b)
		for j := j0; j < j1; j++ {
			f(j, x[(j-j0)*s.M:(j-j0+1)*s.M])
		}
	})
}

// Each calls f for all blocks of this rank, from several goroutines.
func (s *Matrix) Each(f func(b int, x []float64)) {
	rank, size := s.Comm.Rank(), s.Comm.Size()
	parallel.Do(s.Threads, (s.Blocks()-rank+size-1)/size, func(i int) {
		b := rank + i*size
		f(b, s.Own[b])
	})
}

// Rows returns the matrix whose row i is row from[i] of s; nil for s itself.
func (s *Matrix) Rows(from []int) *Matrix {
	if from == nil {
		return s
	}
	t := New(s.Comm, s.Threads, len(from), s.N)
	s.Columns(func(j int, x []float64) {
		y := t.Column(j)
		for i, l := range from {
			y[i] = x[l]
		}
	})
	return t
}

// Ldexp multiplies the matrix by 2^e.
func (s *Matrix) Ldexp(e int) {
	s.Each(func(_ int, x []float64) { dense.Ldexp(x, e) })
}

// Clone returns a copy.
func (s *Matrix) Clone() *Matrix {
	t := New(s.Comm, s.Threads, s.M, s.N)
	for b, x := range s.Own {
		copy(t.Own[b], x)
	}
	return t
}

// Taller returns s with zero rows added below, m in all.
func (s *Matrix) Taller(m int) *Matrix {
	if m == s.M {
		return s
	}
	t := New(s.Comm, s.Threads, m, s.N)
	s.Columns(func(j int, x []float64) {
		copy(t.Column(j), x)
	})
	return t
}
