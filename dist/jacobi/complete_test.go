package jacobi

import (
	"math"
	"slices"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// Zero and tiny columns of both signs stand between the others in the order of Sigma. U is orthonormal, and
// A = U·Σ·Vᵀ, with the same bits however the devices are split into ranks.
func TestCompleteBetweenSigns(t *testing.T) {
	const m, n, positive = 100, 96, 40
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 3})
	for j := range n {
		for i := range m {
			switch j % 4 {
			case 1:
				a[i+j*m] = 0
			case 2:
				a[i+j*m] *= 1e-295
			}
		}
	}
	c := Config{Problem: Problem{M: m, N: n, Positive: positive, Vectors: true, Independent: true},
		Settings: Settings{Variant: Full, Block: 6}}
	var first outcome
	for _, grid := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {4, 1}, {2, 2}} {
		o := decompose(t, a, grid[0], grid[1], c)
		if got := disttest.Orthogonality(o.u, m, n); !(got < 4) {
			t.Errorf("%v: orthU %.3g", grid, got)
		}
		zeros := slices.DeleteFunc(slices.Clone(o.s), func(x float64) bool { return x != 0 })
		if len(zeros) != n/4 {
			t.Errorf("%v: %d singular values are zero", grid, len(zeros))
		}
		worst := 0.0
		for j := range n {
			for i := range m {
				x := a[i+j*m]
				for k := range n {
					x -= o.u[i+k*m] * o.s[k] * o.v[j+k*n]
				}
				worst = math.Max(worst, math.Abs(x))
			}
		}
		if scale := kernels.Norm2(o.s) * kernels.Norm2(o.v); !(worst < 10*kernels.Epsilon*scale) {
			t.Errorf("%v: A − U·Σ·Vᵀ has an element %.3g", grid, worst)
		}
		if first.s == nil {
			first = o
		}
		if !slices.Equal(o.s, first.s) || !slices.Equal(o.u, first.u) || !slices.Equal(o.v, first.v) {
			t.Errorf("%v: other bits", grid)
		}
	}
}
