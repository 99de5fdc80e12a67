package matrix

import (
	"errors"
	"fmt"

	"jmpi/kernels"
)

// Turn multiplies columns from the right by square matrices: the columns from the first to before the second
// of each pair of numbers by one of them, column-major. Every rank gives all of them. The pairs are in
// increasing order, and have no columns in common. It is collective.
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

// turnColumns is how many columns are multiplied at a time.
const turnColumns = 256

// inside tells whether the columns from one to before another lie in one block.
func (s *Matrix) inside(span [2]int) bool { return span[0]/s.tile == (span[1]-1)/s.tile }

// turnOwn does Turn for those pairs that lie in a block of this rank's device i.
func (s *Matrix) turnOwn(i int, dev *device, spans [][2]int, squares [][]float64) (err error) {
	var mine []int // pairs
	var q []float64
	for k, c := range spans {
		if id, _ := s.home(c[0]); id == s.first+i && s.inside(c) {
			mine, q = append(mine, k), append(q, squares[k]...)
		}
	}
	if len(mine) == 0 {
		return nil
	}
	factors := kernels.Panel{M: len(q), N: 1, Ld: len(q)}
	if factors.Data, err = dev.alloc(factors.Bytes()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.release(factors.Data)) }()
	if err = dev.Write(factors, q, len(q)); err != nil {
		return err
	}
	at := factors.Data
	for len(mine) > 0 {
		count, columns := 0, 0
		for _, k := range mine {
			order := spans[k][1] - spans[k][0]
			if count > 0 && columns+order > turnColumns {
				break
			}
			count, columns = count+1, columns+order
		}
		turned, _, err := dev.inbox.next(dev, s.M, columns)
		if err != nil {
			return err
		}
		var products []kernels.Gemm
		to := make([]int, 0, columns)
		for _, k := range mine[:count] {
			_, home := s.home(spans[k][0])
			order, from := spans[k][1]-spans[k][0], len(to)
			products = append(products, kernels.Gemm{Alpha: 1, A: s.shares[i].Columns(home, home+order),
				B: kernels.Panel{M: order, N: order, Ld: order, Data: at}, C: turned.Columns(from, from+order)})
			at += kernels.Address(order * order * kernels.WordBytes)
			for j := range order {
				to = append(to, home+j)
			}
		}
		if err := dev.Gemm(products); err != nil {
			return err
		}
		if err := dev.MoveColumns(s.shares[i], to, turned, Natural(columns)); err != nil {
			return err
		}
		mine = mine[count:]
	}
	return nil
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
