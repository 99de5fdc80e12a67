package dist

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/internal/reference"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
	"jmpi/kernels/kerneltest"
)

// solved is a Decomposition gathered from all ranks of one process.
type solved struct {
	m, n    int
	s, u, v []float64 // column-major m×n, n×n
	*Decomposition
}

// try runs Decompose on ranks with CPU devices, and gathers the vectors that the task wants.
func try(t testing.TB, a []float64, ranks, devices int, task Task) (solved, error) {
	t.Helper()
	return tryOn(t, a, ranks, task, func() ([]kernels.Backend, error) {
		var backends []kernels.Backend
		for range devices {
			be, err := cpu.Open(1)
			if err != nil {
				return nil, err
			}
			backends = append(backends, be)
		}
		return backends, nil
	})
}

// tryOn runs Decompose on ranks with the devices that open gives.
func tryOn(t testing.TB, a []float64, ranks int, task Task, open func() ([]kernels.Backend, error)) (solved, error) {
	t.Helper()
	m, n := task.M, task.N
	o := solved{m: m, n: n, u: make([]float64, m*n), v: make([]float64, n*n)}
	if task.MaxSweeps == 0 {
		task.MaxSweeps = 30
	}
	task.Strategy, task.Threads = "rev-rowcyc", 2
	task.Load = func(j0, j1 int, dst []float64) error {
		copy(dst, a[j0*m:j1*m])
		return nil
	}
	task.Rows = func(i0, i1 int, dst []float64) error {
		for i := i0; i < i1; i++ {
			for j := range n {
				dst[(i-i0)*n+j] = a[i+j*m]
			}
		}
		return nil
	}
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	run := func(comm Comm) error {
		backends, err := open()
		if err != nil {
			return err
		}
		for _, be := range backends {
			defer be.Close()
		}
		d, err := Decompose(context.Background(), comm, backends, task)
		if err != nil {
			return err
		}
		defer d.Free()
		into := func(x []float64, ld int) func(Part) error {
			return func(p Part) error {
				mu.Lock()
				defer mu.Unlock()
				for j := range p.N {
					copy(x[(p.Column+j)*ld+p.Row:], p.Data[j*p.M:(j+1)*p.M])
				}
				return nil
			}
		}
		var left, right func(Part) error
		if task.Left {
			left = into(o.u, m)
		}
		if task.Right {
			right = into(o.v, n)
		}
		if err := d.Vectors(left, right); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		o.s, o.Decomposition = d.Sigma, d
		return nil
	}
	for _, comm := range NewLocal(ranks) {
		wg.Go(func() {
			if err := run(comm); err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
				var known *Failure
				if !errors.As(err, &known) {
					comm.Abort(1)
				}
			}
		})
	}
	wg.Wait()
	return o, failed
}

