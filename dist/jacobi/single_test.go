package jacobi

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/comm/commtest"
	"jmpi/dist/disttest"
	"jmpi/dist/exchange"
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

// V accumulated in float32, and U and V whole, whatever the matrix: columns of zeros and of rounding errors
// are completed.
func TestSingleDegenerate(t *testing.T) {
	const n = 24
	for name, a := range degenerate(n) {
		for _, grid := range [][2]int{{1, 1}, {2, 1}, {3, 1}} {
			for _, full := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s on %d×%d full=%v", name, grid[0], grid[1], full), func(t *testing.T) {
					o := decompose(t, a, grid[0], grid[1], single(n, n, true, Settings{Variant: variantOf(full), Block: 3}))
					if !o.done {
						t.Errorf("not converged in %d sweeps", len(o.sweeps))
					}
					residual := o.residual(rescaled(a, o.s))
					u, v := n*kernels.Epsilon*disttest.Orthogonality(o.u, n, n),
						n*kernels.Epsilon*disttest.Orthogonality(o.v, n, n)
					if !(residual < 1e-5 && u < n*cosine && v < n*cosine) {
						t.Errorf("residual %.2g, ‖UᵀU − I‖ %.2g, ‖VᵀV − I‖ %.2g", residual, u, v)
					}
					t.Logf("%d sweeps: residual %.2g, ‖UᵀU − I‖ %.2g, ‖VᵀV − I‖ %.2g", len(o.sweeps), residual, u, v)
				})
			}
		}
	}
}

// One fine ordering gives the same bits however the devices are split into ranks, messages are staged or not,
// and S and U have the same bits with V and without.
func TestSingleIsBitIdentical(t *testing.T) {
	const m, n = 120, 96
	a := graded(t, m, n, 12)
	for _, s := range []Settings{{Variant: Full, Block: 6}, {Variant: Block, Block: 12, InnerBlock: 3},
		{Variant: Block, Block: 6, StageBytes: 1000}} {
		want := decompose(t, a, 1, 1, single(m, n, true, s))
		for _, vectors := range []bool{true, false} {
			for _, grid := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {1, 4}, {2, 2}, {4, 1}} {
				got := decomposeOn(t, a, comm.NewLocal(grid[0]), single(m, n, vectors, s),
					func(c comm.Comm) ([]kernels.Backend, comm.Comm) {
						if s.StageBytes > 0 {
							_, backends, watched := disttest.OpenRank(t, c, grid[1], exchange.StageBytes)
							return backends, watched
						}
						return openHosts(t, grid[1]), c
					})
				if !reflect.DeepEqual(got.s, want.s) || !reflect.DeepEqual(got.u, want.u) ||
					vectors && !reflect.DeepEqual(got.v, want.v) {
					t.Errorf("%+v, vectors %t, %d ranks × %d devices: other bits than one device", s, vectors, grid[0],
						grid[1])
				}
			}
		}
	}
}

func TestMPISingle(t *testing.T) { commtest.Passes(t, 2, "TestMPIRankSingle") }

// TestMPIRankSingle solves in float32 between processes, with messages in host memory and staged ones.
func TestMPIRankSingle(t *testing.T) {
	world := commtest.World()
	if world == nil {
		t.Skip("what a rank does; TestMPI… starts it under mpirun")
	}
	const m, n = 70, 64
	a := graded(t, m, n, 12)
	c := single(m, n, true, Settings{Block: 4, StageBytes: 256, Variant: Block})
	want := decompose(t, a, 1, 2*world.Size(), c)
	for _, staged := range []bool{false, true} {
		got := decomposeOn(t, a, []comm.Comm{world}, c, func(comm comm.Comm) ([]kernels.Backend, comm.Comm) {
			if staged {
				_, backends, watched := disttest.OpenRank(t, comm, 2, exchange.StageBytes)
				return backends, watched
			}
			return openHosts(t, 2), comm
		})
		if !reflect.DeepEqual(got.s, want.s) {
			t.Errorf("staged %t: other bits of S than on one rank", staged)
		}
		for k := range n {
			u, v := got.u[k*m:(k+1)*m], got.v[k*n:(k+1)*n]
			if reflect.DeepEqual(u, make([]float64, m)) && reflect.DeepEqual(v, make([]float64, n)) {
				continue // on another rank
			}
			if !reflect.DeepEqual(u, want.u[k*m:(k+1)*m]) || !reflect.DeepEqual(v, want.v[k*n:(k+1)*n]) {
				t.Errorf("staged %t: other bits of columns %d of U and V than on one rank", staged, k)
			}
		}
	}
}
