package dist

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/internal/reference"
	"jmpi/kernels"
)

func TestDecompose(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute and more with the race detector")
	}
	for _, shape := range [][2]int{{1, 1}, {7, 1}, {2, 2}, {31, 31}, {97, 53}, {90, 89}, {2100, 37}, {257, 31}} {
		for _, kind := range []string{"gauss", "geometric", "graded-cols", "graded-rows", "lowrank"} {
			m, n := shape[0], shape[1]
			a := disttest.Generate(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 2})
			for _, precondition := range []Preconditioner{AutoPreconditioner, NoPreconditioner, QR, QRCP, QRCPLQ} {
				for _, v := range []RightVectors{Accumulate, FromLeft} {
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

// The singular values are the same bits whatever vectors are wanted and however they are found, and
// so are the vectors.
func TestSameValuesInAllModes(t *testing.T) {
	for _, shape := range [][2]int{{60, 41}, {1500, 20}} {
		for _, kind := range []string{"gauss", "graded-rows", "geometric"} {
			m, n := shape[0], shape[1]
			a := disttest.Generate(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 4})
			reference := find(t, a, 1, 1, both(m, n))
			for _, leads := range []bool{false, true} {
				for mode := range 8 {
					task := both(m, n)
					task.Left, task.Right, task.RightLeads, task.V = mode&1 != 0, mode&2 != 0, leads,
						[]RightVectors{Accumulate, FromLeft}[mode>>2]
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
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	limit := residualLimit
	for _, precondition := range []Preconditioner{NoPreconditioner, QR, QRCP, QRCPLQ} {
		task := both(n, n)
		task.Precondition, task.V = precondition, Accumulate
		want := find(t, a, 1, 1, task)
		residualLimit = 1e-9
		task.V = FromLeft
		got := find(t, a, 2, 1, task)
		residualLimit = limit
		got.sameBits(t, want, "after the fall-back, "+precondition.String())
		if got.V.Used != "accumulate" || got.Residual != 0 {
			t.Errorf("%s: V by %+v, residual %g", precondition, got.V, got.Residual)
		}
	}
}

// testGraded is a test of all kinds of devices: every singular value of graded matrices is right to
// bound, and few sweeps find it.
func testGraded(t *testing.T, run runTask, n, ranks int, bound float64) {
	for _, kind := range []string{"graded-cols", "graded-rows"} {
		for _, cond := range []float64{1e12, 1e20} {
			for _, sorted := range []bool{false, true} {
				a := disttest.Generate(t, kind, gen.Options{Rows: int64(n), Cols: int64(n), Seed: 1, Cond: cond,
					Sorted: sorted})
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

func TestGradedAccuracy(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute and more with the race detector")
	}
	testGraded(t, onCPUs, 128, 2, 1e-13)
}

func TestRank(t *testing.T) {
	const m, n = 80, 50
	for _, c := range []struct {
		kind string
		rank int64
	}{{"lowrank", 1}, {"lowrank", 7}, {"lowrank", 49}, {"gauss", 50}} {
		a := disttest.Generate(t, c.kind, gen.Options{Rows: m, Cols: n, Seed: 3, Rank: c.rank % 50})
		for _, precondition := range []Preconditioner{AutoPreconditioner, NoPreconditioner, QRCP, QRCPLQ} {
			task := both(m, n)
			task.Precondition = precondition
			if o := find(t, a, 2, 1, task); o.Rank.Value != int(c.rank) {
				t.Errorf("%s of rank %d, %s: %+v", c.kind, c.rank, precondition, o.Rank)
			}
		}
	}
	// Duplicate columns of a matrix that is graded.
	a := disttest.Generate(t, "graded-cols", gen.Options{Rows: m, Cols: n, Seed: 3, Cond: 1e20})
	for j := range 5 {
		copy(a[j*m:(j+1)*m], a[(j+20)*m:])
	}
	if o := find(t, a, 1, 1, both(m, n)); o.Rank.Value != n-5 {
		t.Errorf("5 of %d columns are copies: %+v", n, o.Rank)
	}
}

// wide is a device on which many columns are handled in one call, as on a GPU.
type wide struct{ *disttest.Apart }

func (w wide) Limits() kernels.Limits {
	l := w.Apart.Limits()
	l.Tile = 256
	return l
}

// What is left of a matrix of lower rank when its rank has been factored becomes zero, so that the Jacobi
// method works on a factor of that order: on hosts, and on devices with memory of their own, where many
// columns are factored before the others have the reflectors. Larger errors of these would be taken for
// columns.
func TestOrderIsTheRank(t *testing.T) {
	const n = 1024
	for _, rank := range []int{40, 256, 600} {
		a := disttest.Generate(t, "lowrank", gen.Options{Rows: n, Cols: n, Seed: 1, Rank: int64(rank)})
		task := both(n, n)
		task.Precondition, task.Wanted = QRCPLQ, Wanted{}
		for where, run := range map[string]func() (solved, error){
			"hosts": func() (solved, error) { return onCPUs(t, a, 1, task) },
			"apart": func() (solved, error) {
				return tryOn(t, a, 1, task, func() ([]kernels.Backend, error) {
					d, err := disttest.OpenApart()
					return []kernels.Backend{wide{d}}, err
				})
			},
		} {
			o, err := run()
			if err != nil {
				t.Fatal(err)
			}
			if got := len(o.Solution.Sigma); got != rank {
				t.Errorf("rank %d, %s: a factor of order %d", rank, where, got)
			}
		}
	}
}

// testScaled is a test of all kinds of devices: multiplying by a power of two multiplies the singular values
// by it, and changes nothing else.
func testScaled(t *testing.T, run runTask) {
	for _, shape := range [][2]int{{33, 20}, {1100, 9}} {
		for _, kind := range []string{"gauss", "graded-cols", "graded-rows"} {
			m, n := shape[0], shape[1]
			a := disttest.Generate(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 5})
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