// find runs try and expects no error.
func find(t testing.TB, a []float64, ranks, devices int, task Task) solved {
	t.Helper()
	o, err := try(t, a, ranks, devices, task)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// both is a task for U and V of an m×n matrix.
func both(m, n int) Task {
	return Task{Config: Config{M: m, N: n, Full: true, Block: 4}, Left: true, Right: true, Precondition: "auto", V: "auto"}
}

// verify asserts the rows of check (docs/design.md §9), for the SVD and for the hyperbolic SVD with the task's signs, below limit.
func (o solved) verify(t interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, a []float64, limit float64) {
	t.Helper()
	signs := o.task.Signs
	if signs == nil {
		signs = slices.Repeat([]float64{1}, o.n)
	}
	positive := 0
	for _, x := range signs {
		if x > 0 {
			positive++
		}
	}
	if !o.Converged {
		t.Errorf("not converged in %d sweeps", len(o.Sweeps))
	}
	residual, size, us, vv, orthogonal := 0.0, 0.0, 0.0, 0.0, 0.0
	for j := range o.n {
		for i := range o.m {
			x := a[j*o.m+i]
			size += x * x
			for k := range o.n {
				x -= o.u[k*o.m+i] * o.s[k] * o.v[k*o.n+j]
			}
			residual += x * x
			us += o.u[j*o.m+i] * o.s[j] * o.u[j*o.m+i] * o.s[j]
		}
		for k := range o.n {
			d := 0.0
			for i := range o.n {
				d += signs[i] * o.v[j*o.n+i] * o.v[k*o.n+i]
			}
			if j == k {
				d -= 1
				if j >= positive {
					d += 2
				}
			}
			orthogonal += d * d
		}
		for i := range o.n {
			vv += o.v[j*o.n+i] * o.v[j*o.n+i]
		}
	}
	scale := math.Sqrt(size)
	orthV := math.Sqrt(orthogonal) / (float64(o.n) * kernels.Epsilon)
	if positive < o.n {
		scale = math.Sqrt(us) * math.Sqrt(vv)
		orthV = math.Sqrt(orthogonal) / (vv * kernels.Epsilon)
	}
	if residual > 0 && !(math.Sqrt(residual)/(scale*float64(max(o.m, o.n))*kernels.Epsilon) < limit) {
		t.Errorf("residual %.3g", math.Sqrt(residual)/(scale*float64(max(o.m, o.n))*kernels.Epsilon))
	}
	if got := orthogonality(o.u, o.m, o.n); !(got < limit) {
		t.Errorf("orthU %.3g", got)
	}
	if !(orthV < limit) {
		t.Errorf("orthV %.3g", orthV)
	}
	for k := range o.s {
		rises := k > 0 && o.s[k] > o.s[k-1]
		if !(o.s[k] >= 0) || k != positive && k > 0 && rises != (k > positive && o.s[k] != o.s[k-1]) {
			t.Fatalf("σ_%d = %g after %g", k+1, o.s[k], o.s[max(k-1, 0)])
		}
	}
	for k := range o.n {
		if dense.LeadsNegative(o.u[k*o.m : (k+1)*o.m]) {
			t.Errorf("column %d of U has the wrong sign", k+1)
		}
	}
}

// sameBits asserts that two decompositions are the same, if they went through the same fine ordering: a small matrix on many devices does not.
func (o solved) sameBits(t testing.TB, other solved, what string) {
	t.Helper()
	if o.Layout.Columns != other.Layout.Columns {
		return
	}
	for _, x := range []struct {
		name string
		a, b []float64
	}{{"S", o.s, other.s}, {"U", o.u, other.u}, {"V", o.v, other.v}} {
		if !slices.Equal(x.a, x.b) {
			t.Errorf("%s: other bits of %s", what, x.name)
		}
	}
}

func TestDecompose(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {7, 1}, {2, 2}, {31, 31}, {97, 53}, {90, 89}, {2100, 37}, {257, 31}} {
		for _, kind := range []string{"gauss", "geometric", "graded-cols", "graded-rows", "lowrank"} {
			m, n := shape[0], shape[1]
			a := matrix(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 2})
			for _, precondition := range []string{"auto", "none", "qr", "qrcp", "qrcp-lq"} {
				for _, v := range []string{"accumulate", "solve"} {
					t.Run(fmt.Sprintf("%d×%d/%s/%s/%s", m, n, kind, precondition, v), func(t *testing.T) {
						task := both(m, n)
						task.Precondition, task.V = precondition, v
						one := find(t, a, 1, 1, task)
						one.verify(t, a, 4)
						for _, grid := range [][2]int{{2, 1}, {1, 2}, {4, 1}} {
							find(t, a, grid[0], grid[1], task).sameBits(t, one, fmt.Sprintf("%d×%d", grid[0], grid[1]))
						}
						find(t, a, 3, 1, task).verify(t, a, 4)
					})
				}
			}
		}
	}
}

