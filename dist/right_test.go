package dist

import (
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// Right vectors from the left ones are as orthogonal as accumulated ones and leave as small a residual,
// whatever the condition; the vectors of small singular values are accurate with respect to the norm of the
// matrix alone (the table of docs/numerics.md §4).
func TestRightVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute with the race detector")
	}
	const n = 256
	for _, c := range []struct {
		kind string
		cond float64
	}{{"gauss", 0}, {"geometric", 1e8}, {"geometric", 1e14}, {"graded-cols", 1e20}, {"graded-rows", 1e20}} {
		a := disttest.Generate(t, c.kind, gen.Options{Rows: n, Cols: n, Seed: 1, Cond: c.cond})
		for _, v := range []RightVectors{Accumulate, FromLeft} {
			task := both(n, n)
			task.Block, task.V = 32, v
			o := find(t, a, 2, 1, task)
			o.verify(t, a, 1)
			worst := 0.0
			for k := range n {
				y := make([]float64, n) // A·v − σ·u
				for j := range n {
					for i := range n {
						y[i] += a[i+j*n] * o.v[k*n+j]
					}
				}
				for i := range n {
					y[i] -= o.s[k] * o.u[k*n+i]
				}
				worst = max(worst, kernels.Norm2(y)/o.s[k])
			}
			t.Logf("%-11s %-6.0e %-10s orthV %.2g, worst ‖A·v − σ·u‖/σ %.1e, residual by R %.2g", c.kind, c.cond, v,
				disttest.Orthogonality(o.v, n, n), worst, o.Residual)
		}
	}
}
