package dist

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/kernels/kerneltest"
)

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
	rand.New(rand.NewPCG(seed, 0)).Shuffle(n, func(i, j int) {
		task.Signs[i], task.Signs[j] = task.Signs[j], task.Signs[i]
	})
	return task
}

func TestHyperbolic(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {2, 2}, {40, 40}, {61, 37}, {1200, 24}} {
		m, n := shape[0], shape[1]
		for _, positive := range []int{0, 1, n / 2, n - 1, n} {
			for _, precondition := range []Preconditioner{AutoPreconditioner, NoPreconditioner, QR} {
				a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 9})
				task := signed(m, n, positive, 1)
				task.Precondition = precondition
				one := find(t, a, 1, 1, task)
				one.verify(t, a, 4)
				for _, grid := range [][2]int{{2, 1}, {1, 2}, {4, 1}} {
					find(t, a, grid[0], grid[1], task).sameBits(t, one,
						fmt.Sprintf("%d×%d, %d +1, on %v", m, n, positive, grid))
				}
				find(t, a, 3, 1, task).verify(t, a, 4)
			}
		}
	}
}

// With all signs +1 it is the SVD, bit for bit.
func TestHyperbolicOfOneSign(t *testing.T) {
	const m, n = 50, 33
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 2})
	for _, precondition := range []Preconditioner{AutoPreconditioner, NoPreconditioner, QR} {
		svd, hsvd := both(m, n), signed(m, n, n, 1)
		svd.Precondition, hsvd.Precondition = precondition, precondition
		find(t, a, 2, 1, hsvd).sameBits(t, find(t, a, 2, 1, svd), precondition.String())
	}
}

// Two columns that are equal, of different signs, leave A·D·Aᵀ with a lower rank than A.
func TestHyperbolicThatDoesNotExist(t *testing.T) {
	const m, n = 30, 20
	for _, c := range [][2]int{{4, 4}, {61, 12}, {64, 8}, {600, 20}} {
		task := signed(c[0], c[1], c[1]/2, 1)
		_, err := try(t, slices.Repeat([]float64{1}, c[0]*c[1]), 2, 1, task)
		var f *comm.Failure
		if !errors.As(err, &f) || f.Kind != comm.NoDecomposition {
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
			a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: uint64(run)})
			change(a)
			task := both(m, n)
			task.Signs = slices.Concat(slices.Repeat([]float64{1}, n/2), slices.Repeat([]float64{-1}, n/2))
			_, err := try(t, a, ranks, 1, task)
			var f *comm.Failure
			if !errors.As(err, &f) || f.Kind != comm.NoDecomposition {
				t.Errorf("%s, %d ranks: error %v", name, ranks, err)
			}
		}
	}
}

// A matrix of ones has rank 1, and its hyperbolic SVD exists unless there are as many +1 as −1: it
// is not refused.
func TestHyperbolicOfOnes(t *testing.T) {
	for _, c := range [][3]int{{6, 3, 1}, {64, 64, 33}, {200, 100, 51}, {64, 8, 5}, {61, 12, 7}, {221, 13, 8},
		{600, 20, 9}, {3000, 30, 1}} {
		for ranks := 1; ranks <= 3; ranks++ {
			task := signed(c[0], c[1], c[2], 1)
			task.Left, task.Right = false, false
			if o, err := try(t, slices.Repeat([]float64{1}, c[0]*c[1]), ranks, 1, task); err != nil ||
				o.Rank.Value != 1 {
				t.Errorf("%d×%d, %d +1, %d ranks: error %v", c[0], c[1], c[2], ranks, err)
			}
		}
	}
}

// If the columns cancel each other altogether, nothing is left to compare small singular values with.
func TestHyperbolicOfNothing(t *testing.T) {
	for _, m := range []int{2, 4, 9} {
		for _, precondition := range []Preconditioner{NoPreconditioner, QR, AutoPreconditioner} {
			task := both(m, 2)
			task.Signs, task.Precondition = []float64{1, -1}, precondition
			_, err := try(t, slices.Repeat([]float64{3}, 2*m), 2, 1, task)
			var f *comm.Failure
			if !errors.As(err, &f) || f.Kind != comm.NoDecomposition {
				t.Errorf("%d×2, %s: error %v", m, precondition, err)
			}
		}
	}
	for _, k := range []int{1, 2, 3, 8, 33} { // [X X; 0 0] with opposite signs
		x := disttest.Generate(t, "gauss", gen.Options{Rows: int64(k), Cols: int64(k), Seed: 4})
		a := make([]float64, 4*k*k)
		task := both(2*k, 2*k)
		for j := range 2 * k {
			copy(a[j*2*k:], x[j%k*k:(j%k+1)*k])
			task.Signs = append(task.Signs, 1-2*float64(j/k))
		}
		for ranks := 1; ranks <= 3; ranks++ {
			_, err := try(t, a, ranks, 1, task)
			var f *comm.Failure
			if !errors.As(err, &f) || f.Kind != comm.NoDecomposition {
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

// combine makes the last column, of sign −1, a combination 0.6·a₁ + 0.8·a₂ of two orthonormal ones
// of sign +1.
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
		a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 8})
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

// The hyperbolic SVD of a matrix of lower rank on any number of ranks and devices, with any vectors: the same
// values, and the same bits where the ordering is the same.
func TestHyperbolicOfLowerRank(t *testing.T) {
	const m, n, r = 110, 96, 51
	a := disttest.Generate(t, "lowrank", gen.Options{Rows: m, Cols: n, Seed: 5, Rank: r})
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
		if !slices.Equal(o.s, one.s) || some.Left && !slices.Equal(o.u, one.u) || some.Right &&
			!slices.Equal(o.v, one.v) {
			t.Errorf("other bits with U %t, V %t", some.Left, some.Right)
		}
	}
}

// testHyperbolicGraded is a test of all kinds of devices: hyperbolic singular values of matrices with graded
// rows or columns have a small relative error each, compared with those that 256 bits give.
func testHyperbolicGraded(t *testing.T, run runTask) {
	for _, n := range []int{8, 20} {
		for _, kind := range []string{"graded-rows", "graded-cols"} {
			for _, cond := range []float64{1e12, 1e20, 1e40} {
				a := disttest.Generate(t, kind, gen.Options{Rows: int64(n), Cols: int64(n), Seed: 3, Cond: cond})
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
				t.Logf("%s to %.0e, n = %d: largest relative error of a hyperbolic singular value %.1e, %d sweeps", kind,
					cond, n, worst, len(o.Sweeps))
				if !(worst < 1e-12) {
					t.Errorf("%s to %g, n = %d: relative error %g", kind, cond, n, worst)
				}
			}
		}
	}
}

func TestHyperbolicGraded(t *testing.T) { testHyperbolicGraded(t, onCPUs) }