// The singular values are the same bits whatever vectors are wanted and however they are found, and so are the vectors.
func TestSameValuesInAllModes(t *testing.T) {
	for _, shape := range [][2]int{{60, 41}, {1500, 20}} {
		for _, kind := range []string{"gauss", "graded-rows", "geometric"} {
			m, n := shape[0], shape[1]
			a := matrix(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 4})
			reference := find(t, a, 1, 1, both(m, n))
			for _, leads := range []bool{false, true} {
				for mode := range 8 {
					task := both(m, n)
					task.Left, task.Right, task.RightLeads, task.V = mode&1 != 0, mode&2 != 0, leads, []string{"accumulate", "solve"}[mode>>2]
					o := find(t, a, 2, 1, task)
					if !slices.Equal(o.s, reference.s) {
						t.Errorf("%s %d×%d, mode %d: other bits of S", kind, m, n, mode)
					}
					for k := range n {
						lead, has := o.u[k*m:(k+1)*m], task.Left
						if leads {
							lead, has = o.v[k*n:(k+1)*n], task.Right
						}
						if has && dense.LeadsNegative(lead) {
							t.Errorf("%s %d×%d, mode %d: column %d has the wrong sign", kind, m, n, mode, k+1)
						}
					}
				}
			}
		}
	}
}

// If vectors from the left ones do not serve, the method accumulates them.
func TestFallsBackToAccumulating(t *testing.T) {
	defer func(before float64) { residualLimit = before }(residualLimit)
	const n = 40
	a := matrix(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	limit := residualLimit
	for _, precondition := range []string{"none", "qr", "qrcp", "qrcp-lq"} {
		task := both(n, n)
		task.Precondition, task.V = precondition, "accumulate"
		want := find(t, a, 1, 1, task)
		residualLimit = 1e-9
		task.V = "solve"
		got := find(t, a, 2, 1, task)
		residualLimit = limit
		got.sameBits(t, want, "after the fall-back, "+precondition)
		if got.V.Used != "accumulate" || got.Residual != 0 {
			t.Errorf("%s: V by %+v, residual %g", precondition, got.V, got.Residual)
		}
	}
}

// testGraded is a test of all kinds of devices: every singular value of graded matrices is right to bound, and few sweeps find it.
func testGraded(t *testing.T, run runTask, n, ranks int, bound float64) {
	for _, kind := range []string{"graded-cols", "graded-rows"} {
		for _, cond := range []float64{1e12, 1e20} {
			for _, sorted := range []bool{false, true} {
				a := matrix(t, kind, gen.Options{Rows: int64(n), Cols: int64(n), Seed: 1, Cond: cond, Sorted: sorted})
				want, err := reference.Sigma(a, n, n, n)
				if err != nil {
					t.Fatal(err)
				}
				task := both(n, n)
				task.Block = 0
				o, err := run(t, a, ranks, task)
				if err != nil {
					t.Fatal(err)
				}
				worst := 0.0
				for k, s := range want {
					worst = max(worst, math.Abs(o.s[k]-s)/s)
				}
				what := fmt.Sprintf("%s %g sorted %t, n = %d", kind, cond, sorted, n)
				t.Logf("%s: %.1e in %d sweeps", what, worst, len(o.Sweeps))
				if !(worst <= bound) {
					t.Errorf("%s: relative error %.2e", what, worst)
				}
				if len(o.Sweeps) > 5 {
					t.Errorf("%s: %d sweeps", what, len(o.Sweeps))
				}
				if o.Rank.Value != n {
					t.Errorf("%s: rank %+v", what, o.Rank)
				}
			}
		}
	}
}

func TestGradedAccuracy(t *testing.T) { testGraded(t, onCPUs, 128, 2, 1e-13) }

func TestRank(t *testing.T) {
	const m, n = 80, 50
	for _, c := range []struct {
		kind string
		rank int64
	}{{"lowrank", 1}, {"lowrank", 7}, {"lowrank", 49}, {"gauss", 50}} {
		a := matrix(t, c.kind, gen.Options{Rows: m, Cols: n, Seed: 3, Rank: c.rank % 50})
		for _, precondition := range []string{"auto", "none", "qrcp", "qrcp-lq"} {
			task := both(m, n)
			task.Precondition = precondition
			if o := find(t, a, 2, 1, task); o.Rank.Value != int(c.rank) {
				t.Errorf("%s of rank %d, %s: %+v", c.kind, c.rank, precondition, o.Rank)
			}
		}
	}
	// Duplicate columns of a matrix that is graded.
	a := matrix(t, "graded-cols", gen.Options{Rows: m, Cols: n, Seed: 3, Cond: 1e20})
	for j := range 5 {
		copy(a[j*m:(j+1)*m], a[(j+20)*m:])
	}
	if o := find(t, a, 1, 1, both(m, n)); o.Rank.Value != n-5 {
		t.Errorf("5 of %d columns are copies: %+v", n, o.Rank)
	}
}

// testScaled is a test of all kinds of devices: multiplying by a power of two multiplies the singular values by it, and changes nothing else.
func testScaled(t *testing.T, run runTask) {
	for _, shape := range [][2]int{{33, 20}, {1100, 9}} {
		for _, kind := range []string{"gauss", "graded-cols", "graded-rows"} {
			m, n := shape[0], shape[1]
			a := matrix(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 5})
			want, err := run(t, a, 1, both(m, n))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range []int{-960, -500, -1, 1, 400, 1000} {
				b := slices.Clone(a)
				dense.Ldexp(b, e)
				got, err := run(t, b, 2, both(m, n))
				if err != nil {
					t.Fatal(err)
				}
				dense.Ldexp(got.s, -e)
				got.sameBits(t, want, fmt.Sprintf("%s %d×%d·2^%d", kind, m, n, e))
			}
		}
	}
}

