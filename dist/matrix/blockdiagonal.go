package matrix

import (
	"fmt"
	"math"

	"jmpi/kernels"
)

// BlockDiagonal returns the matrix with these square matrices along its diagonal, one after the other. They
// are column-major, and every rank gives all of them.
func (d *Devices) BlockDiagonal(squares [][]float64) (*Matrix, error) {
	order, start := make([]int, len(squares)), []int{0}
	for i, q := range squares {
		order[i] = int(math.Sqrt(float64(len(q))) + 0.5)
		start = append(start, start[i]+order[i])
	}
	n := start[len(squares)]
	s, err := d.New(n, n)
	if err != nil {
		return nil, err
	}
	err = s.eachBlock(func(dev *device, b int, p kernels.Panel) error {
		j0, j1 := s.span(b)
		first, last := 0, 0 // of the squares that have columns of the block
		for first < len(squares) && start[first+1] <= j0 {
			first++
		}
		for last = first; last < len(squares) && start[last] < j1; last++ {
		}
		top, rows := start[first], start[last]-start[first] // others are zero
		x := make([]float64, rows*(j1-j0))
		for i := first; i < last; i++ {
			for j := max(j0, start[i]); j < min(j1, start[i+1]); j++ {
				k := j - start[i]
				copy(x[(j-j0)*rows+start[i]-top:], squares[i][k*order[i]:(k+1)*order[i]])
			}
		}
		return dev.Put(p.Rows(top, top+rows), x)
	})
	if err != nil {
		return nil, fmt.Errorf("matrix: squares along a diagonal: %w", err)
	}
	return s, nil
}
