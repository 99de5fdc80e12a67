package cuda

import (
	"fmt"

	"jmpi/kernels"
)

// turned is Turned of turn_columns.cu.
type turned struct {
	a         kernels.Address
	m, k, lda int64
	q         kernels.Address
	ldq       int64
}

// turnWarps is WARPS of turn_columns.cu.
const turnWarps = 4

// turnKernels are the kernels of turn_columns.cu by the largest order that they take. A warp has all columns
// of so many times 16 rows in registers.
var turnKernels = []struct{ order, tiles int }{{16, 2}, {32, 2}, {64, 1}, {kernels.TurnWidth, 1}}

// TurnColumns multiplies in one launch the panels of a range of orders.
func (d *device) TurnColumns(a, q []kernels.Panel) error {
	return d.checked("TurnColumns", kernels.CheckTurnColumns(a, q), func() error {
		var list []turned
		ends, longest := make([]int, len(turnKernels)), make([]int, len(turnKernels))
		above := 0 // the orders of the kernel before
		for i, k := range turnKernels {
			for j, x := range a {
				if x.M > 0 && x.N > above && x.N <= k.order {
					list = append(list, turned{x.Data, int64(x.M), int64(x.N), int64(x.Ld), q[j].Data, int64(q[j].Ld)})
					longest[i] = max(longest[i], x.M)
				}
			}
			ends[i], above = len(list), k.order
		}
		at, err := d.list("columns to turn", words(list))
		if err != nil {
			return err
		}
		first := 0
		for i, k := range turnKernels {
			from := at + kernels.Address(len(words(list[:first]))*kernels.WordBytes)
			rows := min(ceil(longest[i], 16*k.tiles*turnWarps), gridLimit)
			if err := d.launch(fmt.Sprint("turn_columns_", k.order), ends[i]-first, rows, 1, 32*turnWarps, 0,
				word(from)); err != nil {
				return err
			}
			first = ends[i]
		}
		return nil
	})
}