func TestDecomposeScaled(t *testing.T) { testScaled(t, onCPUs) }

// runTask runs a task on ranks with one device each.
type runTask func(t testing.TB, a []float64, ranks int, task Task) (solved, error)

func onCPUs(t testing.TB, a []float64, ranks int, task Task) (solved, error) {
	return try(t, a, ranks, 1, task)
}

// testDegenerate is a test of all kinds of devices: matrices that are zero, equal, repeated or of low rank, with their singular values, and
// gradings over the whole range, on 1 to 4 ranks.
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
	b := matrix(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 6})
	twice := matrix(t, "gauss", gen.Options{Rows: 50, Cols: n, Seed: 6})
	copy(twice[5*50:10*50], twice[:5*50])
	// rowsOf returns the m×n matrix whose row i is row of(i) of a Gaussian one, zero for a negative number.
	rowsOf := func(m, n int, of func(i int) int) []float64 {
		x := matrix(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 2})
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
		{"one entry", 12, 9, entries(12, 9, func(i, j int) float64 { return 3 * identity(i, j+4) * identity(j, 2) }), append([]float64{3}, make([]float64, 8)...), 1},
		{"duplicate columns", 50, n, twice, nil, n - 5},
		{"zero row", 100, 100, rowsOf(100, 100, except(7, -1)), nil, 99},
		{"zero row of few", 5, 5, rowsOf(5, 5, except(2, -1)), nil, 4},
		{"equal rows", 40, 40, rowsOf(40, 40, except(30, 3)), nil, 39},
		{"rows twice", 120, 100, rowsOf(120, 100, func(i int) int { return i % 60 }), nil, 60},
		{"zero rows", 150, 100, rowsOf(150, 100, func(i int) int { return min(i, 79-i) }), nil, 40},
		{"checkerboard", 64, 64, entries(64, 64, func(i, j int) float64 { return float64((i + j) % 2) }), append([]float64{32, 32}, make([]float64, 62)...), 2},
		{"products of remainders", 100, 100, entries(100, 100, func(i, j int) float64 { return float64(i * j % 7) }), nil, 4},
		{"B·D, D = 1 … 1e-300", n, n, entries(n, n, func(i, j int) float64 { return b[i+j*n] * math.Pow(10, -300*float64(j)/(n-1)) }), nil, n},
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

func TestDegenerate(t *testing.T) { testDegenerate(t, onCPUs) }

