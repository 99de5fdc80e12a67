package matrix

import (
	"fmt"
	"slices"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// Angles measures a square matrix of cosines between columns of these norms, and may put angles in their
// place (kernels.Dense). It also tells the share of its pieces that are active. It is collective.
func (s *Matrix) Angles(norms []float64,
	o kernels.AngleOptions) (a kernels.Angles, active float64, err error) {
	own := make([]kernels.Angles, len(s.own))
	err = s.each(func(i int, dev *device) (err error) {
		var panels []kernels.Panel
		var first []int
		for b := range s.blocksOf(s.first + i) {
			j0, _ := s.span(b)
			panels, first = append(panels, s.block(b)), append(first, j0)
		}
		own[i], err = dev.Angles(panels, first, norms, o)
		return err
	})
	if err != nil {
		return a, 0, fmt.Errorf("matrix: angles: %w", err)
	}
	parts := make([][]float64, len(own))
	for i, x := range own {
		parts[i] = slices.Concat(x.Cosine, x.Largest, x.Sum, floats(x.Low), floats(x.High))
		a.Active += x.Active
	}
	x, err := s.gather(5, parts)
	if err != nil {
		return a, 0, fmt.Errorf("matrix: angles: %w", err)
	}
	list := func(l int) []float64 { return x[l*s.N : (l+1)*s.N] }
	a.Cosine, a.Largest, a.Sum, a.Low, a.High = list(0), list(1), list(2), integers(list(3)), integers(list(4))
	counts := []int64{int64(a.Active)}
	if err := s.Comm.AllreduceSum(counts); err != nil {
		return a, 0, fmt.Errorf("matrix: angles: %w", err)
	}
	a.Active = int(counts[0])
	rows := (s.M + kernels.PivotSide - 1) / kernels.PivotSide
	pieces := 0
	for b := range s.blocks() {
		j0, j1 := s.span(b)
		pieces += rows * ((j1 - j0 + kernels.PivotSide - 1) / kernels.PivotSide)
	}
	return a, float64(a.Active) / float64(max(1, pieces)), nil
}

// floats and integers turn small whole numbers into numbers, and back.
func floats(x []int) []float64 {
	y := make([]float64, len(x))
	for i, e := range x {
		y[i] = float64(e)
	}
	return y
}

func integers(x []float64) []int {
	y := make([]int, len(x))
	for i, e := range x {
		y[i] = int(e)
	}
	return y
}

// ZeroSquares clears, for each pair of numbers, the elements of a square matrix in the rows and columns from
// the first to before the second.
func (s *Matrix) ZeroSquares(spans [][2]int) error {
	return s.each(func(i int, dev *device) error {
		var all []kernels.Panel
		for b := range s.blocksOf(s.first + i) {
			b0, b1 := s.span(b)
			for _, c := range s.overlapping(spans, b) {
				all = append(all, s.block(b).Columns(max(b0, c[0])-b0, min(b1, c[1])-b0).Rows(c[0], c[1]))
			}
		}
		return dev.Zero(all...)
	})
}

// Squares gives every rank, for each pair of numbers, the elements of a square matrix in the rows and
// columns from the first to before the second, column-major. The pairs are in increasing order, and have no
// columns in common. It is collective.
func (s *Matrix) Squares(spans [][2]int) ([][]float64, error) {
	own := make([][]float64, len(s.own))
	count := make([]int, s.blocks()) // of elements in each block of this rank
	err := s.each(func(i int, dev *device) (err error) {
		var parts []kernels.Panel
		for b := range s.blocksOf(s.first + i) {
			b0, b1 := s.span(b)
			for _, c := range s.overlapping(spans, b) {
				p := s.block(b).Columns(max(b0, c[0])-b0, min(b1, c[1])-b0).Rows(c[0], c[1])
				parts, count[b] = append(parts, p), count[b]+p.M*p.N
			}
		}
		own[i], err = dev.Elements(parts)
		return err
	})
	if err != nil {
		return nil, err
	}
	var mine []float64 // columns, in their order
	for b, n := range count {
		if n > 0 {
			i := s.owner(b) - s.first
			mine, own[i] = append(mine, own[i][:n]...), own[i][n:]
		}
	}
	all, err := comm.Gather(s.Comm, mine)
	if err != nil {
		return nil, err
	}
	squares := make([][]float64, len(spans))
	for i, c := range spans {
		k := c[1] - c[0]
		for j := c[0]; j < c[1]; j++ {
			id, _ := s.home(j)
			rank := s.ranks[id]
			squares[i], all[rank] = append(squares[i], all[rank][:k]...), all[rank][k:]
		}
	}
	return squares, nil
}

// overlapping returns those of some spans, in increasing order, that have columns of block b.
func (s *Matrix) overlapping(spans [][2]int, b int) (some [][2]int) {
	b0, b1 := s.span(b)
	for _, c := range spans {
		if c[0] < b1 && c[1] > b0 {
			some = append(some, c)
		}
	}
	return some
}
