package jacobi

import (
	"fmt"
	"reflect"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// Devices that do what is queued as late as they may, or whose copies come at once, give the bits of devices
// that do it at once: with block-columns in one piece or in four, float64 and float32, on several devices of
// a rank and on several ranks.
func TestQueuedSweeps(t *testing.T) {
	const m, n = 90, 80
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 6})
	for _, rows := range []int{batchRows, 1} {
		t.Run(fmt.Sprint(rows, " rows a batch"), func(t *testing.T) {
			defer func(usual int) { batchRows = usual }(batchRows)
			batchRows = rows
			for _, c := range []Config{
				{Problem: Problem{M: m, N: n, Vectors: true}, Settings: Settings{Block: 4, Variant: Block}},
				single(m, n, true, Settings{Block: 4, Variant: Block}),
			} {
				for _, grid := range [][2]int{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 2}, {2, 1}} {
					want := decompose(t, a, grid[0], grid[1], c)
					for _, eager := range []bool{false, true} {
						got := decomposeOn(t, a, comm.NewLocal(grid[0]), c,
							func(world comm.Comm) (backends []kernels.Backend, _ comm.Comm) {
								lag := &disttest.Lag{Eager: eager}
								for range grid[1] {
									d, err := disttest.OpenLagging(lag)
									if err != nil {
										t.Error(err)
									}
									backends = append(backends, d)
								}
								return backends, world
							})
						if !reflect.DeepEqual(got.s, want.s) || !reflect.DeepEqual(got.u, want.u) ||
							!reflect.DeepEqual(got.v, want.v) {
							t.Errorf("%d×%d, %s, eager %t: other bits", grid[0], grid[1], c.Precision, eager)
						}
					}
				}
			}
		})
	}
}