// signed is a task for the hyperbolic SVD with random signs, of which so many are +1.
func signed(m, n, positive int, seed uint64) Task {
	task := both(m, n)
	for j := range n {
		sign := 1.0
		if j >= positive {
			sign = -1
		}
		task.Signs = append(task.Signs, sign)
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(n, func(i, j int) { task.Signs[i], task.Signs[j] = task.Signs[j], task.Signs[i] })
	return task
}

func TestHyperbolic(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {2, 2}, {40, 40}, {61, 37}, {1200, 24}} {
		m, n := shape[0], shape[1]
		for _, positive := range []int{0, 1, n / 2, n - 1, n} {
			for _, precondition := range []string{"auto", "none", "qr"} {
				a := matrix(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 9})
				task := signed(m, n, positive, 1)
				task.Precondition = precondition
				one := find(t, a, 1, 1, task)
				one.verify(t, a, 4)
				for _, grid := range [][2]int{{2, 1}, {1, 2}, {4, 1}} {
					find(t, a, grid[0], grid[1], task).sameBits(t, one, fmt.Sprintf("%d×%d, %d +1, on %v", m, n, positive, grid))
				}
				find(t, a, 3, 1, task).verify(t, a, 4)
			}
		}
	}
}

// With all signs +1 it is the SVD, bit for bit.
func TestHyperbolicOfOneSign(t *testing.T) {
	const m, n = 50, 33
	a := matrix(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 2})
	for _, precondition := range []string{"auto", "none", "qr"} {
		svd, hsvd := both(m, n), signed(m, n, n, 1)
		svd.Precondition, hsvd.Precondition = precondition, precondition
		find(t, a, 2, 1, hsvd).sameBits(t, find(t, a, 2, 1, svd), precondition)
	}
}

// Two columns that are equal, of different signs, leave A·J·Aᵀ with a lower rank than A.
func TestHyperbolicThatDoesNotExist(t *testing.T) {
	const m, n = 30, 20
	for _, c := range [][2]int{{4, 4}, {61, 12}, {64, 8}, {600, 20}} {
		task := signed(c[0], c[1], c[1]/2, 1)
		_, err := try(t, slices.Repeat([]float64{1}, c[0]*c[1]), 2, 1, task)
		var f *Failure
		if !errors.As(err, &f) || f.Kind != NoDecomposition {
			t.Errorf("ones, %d×%d: error %v", c[0], c[1], err)
		}
	}
	for name, change := range map[string]func(a []float64){
		"equal columns":       func(a []float64) { copy(a[(n-1)*m:], a[:m]) },
		"opposite columns":    func(a []float64) { copy(a[(n-1)*m:], a[:m]); dense.Negate(a[(n-1)*m:]) },
		"in combination":      func(a []float64) { combine(a, m, n) },
		"equal pair of pairs": func(a []float64) { copy(a[(n-2)*m:], a[:2*m]) },
		"columns of ones": func(a []float64) {
			for i := range m {
				a[i], a[(n-1)*m+i] = 1, 1
			}
		},
	} {
		for run := range 10 {
			ranks := 1 + run%3
			a := matrix(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: uint64(run)})
			change(a)
			task := both(m, n)
			task.Signs = slices.Concat(slices.Repeat([]float64{1}, n/2), slices.Repeat([]float64{-1}, n/2))
			_, err := try(t, a, ranks, 1, task)
			var f *Failure
			if !errors.As(err, &f) || f.Kind != NoDecomposition {
				t.Errorf("%s, %d ranks: error %v", name, ranks, err)
			}
		}
	}
}

