package matrix

import (
	"fmt"

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
		for b := s.first + i; b < s.blocks(); b += len(s.ranks) {
			j0, _ := s.span(b)
			panels, first = append(panels, s.block(b)), append(first, j0)
		}
		own[i], err = dev.Angles(panels, first, norms, o)
		return err
	})
	if err != nil {
		return a, 0, fmt.Errorf("matrix: angles: %w", err)
	}
	low, high := make([][]float64, len(own)), make([][]float64, len(own)) // as numbers of the columns
	for i, x := range own {
		for k := range x.Low {
			low[i], high[i] = append(low[i], float64(x.Low[k])), append(high[i], float64(x.High[k]))
		}
		a.Active += x.Active
	}
	columns := func(f func(i int) []float64) (x []float64) {
		if err != nil {
			return nil
		}
		parts := make([][]float64, len(own))
		for i := range own {
			parts[i] = f(i)
		}
		x, err = s.gather(parts)
		return x
	}
	a.Cosine = columns(func(i int) []float64 { return own[i].Cosine })
	a.Largest = columns(func(i int) []float64 { return own[i].Largest })
	a.Sum = columns(func(i int) []float64 { return own[i].Sum })
	for _, x := range columns(func(i int) []float64 { return low[i] }) {
		a.Low = append(a.Low, int(x))
	}
	for _, x := range columns(func(i int) []float64 { return high[i] }) {
		a.High = append(a.High, int(x))
	}
	if err != nil {
		return a, 0, err
	}
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

// ZeroSquare clears the elements in rows and columns from j0 to j1 of a square matrix.
func (s *Matrix) ZeroSquare(j0, j1 int) error {
	return s.eachBlock(func(dev *device, b int, p kernels.Panel) error {
		b0, b1 := s.span(b)
		from, to := max(b0, j0), min(b1, j1)
		if from >= to {
			return nil
		}
		return dev.Zero(p.Columns(from-b0, to-b0).Rows(j0, j1))
	})
}

// Square gives every rank the elements in rows and columns from j0 to j1 of a square matrix, column-major.
// It is collective.
func (s *Matrix) Square(j0, j1 int) ([]float64, error) {
	k := j1 - j0
	var mine []float64 // columns, in their order
	for b := j0 / s.tile; b*s.tile < j1; b++ {
		dev := s.here(s.owner(b))
		if dev == nil {
			continue
		}
		b0, b1 := s.span(b)
		from, to := max(b0, j0), min(b1, j1)
		x := make([]float64, k*(to-from))
		if err := dev.Read(x, k, s.block(b).Columns(from-b0, to-b0).Rows(j0, j1)); err != nil {
			return nil, err
		}
		mine = append(mine, x...)
	}
	all, err := comm.Gather(s.Comm, mine)
	if err != nil {
		return nil, err
	}
	var square []float64
	for j := j0; j < j1; j++ {
		id, _ := s.home(j)
		rank := s.ranks[id]
		square, all[rank] = append(square, all[rank][:k]...), all[rank][k:]
	}
	return square, nil
}
