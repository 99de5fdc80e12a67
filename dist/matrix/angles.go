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
		own[i], err = s.anglesOf(i, dev, norms, o)
		return err
	})
	if err == nil {
		a, err = s.joined(own, len(o.Limits))
	}
	if err != nil {
		return a, 0, fmt.Errorf("matrix: angles: %w", err)
	}
	rows := (s.M + kernels.PivotSide - 1) / kernels.PivotSide
	pieces := 0
	for b := range s.blocks() {
		j0, j1 := s.span(b)
		pieces += rows * ((j1 - j0 + kernels.PivotSide - 1) / kernels.PivotSide)
	}
	return a, float64(a.Active) / float64(max(1, pieces)), nil
}

// anglesOf is Angles for this rank's device i.
func (s *Matrix) anglesOf(i int, dev *device, norms []float64,
	o kernels.AngleOptions) (kernels.Angles, error) {
	var panels []kernels.Panel
	var first []int
	for b := range s.blocksOf(s.first + i) {
		j0, _ := s.span(b)
		panels, first = append(panels, s.block(b)), append(first, j0)
	}
	return dev.Angles(panels, first, norms, o)
}

// AngleNorms puts angles in the place of cosines, as the options say, and then multiplies row i by rows[i],
// and column j by columns[j]. It returns the norms of the columns of cosines, of angles, and in the end. It
// is collective.
func (s *Matrix) AngleNorms(norms []float64, o kernels.AngleOptions, rows, columns []float64) (
	cosines, angles, scaled []float64, err error) {
	own := [3][][]float64{}
	for k := range own {
		own[k] = make([][]float64, len(s.own))
	}
	err = s.each(func(i int, dev *device) (err error) { // no device waits for the numbers of others
		share := s.shares[i]
		if own[0][i], err = dev.ColumnNorms(share); err == nil {
			_, err = s.anglesOf(i, dev, norms, o)
		}
		if err == nil {
			own[1][i], err = dev.ColumnNorms(share)
		}
		if err == nil {
			err = dev.Scale(share, rows, s.local(i, columns, 1))
		}
		if err == nil {
			own[2][i], err = dev.ColumnNorms(share)
		}
		return err
	})
	var all [3][]float64
	for k := range all {
		if err == nil {
			all[k], err = gather(s, 1, own[k])
		}
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("matrix: norms of angles: %w", err)
	}
	return all[0], all[1], all[2], nil
}

// joined gives every rank what all devices have found, for so many limits. It is collective.
func (s *Matrix) joined(own []kernels.Angles, limits int) (kernels.Angles, error) {
	a := kernels.Angles{Within: make([]kernels.Within, limits)}
	for _, x := range own {
		a.Join(x)
	}
	mine := []float64{a.Cosine, float64(a.Active)}
	for _, w := range a.Within {
		mine = append(mine, w.Largest, w.Sum)
	}
	ranks, err := comm.Gather(s.Comm, mine)
	if err != nil {
		return a, err
	}
	a.Active = 0
	for _, x := range ranks {
		one := kernels.Angles{Cosine: x[0], Active: int(x[1])}
		for l := range limits {
			one.Within = append(one.Within, kernels.Within{Largest: x[2+2*l], Sum: x[3+2*l]})
		}
		a.Join(one)
	}
	parts := make([][][2]int32, len(own))
	for l := range a.Within {
		for i, x := range own {
			parts[i] = x.Within[l].Left
		}
		if a.Within[l].Left, err = gather(s, 1, parts); err != nil {
			return a, err
		}
	}
	return a, nil
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
