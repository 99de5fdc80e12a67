package matrix

import (
	"errors"
	"fmt"

	"jmpi/kernels"
)

// Turn multiplies columns from the right by square matrices: the columns from the first to before the second
// of each pair of numbers, at most kernels.TurnWidth, by one of them, column-major. Every rank gives all of
// them. The pairs are in increasing order, and have no columns in common. It is collective.
func (s *Matrix) Turn(spans [][2]int, squares [][]float64) error {
	err := s.each(func(i int, dev *device) error { return s.turnOwn(i, dev, spans, squares) })
	first, columns := 0, []int(nil) // of those in several blocks, which may be on several devices
	var some [][]float64
	for ; first < len(spans) && err == nil; first++ {
		c := spans[first]
		if s.inside(c) {
			continue
		}
		if len(columns) > 0 && len(columns)+c[1]-c[0] > turnColumns {
			err = s.turnAcross(columns, some)
			columns, some = nil, nil
		}
		for j := c[0]; j < c[1]; j++ {
			columns = append(columns, j)
		}
		some = append(some, squares[first])
	}
	if err == nil && len(columns) > 0 {
		err = s.turnAcross(columns, some)
	}
	if err != nil {
		return fmt.Errorf("matrix: columns times square matrices: %w", err)
	}
	return nil
}

// turnColumns is how many columns of several blocks are multiplied at a time.
const turnColumns = 256

// inside tells whether the columns from one to before another lie in one block.
func (s *Matrix) inside(span [2]int) bool { return span[0]/s.tile == (span[1]-1)/s.tile }

// turnOwn does Turn for those pairs that lie in a block of this rank's device i.
func (s *Matrix) turnOwn(i int, dev *device, spans [][2]int, squares [][]float64) (err error) {
	var columns, factors []kernels.Panel
	var q []float64
	for k, c := range spans {
		id, home := s.home(c[0])
		if id != s.first+i || !s.inside(c) {
			continue
		}
		order, before := c[1]-c[0], kernels.Address(len(q)*kernels.WordBytes)
		columns = append(columns, s.shares[i].Columns(home, home+order))
		factors = append(factors, kernels.Panel{M: order, N: order, Ld: order, Data: before})
		q = append(q, squares[k]...)
	}
	if len(q) == 0 {
		return nil
	}
	all := kernels.Panel{M: len(q), N: 1, Ld: len(q)}
	if all.Data, err = dev.alloc(all.Bytes()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.release(all.Data)) }()
	if err = dev.Put(all, q); err != nil {
		return err
	}
	for k := range factors {
		factors[k].Data += all.Data
	}
	return dev.TurnColumns(columns, factors)
}

// turnAcross multiplies some columns, wherever they are, by square matrices along a diagonal.
func (s *Matrix) turnAcross(columns []int, squares [][]float64) error {
	q, err := s.BlockDiagonal(squares)
	if err != nil {
		return err
	}
	defer q.Free()
	x, err := Select(s, columns)
	if err != nil {
		return err
	}
	defer x.Free()
	y, err := Product(x, q, false)
	if err != nil {
		return err
	}
	defer y.Free()
	return Put(s, y, columns)
}