// A matrix of ones has rank 1, and its hyperbolic SVD exists unless there are as many +1 as −1: it is not refused.
func TestHyperbolicOfOnes(t *testing.T) {
	for _, c := range [][3]int{{6, 3, 1}, {64, 64, 33}, {200, 100, 51}, {64, 8, 5}, {61, 12, 7}, {221, 13, 8}, {600, 20, 9}, {3000, 30, 1}} {
		for ranks := 1; ranks <= 3; ranks++ {
			task := signed(c[0], c[1], c[2], 1)
			task.Left, task.Right = false, false
			if o, err := try(t, slices.Repeat([]float64{1}, c[0]*c[1]), ranks, 1, task); err != nil || o.Rank.Value != 1 {
				t.Errorf("%d×%d, %d +1, %d ranks: error %v", c[0], c[1], c[2], ranks, err)
			}
		}
	}
}

// If the columns cancel each other altogether, nothing is left to compare small singular values with.
func TestHyperbolicOfNothing(t *testing.T) {
	for _, m := range []int{2, 4, 9} {
		for _, precondition := range []string{"none", "qr", "auto"} {
			task := both(m, 2)
			task.Signs, task.Precondition = []float64{1, -1}, precondition
			_, err := try(t, slices.Repeat([]float64{3}, 2*m), 2, 1, task)
			var f *Failure
			if !errors.As(err, &f) || f.Kind != NoDecomposition {
				t.Errorf("%d×2, %s: error %v", m, precondition, err)
			}
		}
	}
	for _, k := range []int{1, 2, 3, 8, 33} { // [X X; 0 0] with opposite signs
		x := matrix(t, "gauss", gen.Options{Rows: int64(k), Cols: int64(k), Seed: 4})
		a := make([]float64, 4*k*k)
		task := both(2*k, 2*k)
		for j := range 2 * k {
			copy(a[j*2*k:], x[j%k*k:(j%k+1)*k])
			task.Signs = append(task.Signs, 1-2*float64(j/k))
		}
		for ranks := 1; ranks <= 3; ranks++ {
			_, err := try(t, a, ranks, 1, task)
			var f *Failure
			if !errors.As(err, &f) || f.Kind != NoDecomposition {
				t.Errorf("[X X; 0 0] with X of order %d on %d ranks: error %v", k, ranks, err)
			}
		}
	}
	task := both(2, 2)
	task.Signs = []float64{1, -1}
	if o := find(t, make([]float64, 4), 1, 1, task); o.s[0] != 0 || o.s[1] != 0 || o.Rank.Value != 0 {
		t.Errorf("the zero matrix has singular values %v and rank %+v", o.s, o.Rank)
	}
}

// combine makes the last column, of sign −1, a combination 0.6·a₁ + 0.8·a₂ of two orthonormal ones of sign +1.
func combine(a []float64, m, n int) {
	clear(a[:2*m])
	a[0], a[m+1] = 1, 1
	last := a[(n-1)*m:]
	clear(last)
	last[0], last[1] = 0.6, 0.8
}

// testHyperbolicDependent is a test of all kinds of devices: dependent columns whose hyperbolic SVD exists.
func testHyperbolicDependent(t *testing.T, run runTask) {
	const m, n = 30, 20
	for name, change := range map[string]func(a []float64){
		"equal of one sign": func(a []float64) { copy(a[m:], a[:m]) },
		"half of the other sign": func(a []float64) {
			copy(a[(n-1)*m:], a[:m])
			dense.Ldexp(a[(n-1)*m:], -1)
		},
		"of low rank": func(a []float64) {
			for j := n / 2; j < n; j++ { // combinations of the others
				x := a[j*m : (j+1)*m]
				clear(x)
				for k := range 3 {
					for i := range x {
						x[i] += 0.1 * float64(j+k*k) / n * a[((j+k)%(n/2))*m+i]
					}
				}
			}
		},
		"zero column": func(a []float64) { clear(a[3*m : 4*m]) },
		"zero rows": func(a []float64) {
			for j := range n {
				clear(a[j*m+n-1 : (j+1)*m])
			}
		},
	} {
		a := matrix(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 8})
		change(a)
		task := both(m, n)
		task.Signs = slices.Concat(slices.Repeat([]float64{1}, n/2), slices.Repeat([]float64{-1}, n/2))
		o, err := run(t, a, 2, task)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		o.verify(t, a, 4)
		if want := map[bool]int{true: n / 2, false: n - 1}[name == "of low rank"]; o.Rank.Value != want {
			t.Errorf("%s: rank %+v", name, o.Rank)
		}
	}
}

