package matrix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

// Some columns of a matrix, none or all, in any order, become a matrix, and that some columns of another one.
func TestSelectAndPlace(t *testing.T) {
	const m, n = 30, 300
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 1})
	for _, count := range []int{0, 1, 100, n} {
		from := rand.New(rand.NewPCG(1, uint64(count))).Perm(n)[:count]
		to := rand.New(rand.NewPCG(2, uint64(count))).Perm(n)[:count]
		var selected []float64
		placed := make([]float64, m*n)
		for k, j := range from {
			selected = append(selected, a[j*m:(j+1)*m]...)
			copy(placed[to[k]*m:], a[j*m:(j+1)*m])
		}
		for _, grid := range [][2]int{{1, 1}, {3, 1}, {1, 2}, {2, 2}} {
			got, there := make([]float64, m*count), make([]float64, m*n)
			var wg sync.WaitGroup
			for _, world := range comm.NewLocal(grid[0]) {
				wg.Go(func() {
					d := on(t, world, grid[1])
					x, err := Select(of(t, d, m, n, a), from)
					y := of(t, d, m, n, make([]float64, m*n))
					if err == nil {
						err = Put(y, x, to)
					}
					if err != nil {
						t.Error(err)
						world.Abort(1)
						return
					}
					x.copyTo(t, got)
					y.copyTo(t, there)
				})
			}
			wg.Wait()
			what := fmt.Sprintf("%d columns, on %v", count, grid)
			if !slices.Equal(got, selected) {
				t.Errorf("%s: other columns were selected", what)
			}
			if !slices.Equal(there, placed) {
				t.Errorf("%s: the columns are in other places", what)
			}
		}
	}
}
