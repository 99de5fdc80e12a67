package dist

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/matrix"
	"jmpi/internal/gen"
	"jmpi/internal/reference"
	"jmpi/kernels"
)

// testDegenerate is a test of all kinds of devices: matrices that are zero, equal, repeated or of low rank,
// with their singular values, and gradings over the whole range, on 1 to 4 ranks.
func testDegenerate(t *testing.T, run runTask) {
	entries := func(m, n int, f func(i, j int) float64) []float64 {
		a := make([]float64, m*n)
		for j := range n {
			for i := range m {
				a[i+j*m] = f(i, j)
			}
		}
		return a
	}
	identity := func(i, j int) float64 {
		if i == j {
			return 1
		}
		return 0
	}
	const n = 30
	b := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 6})
	twice := disttest.Generate(t, "gauss", gen.Options{Rows: 50, Cols: n, Seed: 6})
	copy(twice[5*50:10*50], twice[:5*50])
	// rowsOf returns the m×n matrix whose row i is row of(i) of a Gaussian one, zero for a negative number.
	rowsOf := func(m, n int, of func(i int) int) []float64 {
		x := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 2})
		return entries(m, n, func(i, j int) float64 {
			if l := of(i); l >= 0 {
				return x[l+j*m]
			}
			return 0
		})
	}
	except := func(which, to int) func(int) int {
		return func(i int) int {
			if i == which {
				return to
			}
			return i
		}
	}
	for _, c := range []struct {
		name  string
		m, n  int
		a     []float64
		sigma []float64 // nil: from the reference solver
		rank  int
	}{
		{"2×2 zero", 2, 2, make([]float64, 4), make([]float64, 2), 0},
		{"7×3 zero", 7, 3, make([]float64, 21), make([]float64, 3), 0},
		{"identity", 33, 33, entries(33, 33, identity), slices.Repeat([]float64{1}, 33), 33},
		{"tall identity", 90, 17, entries(90, 17, identity), slices.Repeat([]float64{1}, 17), 17},
		{"all equal", 36, 25, slices.Repeat([]float64{2}, 36*25), append([]float64{60}, make([]float64, 24)...), 1},
		{"[[1,2],[2,4]]", 2, 2, []float64{1, 2, 2, 4}, []float64{5, 0}, 1},
		{"one entry", 12, 9, entries(12, 9, func(i, j int) float64 {
			return 3 * identity(i, j+4) * identity(j, 2)
		}), append([]float64{3}, make([]float64, 8)...), 1},
		{"duplicate columns", 50, n, twice, nil, n - 5},
		{"zero row", 100, 100, rowsOf(100, 100, except(7, -1)), nil, 99},
		{"zero row of few", 5, 5, rowsOf(5, 5, except(2, -1)), nil, 4},
		{"equal rows", 40, 40, rowsOf(40, 40, except(30, 3)), nil, 39},
		{"rows twice", 120, 100, rowsOf(120, 100, func(i int) int { return i % 60 }), nil, 60},
		{"zero rows", 150, 100, rowsOf(150, 100, func(i int) int { return min(i, 79-i) }), nil, 40},
		{"checkerboard", 64, 64, entries(64, 64, func(i, j int) float64 { return float64((i + j) % 2) }),
			append([]float64{32, 32}, make([]float64, 62)...), 2},
		{"products of remainders", 100, 100, entries(100, 100,
			func(i, j int) float64 { return float64(i * j % 7) }), nil, 4},
		{"B·D, D = 1 … 1e-300", n, n, entries(n, n,
			func(i, j int) float64 { return b[i+j*n] * math.Pow(10, -300*float64(j)/(n-1)) }), nil, n},
	} {
		if c.sigma == nil {
			var err error
			if c.sigma, err = reference.Sigma(c.a, c.m, c.n, c.m); err != nil {
				t.Fatal(err)
			}
		}
		for ranks := 1; ranks <= 4; ranks++ {
			t.Run(fmt.Sprintf("%s on %d", c.name, ranks), func(t *testing.T) {
				o, err := run(t, c.a, ranks, both(c.m, c.n))
				if err != nil {
					t.Fatal(err)
				}
				o.verify(t, c.a, 4)
				for k, s := range c.sigma {
					bound := 1e-13 * s
					if s == 0 {
						bound = float64(c.n) * kernels.Epsilon * c.sigma[0]
					}
					if !(math.Abs(o.s[k]-s) <= bound) {
						t.Errorf("σ_%d = %g, want %g", k+1, o.s[k], s)
					}
				}
				if o.Rank.Value != c.rank {
					t.Errorf("rank %+v, want %d", o.Rank, c.rank)
				}
				if len(o.Sweeps) > 12 {
					t.Errorf("%d sweeps", len(o.Sweeps))
				}
			})
		}
	}
}