func TestHyperbolicDependent(t *testing.T) { testHyperbolicDependent(t, onCPUs) }

// The hyperbolic SVD of a matrix of lower rank on any number of ranks and devices, with any vectors: the same values, and the same bits where the
// ordering is the same.
func TestHyperbolicOfLowerRank(t *testing.T) {
	const m, n, r = 110, 96, 51
	a := matrix(t, "lowrank", gen.Options{Rows: m, Cols: n, Seed: 5, Rank: r})
	task := signed(m, n, 30, 7)
	one := find(t, a, 1, 1, task)
	one.verify(t, a, 4)
	if one.Rank.Value != r {
		t.Errorf("rank %+v", one.Rank)
	}
	zeros := 0
	for _, x := range one.s {
		if x == 0 {
			zeros++
		}
	}
	if zeros != n-r {
		t.Errorf("%d of the singular values are zero, want %d", zeros, n-r)
	}
	for _, grid := range [][2]int{{2, 1}, {1, 2}, {3, 1}, {4, 1}, {2, 2}} {
		o := find(t, a, grid[0], grid[1], task)
		o.verify(t, a, 4)
		o.sameBits(t, one, fmt.Sprint(grid))
	}
	for _, vectors := range [][2]bool{{true, false}, {false, true}, {false, false}} {
		some := task
		some.Left, some.Right = vectors[0], vectors[1]
		o := find(t, a, 2, 1, some)
		if !slices.Equal(o.s, one.s) || some.Left && !slices.Equal(o.u, one.u) || some.Right && !slices.Equal(o.v, one.v) {
			t.Errorf("other bits with U %t, V %t", some.Left, some.Right)
		}
	}
}

// testHyperbolicGraded is a test of all kinds of devices: hyperbolic singular values of matrices with graded rows or columns have a small relative error
// each, compared with those that 256 bits give.
func testHyperbolicGraded(t *testing.T, run runTask) {
	for _, n := range []int{8, 20} {
		for _, kind := range []string{"graded-rows", "graded-cols"} {
			for _, cond := range []float64{1e12, 1e20, 1e40} {
				a := matrix(t, kind, gen.Options{Rows: int64(n), Cols: int64(n), Seed: 3, Cond: cond})
				task := both(n, n)
				task.Block = 0
				task.Signs = slices.Concat(slices.Repeat([]float64{1}, n/2), slices.Repeat([]float64{-1}, n-n/2))
				o, err := run(t, a, 1, task)
				if err != nil {
					t.Errorf("%s to %g, n = %d: %v", kind, cond, n, err)
					continue
				}
				o.verify(t, a, 4)
				worst := 0.0
				for k, x := range kerneltest.SingularValues(n, a, n/2) {
					worst = max(worst, math.Abs(o.s[k]-x)/x)
				}
				t.Logf("%s to %.0e, n = %d: largest relative error of a hyperbolic singular value %.1e, %d sweeps", kind, cond, n, worst, len(o.Sweeps))
				if !(worst < 1e-12) {
					t.Errorf("%s to %g, n = %d: relative error %g", kind, cond, n, worst)
				}
			}
		}
	}
}

func TestHyperbolicGraded(t *testing.T) { testHyperbolicGraded(t, onCPUs) }

