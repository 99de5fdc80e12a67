package matrix

import (
	"math"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

// Columns that lie in one block, in two, and on two devices are multiplied; others stay as they are.
func TestTurn(t *testing.T) {
	const m, n = 90, 300
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 2})
	spans, squares := turns(n)
	want := append([]float64(nil), a...)
	across := 0
	for i, c := range spans {
		k := c[1] - c[0]
		for j := range k {
			for row := range m {
				x := 0.0
				for l := range k {
					x += a[(c[0]+l)*m+row] * squares[i][l+j*k]
				}
				want[(c[0]+j)*m+row] = x
			}
		}
		if c[0]/64 != (c[1]-1)/64 {
			across++
		}
	}
	if across == 0 || across == len(spans) {
		t.Fatalf("%d of %d pairs are in several blocks", across, len(spans))
	}
	for _, grid := range grids {
		got := make([]float64, m*n)
		onGrid(t, grid, func(d *Devices) {
			x := of(t, d, m, n, a)
			if err := x.Turn(spans, squares); err != nil {
				t.Error(err)
			}
			x.copyTo(t, got)
		})
		for i := range got {
			if e := math.Abs(got[i] - want[i]); !(e <= 1e-13) {
				t.Fatalf("%v: element %d is off by %g", grid, i, e)
			}
		}
	}
}
