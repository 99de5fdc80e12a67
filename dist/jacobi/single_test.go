package jacobi

import (
	"fmt"
	"math"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// cosine is the largest cosine of columns of float32 that pass for orthogonal.
const cosine = 3e-6

// single returns the configuration of a method in float32.
func single(m, n int, vectors bool, s Settings) Config {
	return Config{Problem: Problem{M: m, N: n, Vectors: vectors, Precision: kernels.Float32, Cosine: cosine},
		Settings: s}
}

// graded returns a Gaussian matrix whose columns fall to 10^-digits.
func graded(t *testing.T, m, n int, digits float64) []float64 {
	t.Helper()
	a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 11})
	for j := range n {
		for i := range m {
			a[j*m+i] *= math.Pow(10, -digits*float64(j)/float64(n-1))
		}
	}
	return a
}

// near asserts that float32 has found the singular values that float64 finds, to some relative error each,
// and columns of U of length 1 that are orthogonal to about the cosine.
func (o outcome) near(t *testing.T, want outcome, relative float64) {
	t.Helper()
	if !o.done {
		t.Errorf("not converged in %d sweeps", len(o.sweeps))
	}
	worst := 0.0
	for k, s := range want.s {
		worst = max(worst, math.Abs(o.s[k]/s-1))
	}
	if !(worst < relative) {
		t.Errorf("σ off by %.2g", worst)
	}
	largest := 0.0
	for k := range o.n {
		u := o.u[k*o.m : (k+1)*o.m]
		for l := range k {
			largest = max(largest, math.Abs(disttest.Dot(0, u, o.u[l*o.m:(l+1)*o.m])))
		}
		if e := disttest.Dot(-1, u, u); !(math.Abs(e) < 1e-14) {
			t.Fatalf("the length of column %d of U is off by %g", k, e)
		}
	}
	if !(largest < 1e-5) {
		t.Errorf("a cosine of %.2g in U", largest)
	}
	t.Logf("%d sweeps; σ off by %.2g, cosines up to %.2g", len(o.sweeps), worst, largest)
}

// Gaussian and graded columns, in one level, two and three, on any number of ranks and devices.
func TestSingle(t *testing.T) {
	for _, c := range []struct {
		name     string
		m, n     int
		digits   float64
		settings Settings
		relative float64
	}{
		{"Gaussian", 200, 200, 0, Settings{Block: 16, Variant: Block}, 1e-4},
		{"Gaussian, full", 200, 200, 0, Settings{Block: 16, Variant: Full}, 1e-4},
		{"tall", 150, 61, 0, Settings{Block: 8, Variant: Block}, 3e-6},
		{"graded to 1e-20", 150, 90, 20, Settings{Block: 8, Variant: Block}, 3e-6},
		{"graded to 1e-20, nested", 150, 90, 20, Settings{Scheme: Nested, Block: 8, Variant: Block}, 3e-6},
		{"graded to 1e-20, two levels", 150, 90, 20, Settings{Block: 16, InnerBlock: 4, Variant: Block}, 3e-6},
		{"graded to 1e-20, two levels, full", 150, 90, 20, Settings{Block: 16, InnerBlock: 4, Variant: Full}, 3e-6},
		{"graded to 1e-250", 150, 90, 250, Settings{Block: 8, Variant: Block}, 3e-6},
		{"few columns", 9, 3, 0, Settings{Block: 4, Variant: Block}, 3e-6},
	} {
		a := graded(t, c.m, c.n, c.digits)
		exact := decompose(t, a, 1, 1, Config{Problem: Problem{M: c.m, N: c.n, Vectors: true},
			Settings: c.settings})
		for _, grid := range [][2]int{{1, 1}, {2, 1}, {1, 3}, {2, 2}} {
			t.Run(fmt.Sprintf("%s on %d×%d", c.name, grid[0], grid[1]), func(t *testing.T) {
				decompose(t, a, grid[0], grid[1], single(c.m, c.n, false, c.settings)).near(t, exact, c.relative)
			})
		}
	}
}
