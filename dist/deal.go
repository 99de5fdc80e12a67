package dist

import (
	"fmt"
	"slices"
	"unsafe"

	"jmpi/kernels"
)

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

// norm returns the Frobenius norm. It is collective.
func (s *sheet) norm() (float64, error) {
	norms, err := s.gatherColumns(func(j int) float64 { return kernels.Norm2(s.column(j)) })
	return kernels.Norm2(norms), err
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
