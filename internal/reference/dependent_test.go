package reference

import (
	"math"
	"testing"

	"jmpi/internal/gen"
)

// [B 2B] has the singular values of B times √5, and 0. Each column stands beside its double, of which the
// reflections leave a few units while there are others to reflect.
func TestDependentColumns(t *testing.T) {
	for _, shape := range [][2]int{{12, 12}, {30, 12}, {200, 12}, {700, 5}} {
		for _, cond := range []float64{1, 1e12, 1e60} {
			m, n := shape[0], shape[1]
			b := dense(t, "graded-cols", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 4, Cond: cond})
			a := make([]float64, 2*m*n)
			for i, x := range b {
				j := i / m
				a[i+j*m], a[i+(j+1)*m] = x, 2*x
			}
			of, got := sigma(t, b, m, n, m), sigma(t, a, m, 2*n, m)
			for i, x := range of {
				if want := math.Sqrt(5) * x; !(math.Abs(got[i]-want) <= 0x1p-51*want) {
					t.Errorf("%d×%d, cond %g: σ[%d] = %.17g, want %.17g", m, 2*n, cond, i, got[i], want)
				}
			}
			for i, x := range got[min(n, len(got)):] {
				if x != 0 {
					t.Errorf("%d×%d, cond %g: σ[%d] = %g, want 0", m, 2*n, cond, n+i, x)
				}
			}
		}
	}
}
