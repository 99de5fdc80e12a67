package refine

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/matrix"
	"jmpi/internal/gen"
	"jmpi/internal/reference"
	"jmpi/kernels"
)

// sample is a kind of matrix.
type sample struct {
	name string
	kind string
	cond float64
	// the lower triangular factor takes its place
	triangular bool
	singular   func(i, n int) float64 // the singular values, where there is no kind
}

// prescribed returns U·Σ·Vᵀ with random U and V, but for rounding.
func prescribed(t testing.TB, n int, singular func(i, n int) float64) []float64 {
	d := on(t, comm.NewLocal(1)[0], 1)
	orthogonal := func(seed uint64) *matrix.Matrix {
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(n), Cols: int64(n), Seed: seed})
		q, err := matrix.Factor(load(t, d, n, n, a))
		must(t, err)
		x, err := q.Form(0, n)
		must(t, err)
		return x
	}
	u, v := orthogonal(1), orthogonal(2)
	sigma := make([]float64, n)
	for i := range sigma {
		sigma[i] = singular(i, n)
	}
	must(t, u.Scale(nil, sigma))
	vt, err := v.Transpose(nil, n)
	must(t, err)
	x, err := matrix.Product(u, vt, false)
	must(t, err)
	return elements(t, x)
}

func (s sample) make(t testing.TB, n int) []float64 {
	if s.singular != nil {
		a := prescribed(t, n, s.singular)
		if s.triangular {
			return lower(t, n, a)
		}
		return a
	}
	a := disttest.Generate(t, s.kind, gen.Options{Rows: int64(n), Cols: int64(n), Seed: 1, Cond: s.cond})
	if s.triangular {
		return lower(t, n, a)
	}
	return a
}

var samples = []sample{
	{"gauss", "gauss", 0, false, nil}, {"gauss, L", "gauss", 0, true, nil},
	{"geometric 1e8, L", "geometric", 1e8, true, nil}, {"geometric 1e14, L", "geometric", 1e14, true, nil},
	{"columns 1e12, L", "graded-cols", 1e12, true, nil}, {"columns 1e20, L", "graded-cols", 1e20, true, nil},
	{"rows 1e12, L", "graded-rows", 1e12, true, nil}, {"rows 1e20, L", "graded-rows", 1e20, true, nil},
	{"five", "", 0, false, func(i, n int) float64 { return float64(1 + i*5/n) }},
	{"five, L", "", 0, true, func(i, n int) float64 { return float64(1 + i*5/n) }},
	{"close pairs", "", 0, false, func(i, n int) float64 {
		return float64(1+i/2)/float64(n) + 1e-7*float64(i%2)
	}},
	{"clusters", "", 0, false, func(i, n int) float64 {
		return float64(1+i/16)/float64(n) + 1e-7*float64(i*i)
	}},
	{"one cluster", "", 0, false, func(i, n int) float64 { return 1 + 1e-4*float64(i)/float64(n) }},
}

// refined is a result on the host.
type refined struct {
	Result
	u, v []float64
}

// start is Start for all vectors.
func start(t testing.TB, x, v *matrix.Matrix) (*Result, error) {
	return startFor(t, Wanted{Left: true, Right: true}, x, v)
}

// startFor is Start with the ratio of the norms of X·V.
func startFor(t testing.TB, w Wanted, x, v *matrix.Matrix) (*Result, error) {
	g, err := matrix.Product(x, v, false)
	must(t, err)
	defer g.Free()
	norms, err := g.Norms()
	must(t, err)
	return Start(x, v, matrix.Ratio(norms), w, Hooks{})
}

// opener returns so many devices of a rank.
type opener func(t testing.TB, world comm.Comm, count int) *matrix.Devices

// refineOn refines rough vectors of the n×n matrix x on a grid of ranks and devices.
func refineOn(t testing.TB, open opener, grid [2]int, n int, x, v []float64) (r refined) {
	return refineFor(t, Wanted{Left: true, Right: true}, open, grid, n, x, v)
}

// refineFor is refineOn for some vectors; u and v are 0 where they are not wanted.
func refineFor(t testing.TB, w Wanted, open opener, grid [2]int, n int, x, v []float64) (r refined) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	r.u, r.v = make([]float64, n*n), make([]float64, n*n)
	for _, world := range comm.NewLocal(grid[0]) {
		wg.Go(func() {
			d := open(t, world, grid[1])
			got, err := startFor(t, w, load(t, d, n, n, x), load(t, d, n, n, v))
			if err != nil {
				t.Error(err)
				world.Abort(1)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			r.Result = *got
			for from, to := range map[*matrix.Matrix][]float64{got.U: r.u, got.V: r.v} {
				if from == nil {
					continue
				}
				for i, e := range elements(t, from) {
					to[i] += e
				}
			}
		})
	}
	wg.Wait()
	return r
}

