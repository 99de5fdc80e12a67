package dist

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"jmpi/kernels"
)

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
	return parallel(s.threads, (s.blocks()-rank+size-1)/size, func(i int) error {
		b := rank + i*size
		return f(b, s.own[b])
	})
}

// parallel calls f(0) … f(tasks−1) on up to that many threads, and returns the error of one that failed; a panic is an error.
func parallel(threads, tasks int, f func(i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	fail := func(err error) { once.Do(func() { first = err }) }
	var wg sync.WaitGroup
	for range min(max(1, threads), tasks) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					fail(fmt.Errorf("dist: internal error: %v", p))
				}
			}()
			for i := int(next.Add(1)) - 1; i < tasks; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					fail(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}

// broadcast gives every rank block b, in memory that must not be changed.
func (s *sheet) broadcast(b int) ([]float64, error) {
	j0, _ := s.span(b)
	return fromRank(s.comm, s.owner(j0), s.own[b])
}

// transpose returns the transpose of the first m rows of s, with column j of s as row place[j]; nil stands for the identity. It is collective.
func (s *sheet) transpose(place []int, m int) (*sheet, error) {
	t := newSheet(s.comm, s.threads, s.n, m)
	rank, size := s.comm.Rank(), s.comm.Size()
	for b := range t.blocks() {
		i0, i1 := t.span(b)
		var mine []float64
		for j := range s.n {
			if s.owner(j) == rank {
				mine = append(mine, s.column(j)[i0:i1]...)
			}
		}
		all, err := gather(s.comm, mine)
		if err != nil {
			return nil, err
		}
		if t.owner(i0) != rank {
			continue
		}
		at := make([]int, size)
		for j := range s.n {
			from := s.owner(j)
			part := all[from][at[from]:]
			at[from] += i1 - i0
			row := j
			if place != nil {
				row = place[j]
			}
			for i := range i1 - i0 {
				t.own[b][row+i*t.m] = part[i]
			}
		}
	}
	return t, nil
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

// inverse returns the inverse of a permutation.
func inverse(p []int) []int {
	if p == nil {
		return nil
	}
	q := make([]int, len(p))
	for i, x := range p {
		q[x] = i
	}
	return q
}

// gather returns the numbers of every rank. They must not be changed.
func gather(c Comm, mine []float64) ([][]float64, error) {
	if c.Size() == 1 {
		return [][]float64{mine}, nil
	}
	all, err := c.Allgather(bytesOf(mine))
	if err != nil {
		return nil, fmt.Errorf("dist: gather: %w", err)
	}
	out := make([][]float64, len(all))
	for i, b := range all {
		out[i] = floatsOf(b)
	}
	return out, nil
}

// fromRank gives every rank the numbers of one. They must not be changed.
func fromRank(c Comm, rank int, mine []float64) ([]float64, error) {
	if c.Rank() != rank {
		mine = nil
	}
	all, err := gather(c, mine)
	if err != nil {
		return nil, err
	}
	return all[rank], nil
}

// gatherColumns returns one number for each of n columns, of which this rank gives those that it owns.
func (s *sheet) gatherColumns(value func(j int) float64) ([]float64, error) {
	rank := s.comm.Rank()
	var mine []float64
	for j := range s.n {
		if s.owner(j) == rank {
			mine = append(mine, value(j))
		}
	}
	all, err := gather(s.comm, mine)
	if err != nil {
		return nil, err
	}
	x, at := make([]float64, s.n), make([]int, s.comm.Size())
	for j := range x {
		from := s.owner(j)
		x[j] = all[from][at[from]]
		at[from]++
	}
	return x, nil
}

// bytesOf and floatsOf give the bytes of numbers, and back.
func bytesOf(x []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*kernels.WordBytes)
}

func floatsOf(b []byte) []float64 {
	x := make([]float64, len(b)/kernels.WordBytes)
	copy(bytesOf(x), b)
	return x
}

// scatter returns the m×n sheet of the columns that this rank has, by number, and takes them away. It is collective.
func scatter(comm Comm, threads, m, n int, columns map[int][]float64) (*sheet, error) {
	s := newSheet(comm, threads, m, n)
	for b := range s.blocks() {
		j0, j1 := s.span(b)
		var mine []float64
		for j := j0; j < j1; j++ {
			if x := columns[j]; x != nil {
				mine = append(append(mine, float64(j)), x...)
				delete(columns, j)
			}
		}
		all, err := gather(comm, mine)
		if err != nil {
			return nil, err
		}
		if s.own[b] == nil {
			continue
		}
		for _, part := range all {
			for ; len(part) > m; part = part[m+1:] {
				copy(s.column(int(part[0])), part[1:m+1])
			}
		}
	}
	return s, nil
}

// collect brings the singular vectors from the devices into the memory of the hosts, in the order of Sigma; v is nil if V was not accumulated. It is
// collective.
func (s *Solution) collect(threads int) (u, v *sheet, err error) {
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
	if u, err = scatter(s.comm, threads, s.config.M, s.config.N, left); err != nil || !s.config.Vectors {
		return u, nil, err
	}
	v, err = scatter(s.comm, threads, s.config.N, s.config.N, right)
	return u, v, err
}
