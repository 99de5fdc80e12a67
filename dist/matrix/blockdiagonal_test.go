package matrix

import (
	"fmt"
	"slices"
	"testing"
)

// TestBlockDiagonal puts squares of several orders along a diagonal, over the ends of blocks, on all grids.
func TestBlockDiagonal(t *testing.T) {
	for _, orders := range [][]int{{1}, {70}, {3, 61, 64, 2, 100, 1, 30}, {63, 1, 1}, {}} {
		n := 0
		var squares [][]float64
		for i, k := range orders {
			q := make([]float64, k*k)
			for e := range q {
				q[e] = float64(1 + i*100000 + e)
			}
			squares, n = append(squares, q), n+k
		}
		want, at := make([]float64, n*n), 0
		for i, k := range orders {
			for j := range k {
				copy(want[at+(at+j)*n:], squares[i][j*k:(j+1)*k])
			}
			at += k
		}
		for _, grid := range grids {
			got := make([]float64, n*n)
			onGrid(t, grid, func(d *Devices) {
				s, err := d.BlockDiagonal(squares)
				if err != nil {
					t.Error(err)
					return
				}
				s.copyTo(t, got)
			})
			if !slices.Equal(got, want) {
				t.Error(fmt.Sprint(orders), grid, "other elements")
			}
		}
	}
}
