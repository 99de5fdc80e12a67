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
