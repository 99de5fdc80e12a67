package matrix

import (
	"math"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// pivotedOn factors a on devices apart, and returns R with its columns in their places, and the panels.
func pivotedOn(t *testing.T, ranks, devices, m, n int, a []float64) (r []float64, panels []reflectors) {
	t.Helper()
	x, place := make([]float64, m*n), []int(nil)
	var wg sync.WaitGroup
	for _, world := range comm.NewLocal(ranks) {
		wg.Go(func() {
			backends, closeAll := openSeveral(t, devices, func() (kernels.Backend, error) {
				return disttest.OpenApart()
			})
			defer closeAll()
			d, err := NewDevices(world, backends, true)
			if err != nil {
				t.Error(err)
				world.Abort(1)
				return
			}
			s, norms, one := of(t, d, m, n, a), make([]float64, n), slices.Repeat([]float64{1e-3}, m)
			for j := range norms {
				norms[j] = kernels.Norm2(a[j*m : (j+1)*m])
			}
			noise := dense.NewNoise(1e-14, norms, dense.Bound{Rows: one, Columns: norms})
			q, order, rank, _, err := FactorPivoted(s, noise, false)
			if err != nil || rank != n {
				t.Errorf("rank %d, want %d: %v", rank, n, err)
				world.Abort(1)
				return
			}
			if s.copyTo(t, x); world.Rank() == 0 {
				place, panels = order, q.panels
			}
			if err := d.Free(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r = make([]float64, m*n)
	for j, i := range place {
		copy(r[i*m:(i+1)*m], x[j*m:(j+1)*m])
	}
	return r, panels
}

// TestLots tests that no pivot is shorter than kernels.PanelThreshold times what was left of any other
// column, that lots have several panels, and that devices of every number make the same bits.
func TestLots(t *testing.T) {
	const m, n = 307, 283
	for kind, cond := range map[string]float64{"gauss": 0, "graded-cols": 1e12, "geometric": 1e8} {
		a := disttest.Generate(t, kind, gen.Options{Rows: m, Cols: n, Cond: cond, Seed: 2})
		want, _ := pivotedOn(t, 1, 1, m, n, a)
		for i := range n {
			for j := i + 1; j < n; j++ {
				if below := kernels.Norm2(want[j*m+i : j*m+m]); !(math.Abs(want[i*m+i]) >=
					(kernels.PanelThreshold-1e-6)*below) {
					t.Fatalf("%s: pivot %d is %g, column %d has %g below it", kind, i, want[i*m+i], j, below)
				}
			}
		}
		for _, grid := range [][2]int{{1, 2}, {2, 1}, {1, 3}, {2, 2}} {
			r, panels := pivotedOn(t, grid[0], grid[1], m, n, a)
			if !slices.Equal(r, want) {
				t.Errorf("%s: other bits on %v", kind, grid)
			}
			together := 0 // panels of one lot: of one device
			for k := range panels[1:] {
				if panels[k].owner == panels[k+1].owner {
					together++
				}
			}
			if together < 2 {
				t.Errorf("%s: lots have one panel each", kind)
			}
		}
	}
}
