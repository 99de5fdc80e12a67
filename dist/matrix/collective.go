package matrix

import (
	"gonum.org/v1/gonum/blas/gonum"

	"jmpi/dist/comm"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// GatherColumns returns one number for each of n columns, of which this rank gives those that it owns.
func (s *Matrix) GatherColumns(value func(j int) float64) ([]float64, error) {
	rank := s.Comm.Rank()
	var mine []float64
	for j := range s.N {
		if s.owner(j) == rank {
			mine = append(mine, value(j))
		}
	}
	all, err := comm.Gather(s.Comm, mine)
	if err != nil {
		return nil, err
	}
	x, at := make([]float64, s.N), make([]int, s.Comm.Size())
	for j := range x {
		from := s.owner(j)
		x[j] = all[from][at[from]]
		at[from]++
	}
	return x, nil
}

// Norm returns the Frobenius norm. It is collective.
func (s *Matrix) Norm() (float64, error) {
	norms, err := s.GatherColumns(func(j int) float64 { return kernels.Norm2(s.Column(j)) })
	return kernels.Norm2(norms), err
}

// Broadcast gives every rank block b, in memory that must not be changed.
func (s *Matrix) Broadcast(b int) ([]float64, error) {
	j0, _ := s.Span(b)
	return comm.FromRank(s.Comm, s.owner(j0), s.Own[b])
}

// Transpose returns the transpose of the first m rows of s, with column j of s as row place[j]; nil stands
// for the identity. It is collective.
func (s *Matrix) Transpose(place []int, m int) (*Matrix, error) {
	t := New(s.Comm, s.Threads, s.N, m)
	rank, size := s.Comm.Rank(), s.Comm.Size()
	for b := range t.Blocks() {
		i0, i1 := t.Span(b)
		var mine []float64
		for j := range s.N {
			if s.owner(j) == rank {
				mine = append(mine, s.Column(j)[i0:i1]...)
			}
		}
		all, err := comm.Gather(s.Comm, mine)
		if err != nil {
			return nil, err
		}
		if t.owner(i0) != rank {
			continue
		}
		at := make([]int, size)
		for j := range s.N {
			from := s.owner(j)
			part := all[from][at[from]:]
			at[from] += i1 - i0
			row := j
			if place != nil {
				row = place[j]
			}
			for i := range i1 - i0 {
				t.Own[b][row+i*t.M] = part[i]
			}
		}
	}
	return t, nil
}

// Scatter returns the m×n matrix of the columns that this rank has, by number, and takes them away.
// It is collective.
func Scatter(world comm.Comm, threads, m, n int, columns map[int][]float64) (*Matrix, error) {
	s := New(world, threads, m, n)
	for b := range s.Blocks() {
		j0, j1 := s.Span(b)
		var mine []float64
		for j := j0; j < j1; j++ {
			if x := columns[j]; x != nil {
				mine = append(append(mine, float64(j)), x...)
				delete(columns, j)
			}
		}
		all, err := comm.Gather(world, mine)
		if err != nil {
			return nil, err
		}
		if s.Own[b] == nil {
			continue
		}
		for _, part := range all {
			for ; len(part) > m; part = part[m+1:] {
				copy(s.Column(int(part[0])), part[1:m+1])
			}
		}
	}
	return s, nil
}

// Times is that of Operator.
func (s *Matrix) Times(transposed bool, x []float64, count int) ([]float64, error) {
	blas := gonum.Implementation{}
	if transposed {
		y := make([]float64, s.N*count)
		s.Columns(func(j int, c []float64) {
			for k := range count {
				y[k*s.N+j] = blas.Ddot(s.M, c, 1, x[k*s.M:(k+1)*s.M], 1)
			}
		})
		return gatherEach(s, y, count)
	}
	sum := make([]float64, 2*s.M*count)
	for b := range s.Blocks() {
		c := s.Own[b]
		if c == nil {
			continue
		}
		// The threads share the rows.
		err := parallel.Each(s.Threads, (s.M+rowPiece-1)/rowPiece, func(i int) error {
			i0, i1 := i*rowPiece, min((i+1)*rowPiece, s.M)
			j0, j1 := s.Span(b)
			for j := j0; j < j1; j++ {
				for k := range count {
					kernels.AddTwice(sum[k*s.M+i0:k*s.M+i1], sum[(count+k)*s.M+i0:(count+k)*s.M+i1], x[k*s.N+j],
						c[(j-j0)*s.M+i0:(j-j0)*s.M+i1])
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return SumTwice(s.Comm, sum)
}
