package dist

import "jmpi/internal/parallel"

// blockWidth is the width of a sheet's blocks, and so of the products on them: it does not depend on the number of ranks, nor do the bits.
const blockWidth = 64

// sheet is a dense m×n matrix in the memory of the hosts, for what is done before and after the Jacobi method: its blocks of
// blockWidth columns are dealt out to the ranks in turn. Each is column-major with leading dimension m.
type sheet struct {
	comm    Comm
	threads int // that work on the blocks of this rank
	m, n    int
	own     map[int][]float64 // the blocks of this rank, by number
}

// newSheet returns a zero matrix.
func newSheet(comm Comm, threads, m, n int) *sheet {
	s := &sheet{comm: comm, threads: threads, m: m, n: n, own: map[int][]float64{}}
	for b := comm.Rank(); b < s.blocks(); b += comm.Size() {
		j0, j1 := s.span(b)
		s.own[b] = make([]float64, m*(j1-j0))
	}
	return s
}

// loadSheet returns the matrix of which load writes the columns j0 ≤ j < j1, column-major with leading dimension m, to dst. A rank calls it
// for its own blocks, from one goroutine in increasing order.
func loadSheet(comm Comm, threads, m, n int, load func(j0, j1 int, dst []float64) error) (*sheet, error) {
	s := newSheet(comm, threads, m, n)
	for b := range s.blocks() {
		if x := s.own[b]; x != nil {
			j0, j1 := s.span(b)
			if err := load(j0, j1, x); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// unitColumns returns so many columns of the identity of order m, from the given one on.
func unitColumns(comm Comm, threads, m, from, count int) *sheet {
	s := newSheet(comm, threads, m, count)
	s.columns(func(j int, x []float64) error {
		x[from+j] = 1
		return nil
	})
	return s
}

// blocks returns the number of blocks of all ranks.
func (s *sheet) blocks() int { return (s.n + blockWidth - 1) / blockWidth }

// span returns the columns j0 ≤ j < j1 of block b.
func (s *sheet) span(b int) (j0, j1 int) { return b * blockWidth, min(s.n, (b+1)*blockWidth) }

// owner returns the rank that has column j.
func (s *sheet) owner(j int) int { return j / blockWidth % s.comm.Size() }

// column returns column j, which must be this rank's.
func (s *sheet) column(j int) []float64 {
	b, i := j/blockWidth, j%blockWidth
	return s.own[b][i*s.m : (i+1)*s.m]
}

// columns calls f for all columns of this rank, in increasing order within a block, from several goroutines.
func (s *sheet) columns(f func(j int, x []float64) error) error {
	return s.each(func(b int, x []float64) error {
		j0, j1 := s.span(b)
		for j := j0; j < j1; j++ {
			if err := f(j, x[(j-j0)*s.m:(j-j0+1)*s.m]); err != nil {
				return err
			}
		}
		return nil
	})
}

// each calls f for all blocks of this rank, from several goroutines.
func (s *sheet) each(f func(b int, x []float64) error) error {
	rank, size := s.comm.Rank(), s.comm.Size()
	return parallel.Each(s.threads, (s.blocks()-rank+size-1)/size, func(i int) error {
		b := rank + i*size
		return f(b, s.own[b])
	})
}

// rows returns the sheet whose row i is row from[i] of s; nil for s itself.
func (s *sheet) rows(from []int) *sheet {
	if from == nil {
		return s
	}
	t := newSheet(s.comm, s.threads, len(from), s.n)
	s.columns(func(j int, x []float64) error {
		y := t.column(j)
		for i, l := range from {
			y[i] = x[l]
		}
		return nil
	})
	return t
}

// clone returns a copy.
func (s *sheet) clone() *sheet {
	t := newSheet(s.comm, s.threads, s.m, s.n)
	for b, x := range s.own {
		copy(t.own[b], x)
	}
	return t
}

// taller returns s with zero rows added below, m in all.
func (s *sheet) taller(m int) *sheet {
	if m == s.m {
		return s
	}
	t := newSheet(s.comm, s.threads, m, s.n)
	s.columns(func(j int, x []float64) error {
		copy(t.column(j), x)
		return nil
	})
	return t
}