func TestDegenerate(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute with the race detector")
	}
	testDegenerate(t, onCPUs)
}

// testRepeated is a test of all kinds of devices: where many singular values are equal, large rotations of
// columns that are orthogonal but for rounding errors do not keep the method from ending.
func testRepeated(t *testing.T, run runTask) {
	const n = 300
	q := make([]float64, n*n)
	for j := range n { // the discrete cosine transform: two different norms
		for i := range n {
			q[i+j*n] = math.Cos(math.Pi * (float64(i) + 0.5) * float64(j) / n)
		}
	}
	near := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	product := func(values func(k int) float64) []float64 { // H·diag·H' with two Householder reflectors
		a := make([]float64, n*n)
		for j := range n {
			a[j+j*n] = values(j)
		}
		for _, side := range []bool{true, false} {
			v := near[:n]
			if side {
				v = near[n : 2*n]
			}
			vv := disttest.Dot(0, v, v)
			for l := range n {
				w := 0.0
				for i := range n {
					if side {
						w += v[i] * a[i+l*n]
					} else {
						w += v[i] * a[l+i*n]
					}
				}
				for i := range n {
					if side {
						a[i+l*n] -= 2 * w / vv * v[i]
					} else {
						a[l+i*n] -= 2 * w / vv * v[i]
					}
				}
			}
		}
		return a
	}
	identity := make([]float64, n*n)
	for j := range n {
		for i := range n {
			identity[i+j*n] = 1e-13 * near[i+j*n]
		}
		identity[j+j*n]++
	}
	// Half of the rows of 3n/4 orthonormal columns: n/4 singular values are 1, n/4 are 0, and those
	// between are all different.
	s := matrixOf(t, comm.NewLocal(1)[0], n, 3*n/4, near[:n*3*n/4])
	reflectors, err := matrix.Factor(s)
	if err == nil {
		s, err = reflectors.Form(0, 3*n/4)
	}
	if err != nil {
		t.Fatal(err)
	}
	half := make([]float64, n*n)
	err = s.EachBlock(func(j0, j1 int, x []float64) error {
		for j := j0; j < j1; j++ {
			copy(half[j*n:j*n+n/2], x[(j-j0)*n:])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string][]float64{
		"cosine transform": q, "half of the rows": half, "nearly the identity": identity,
		"a reflector":     product(func(int) float64 { return 1 }),
		"two values":      product(func(k int) float64 { return 1 - 0.5*float64(k%2) }),
		"half projection": product(func(k int) float64 { return float64(k % 2) }),
	} {
		for _, full := range []bool{true, false} {
			for _, precondition := range []Preconditioner{AutoPreconditioner, NoPreconditioner, QRCPLQ} {
				task := both(n, n)
				task.Block, task.Variant, task.Precondition = 0, variantOf(full), precondition
				o, err := run(t, a, 1, task)
				if err != nil {
					t.Fatal(err)
				}
				o.verify(t, a, 4)
				t.Logf("%s, full %t, %s: %d sweeps", name, full, precondition, len(o.Sweeps))
				limit := 7
				if strings.HasPrefix(name, "half") { // columns of a projection are no closer to orthogonal than others
					limit = 14
				}
				if len(o.Sweeps) > limit {
					t.Errorf("%s, full %t, %s: %d sweeps", name, full, precondition, len(o.Sweeps))
				}
			}
		}
	}
}

func TestRepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute and more with the race detector")
	}
	testRepeated(t, onCPUs)
}