// TestStart refines the vectors that sweeps in float32 give. The singular values are right to nearly all
// digits, the vectors orthonormal, and X·V is U·Σ. The steps are told.
func TestStart(t *testing.T) {
	const n = 128
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			x := s.make(t, n)
			v, sweeps := rough(n, x)
			r := refineOn(t, on, [2]int{1, 1}, n, x, v)
			t.Logf("%d sweeps in float32, then\n%s", sweeps, told(r.Steps))
			r.check(t, n, n, x)
		})
	}
}

// check tests a result for an m×n matrix, against the singular values by multi-precision.
func (r refined) check(t *testing.T, m, n int, x []float64) {
	t.Helper()
	if r.Outcome != Converged {
		t.Fatalf("outcome: %s", r.Outcome)
	}
	want, err := reference.Sigma(x, m, n, m)
	must(t, err)
	for i, w := range want {
		if e := math.Abs(r.Values[i]/w - 1); !(e < 1e-13) {
			t.Fatalf("singular value %d, %g, has the relative error %.2g", i, w, e)
		}
		if e := math.Abs(r.Values[i]/r.Norms[i] - 1); !(e < 1e-14) {
			t.Errorf("singular value %d, %g, differs from the norm of a column by %.2g", i, w, e)
		}
	}
	r.vectors(t, m, n, x)
}

// vectors tests that U and V are orthonormal, and X·V is U·Σ.
func (r refined) vectors(t *testing.T, m, n int, x []float64) {
	t.Helper()
	for i := 1; i < n; i++ {
		if r.Values[i] > r.Values[i-1] {
			t.Errorf("singular values %d and %d are not sorted", i-1, i)
		}
	}
	orthU, orthV := disttest.Orthogonality(r.u, m, n), disttest.Orthogonality(r.v, n, n)
	if !(orthU < 2 && orthV < 2) {
		t.Errorf("orthU = %.2f, orthV = %.2f", orthU, orthV)
	}
	if !(r.OrthV < 2*orthV+0.1 && r.OrthV > orthV/2) {
		t.Errorf("orthV = %.2f is estimated as %.2f", orthV, r.OrthV)
	}
	residual, size := 0.0, 0.0
	for j := range n {
		g := make([]float64, m)
		for k := range n {
			for i := range m {
				g[i] += x[i+k*m] * r.v[k+j*n]
			}
		}
		for i := range m {
			size += g[i] * g[i]
			residual += math.Pow(g[i]-r.u[i+j*m]*r.Values[j], 2)
		}
	}
	if residual = math.Sqrt(residual/size) / (float64(n) * kernels.Epsilon); !(residual < 0.5) {
		t.Errorf("‖X·V − U·Σ‖ = %.2g", residual)
	}
	t.Logf("orthU %.2f, orthV %.2f, residual %.3f", orthU, orthV, residual)
}

// named returns the samples of these names.
func named(names ...string) (some []sample) {
	for _, s := range samples {
		if slices.Contains(names, s.name) {
			some = append(some, s)
		}
	}
	return some
}

func told(steps []Step) (text string) {
	for _, s := range steps {
		text += fmt.Sprintf("%-14s order %d, active %.3f, cosine %.1e, angle %.1e, norm %.1e, ", s.What, s.Order,
			s.Active, s.Cosine, s.Angle, s.Norm)
		text += fmt.Sprintf("%d+%d clusters to %d, departure %.1e, %.3f s\n", s.Clusters, s.Left, s.Width,
			s.Departure, s.Seconds)
	}
	return text
}

// TestSplit compares the bits on several numbers of ranks and devices.
func TestSplit(t *testing.T) {
	const n = 200
	for _, s := range named("gauss", "rows 1e20, L", "clusters") {
		x := s.make(t, n)
		v, _ := rough(n, x)
		first := refineOn(t, on, [2]int{1, 1}, n, x, v)
		if first.Outcome != Converged {
			t.Fatalf("%s: outcome: %s", s.name, first.Outcome)
		}
		for _, grid := range [][2]int{{1, 2}, {1, 3}, {2, 1}, {2, 2}} {
			r := refineOn(t, on, grid, n, x, v)
			if !slices.Equal(r.Values, first.Values) || !slices.Equal(r.u, first.u) || !slices.Equal(r.v, first.v) ||
				r.OrthV != first.OrthV || r.Residual != first.Residual {
				t.Errorf("%s: other bits on %d ranks with %d devices", s.name, grid[0], grid[1])
			}
		}
	}
}
