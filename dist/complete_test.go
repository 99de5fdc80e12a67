package dist

import (
	"fmt"
	"math"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/node"
)

// splits finds a decomposition on several splits of devices into ranks, and asserts that it passes the check
// and that those with the same fine ordering have the same bits. A hyperbolic SVD of lower rank has others
// inside, with orderings of their own: there the number of devices must be the same too.
func splits(t *testing.T, what string, a []float64, task Task) (all []solved) {
	t.Helper()
	type way struct {
		node.Ordering
		devices int
	}
	like := map[way]solved{} // the first one of each fine ordering
	for _, grid := range [][2]int{{1, 1}, {1, 2}, {3, 1}, {1, 3}, {2, 2}} {
		o := find(t, a, grid[0], grid[1], task)
		o.verify(t, a, 4)
		how := way{Ordering: o.Layout.Ordering}
		if task.Signs != nil {
			how.devices = grid[0] * grid[1]
		}
		if first, ok := like[how]; ok {
			o.sameBits(t, first, fmt.Sprintf("%s on %v", what, grid))
		} else {
			like[how] = o
		}
		if all = append(all, o); t.Failed() {
			t.Fatalf("%s on %v", what, grid)
		}
	}
	return all
}

// Columns of U for singular values that are zero are completed, by one and by nearly all.
func TestCompleteNull(t *testing.T) {
	const n = 80
	for _, m := range []int{n, 110} {
		for _, rank := range []int{1, n / 4, n - 1} {
			low := disttest.Generate(t, "lowrank", gen.Options{Rows: int64(m), Cols: n, Seed: 5, Rank: int64(rank)})
			zero := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: n, Seed: 5})
			for k := range n - rank {
				j := 7 * k % n // in any order
				clear(zero[j*m : (j+1)*m])
			}
			for _, p := range []Preconditioner{AutoPreconditioner, NoPreconditioner} {
				task := both(m, n)
				task.Precondition = p
				what := fmt.Sprintf("%d×%d of rank %d, %s", m, n, rank, p)
				splits(t, what, low, task)
				for _, o := range splits(t, what+", zero columns", zero, task) {
					if o.s[rank-1] == 0 || o.s[rank] != 0 {
						t.Errorf("%s: σ = … %g", what, o.s[rank-1:])
					}
				}
			}
		}
	}
}

// Zero columns of both signs.
func TestCompleteHyperbolic(t *testing.T) {
	const n = 60
	for _, m := range []int{n, 90} {
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: n, Seed: 6})
		for j := 2; j < n; j += 3 {
			clear(a[j*m : (j+1)*m])
		}
		for _, p := range []Preconditioner{AutoPreconditioner, NoPreconditioner} {
			task := signed(m, n, n/3, 2)
			task.Precondition = p
			splits(t, fmt.Sprintf("%d×%d, %s", m, n, p), a, task)
		}
	}
}

// Tiny columns become orthogonal to all others. Those that are so already keep their directions, and the
// signs that go with V; those that are combinations of others take any.
func TestCompleteTiny(t *testing.T) {
	const m, n = 70, 64
	size := func(j int) float64 { return math.Pow(10, -300*float64(j)/(n-1)) }
	b := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 7})
	graded, q, copies := make([]float64, m*n), make([]float64, m*n), make([]float64, m*n)
	for j := range n {
		for i := range m {
			graded[i+j*m] = size(j) * b[i+j*m]
			q[i+j*m] = size(j) * math.Cos(math.Pi*(float64(i)+0.5)*float64(j)/m)
			copies[i+j*m] = b[i+j%40*m]
			if j >= 40 {
				copies[i+j*m] *= 1e-300
			}
		}
	}
	task := both(m, n)
	task.Precondition = NoPreconditioner
	splits(t, "graded", graded, task)
	splits(t, "copies", copies, task)
	for _, o := range splits(t, "cosine transform", q, task) {
		for j := range n {
			norm := math.Sqrt(m / 2.)
			if j == 0 {
				norm = math.Sqrt(m)
			}
			c := disttest.Dot(0, o.u[j*m:(j+1)*m], q[j*m:(j+1)*m]) / size(j) / norm * o.v[j+j*n]
			if !(math.Abs(c-1) < 1e-13) {
				t.Errorf("cosine transform: σ_%d = %g, and u·vᵀ is off by %g", j+1, o.s[j], c-1)
			}
		}
	}
}
