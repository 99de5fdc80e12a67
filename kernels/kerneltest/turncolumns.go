package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"jmpi/kernels"
)

// TurnColumns tests panels of many shapes in one list, |error| ≤ 2(k+2)·u·|A|·|Q|, that each has the same
// bits alone, and that Q stays as it is.
func TurnColumns(t *testing.T, b kernels.Backend) {
	var a, q []matrix
	var squares, together, alone []window
	for _, m := range []int{0, 1, 31, 1000, 5000} {
		rnd := newRand(m)
		for _, k := range []int{64, 0, 1, 2, 3, 128, 16, 17, 33, 32, 65, 100} {
			x, y := random(rnd, m, k), random(rnd, k, k)
			for l := range k { // the terms of a sum are of all sizes
				x.scaleColumn(l, math.Pow(10, 16*(rnd.Float64()-0.5)))
			}
			a, q = append(a, x), append(q, y)
			squares = append(squares, place(t, b, y, kernels.Float64))
			together = append(together, place(t, b, x, kernels.Float64))
			alone = append(alone, place(t, b, x, kernels.Float64))
		}
	}
	must(t, b.TurnColumns(panels(together), panels(squares)))
	for i, x := range a {
		must(t, b.TurnColumns(panels(alone[i:i+1]), panels(squares[i:i+1])))
		got := together[i].read()
		near(t, fmt.Sprintf("%d×%d", x.m, x.n), got, x.times(q[i]), x.abs().times(q[i].abs()),
			2*float64(x.n+2)*roundoff)
		equal(t, alone[i].read(), got)
		equal(t, squares[i].read(), q[i])
	}
	must(t, b.TurnColumns(nil, nil))
}
