package matrix

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// TestDeparture corrects columns that are off by 2⁻¹⁸ twice. The first correction squares how far they are
// from orthonormal ones, the second leaves rounding errors. The bits do not depend on who has the columns.
func TestDeparture(t *testing.T) {
	for _, n := range []int{1, 63, 64, 200, 600} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			noise := disttest.Generate(t, "uniform", gen.Options{Rows: int64(n), Cols: int64(n), Seed: 1})
			start := make([]float64, n*n)
			for i, x := range noise {
				start[i] = math.Ldexp(x, -18)
			}
			for j := range n {
				start[j*(n+1)]++
			}
			var first []float64
			for _, grid := range [][2]int{{1, 1}, {1, 3}, {2, 1}, {3, 2}} {
				v := nearer(t, n, start, grid[0], grid[1])
				if first == nil {
					first = v
				} else if !slices.Equal(v, first) {
					t.Errorf("other bits on %d ranks with %d devices", grid[0], grid[1])
				}
			}
		})
	}
}

// nearer corrects the columns of a square matrix twice, and returns them.
func nearer(t *testing.T, n int, start []float64, ranks, devices int) []float64 {
	result := make([]float64, n*n)
	var wg sync.WaitGroup
	for _, world := range comm.NewLocal(ranks) {
		wg.Go(func() {
			v := of(t, on(t, world, devices), n, n, start)
			before := 1.0
			for step := range 3 {
				s, err := Departure(v)
				if err != nil {
					t.Error(err)
					return
				}
				norms, err := s.Norms()
				if err != nil {
					t.Error(err)
					return
				}
				size := 2 * kernels.Norm2(norms)
				limit := max([]float64{1, 3 * before * before, 0}[step], 8*kernels.Epsilon*math.Sqrt(float64(n)))
				if size > limit {
					t.Errorf("%d ranks, after %d corrections %.3g, want %.3g", ranks, step, size, limit)
				}
				if before = size; step < 2 {
					if err := SubtractTriangular(v, s); err != nil {
						t.Error(err)
					}
				}
				s.Free()
			}
			v.copyTo(t, result)
		})
	}
	wg.Wait()
	return result
}

// TestCorrect corrects columns that are off by 2⁻¹² once. What is left is the square of that, or its third
// power where the square would be too much.
func TestCorrect(t *testing.T) {
	const n = 300
	start := disttest.Generate(t, "uniform", gen.Options{Rows: n, Cols: n, Seed: 1})
	for i, x := range start {
		start[i] = math.Ldexp(x, -12) / math.Sqrt(n)
	}
	for j := range n {
		start[j*(n+1)]++
	}
	for _, grid := range grids {
		var sizes [2]float64 // what is left
		for i, enough := range []float64{math.Inf(1), 1e-10} {
			onGrid(t, grid, func(d *Devices) {
				v := of(t, d, n, n, start)
				_, size, left, err := Correct(v, 1, enough, 0)
				if err != nil {
					t.Error(err)
					return
				}
				_, after, _, err := Correct(v, 1, math.Inf(1), 0)
				if err != nil || !(after <= left) || left > 3*size*size {
					t.Errorf("%v: %.3g after a correction of %.3g, at most %.3g expected, error %v", grid, after, size, left,
						err)
				}
				if d.Comm.Rank() == 0 {
					sizes[i] = after
				}
			})
		}
		if !(sizes[1] < 1e-2*sizes[0]) {
			t.Errorf("%v: %.3g is left to second order, %.3g to first order", grid, sizes[1], sizes[0])
		}
	}
}

// TestWiden tests that blocks become wider with the columns of the matrix, on hosts alone.
func TestWiden(t *testing.T) {
	for _, c := range []struct{ n, want int }{{1, 64}, {2047, 64}, {2048, 128}, {4095, 128}, {4096, 256},
		{1 << 20, 256}} {
		d := on(t, comm.NewLocal(1)[0], 1)
		d.Widen(c.n)
		if d.tile != c.want {
			t.Errorf("n = %d: blocks of %d columns, want %d", c.n, d.tile, c.want)
		}
	}
}