// testRepeated is a test of all kinds of devices: where many singular values are equal, large rotations of columns that are orthogonal but for rounding errors do
// not keep the method from ending.
func testRepeated(t *testing.T, run runTask) {
	const n = 300
	q := make([]float64, n*n)
	for j := range n { // the discrete cosine transform: two different norms
		for i := range n {
			q[i+j*n] = math.Cos(math.Pi * (float64(i) + 0.5) * float64(j) / n)
		}
	}
	near := matrix(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
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
			vv := dot(0, v, v)
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
	// Half of the rows of 3n/4 orthonormal columns: n/4 singular values are 1, n/4 are 0, and those between are all different.
	s := sheetOf(NewLocal(1)[0], 2, n, 3*n/4, near[:n*3*n/4])
	reflectors, _, err := s.factor(s.natural())
	if err == nil {
		s, err = reflectors.form(2, 0, 3*n/4)
	}
	if err != nil {
		t.Fatal(err)
	}
	half := make([]float64, n*n)
	for j := range 3 * n / 4 {
		copy(half[j*n:j*n+n/2], s.column(j))
	}
	for name, a := range map[string][]float64{
		"cosine transform": q, "half of the rows": half, "nearly the identity": identity,
		"a reflector":     product(func(int) float64 { return 1 }),
		"two values":      product(func(k int) float64 { return 1 - 0.5*float64(k%2) }),
		"half projection": product(func(k int) float64 { return float64(k % 2) }),
	} {
		for _, full := range []bool{true, false} {
			for _, precondition := range []string{"auto", "none", "qrcp-lq"} {
				task := both(n, n)
				task.Block, task.Full, task.Precondition = 0, full, precondition
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

func TestRepeated(t *testing.T) { testRepeated(t, onCPUs) }

func TestSheetFactor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.IntRange(1, 200).Draw(rt, "m")
		n := rapid.IntRange(1, 200).Draw(rt, "n")
		pivot := rapid.Bool().Draw(rt, "pivot")
		a := matrix(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: rapid.Uint64Range(0, 9).Draw(rt, "seed")})
		order := rand.New(rand.NewPCG(uint64(m), uint64(n))).Perm(n)
		if pivot {
			order = nil
		}
		var first []float64
		for _, ranks := range []int{1, 3} {
			qr := make([]float64, m*n) // Q·R, with the columns of A in their places
			var wg sync.WaitGroup
			for _, comm := range NewLocal(ranks) {
				wg.Go(func() {
					s := sheetOf(comm, 2, m, n, a)
					q, place, err := s.factor(order)
					if err == nil {
						for j := range n {
							if order != nil && j < min(m, n) && place[order[j]] != j {
								t.Errorf("column %d is number %d of R, want %d", order[j], place[order[j]], j)
							}
						}
						s.columns(func(j int, x []float64) error {
							for i := place[j] + 1; i < m; i++ {
								if x[i] != 0 {
									t.Errorf("R has %g at row %d of its column %d", x[i], i, place[j])
								}
							}
							return nil
						})
						err = q.apply(s)
					}
					if err != nil {
						t.Error(err)
						comm.Abort(1)
						return
					}
					s.columns(func(j int, x []float64) error { copy(qr[j*m:], x); return nil })
				})
			}
			wg.Wait()
			for i := range a {
				if d := math.Abs(qr[i] - a[i]); !(d < 1e-12) {
					rt.Fatalf("Q·R is off by %g", d)
				}
			}
			if first == nil {
				first = qr
			} else if !slices.Equal(first, qr) {
				rt.Fatal("other bits on other ranks")
			}
		}
	})
}

// Right vectors from the left ones are as orthogonal as accumulated ones and leave as small a residual, whatever the condition; the vectors of small
// singular values are accurate with respect to the norm of the matrix alone (the table of docs/numerics.md §4).
func TestRightVectors(t *testing.T) {
	const n = 256
	for _, c := range []struct {
		kind string
		cond float64
	}{{"gauss", 0}, {"geometric", 1e8}, {"geometric", 1e14}, {"graded-cols", 1e20}, {"graded-rows", 1e20}} {
		a := matrix(t, c.kind, gen.Options{Rows: n, Cols: n, Seed: 1, Cond: c.cond})
		for _, v := range []string{"accumulate", "solve"} {
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
			t.Logf("%-11s %-6.0e %-10s orthV %.2g, worst ‖A·v − σ·u‖/σ %.1e, residual by R %.2g", c.kind, c.cond, v, orthogonality(o.v, n, n), worst, o.Residual)
		}
	}
}
