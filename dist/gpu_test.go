package dist

import (
	"fmt"
	"path/filepath"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/dist/jacobi"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// findOnGPUs runs Decompose on ranks of one process, which share the GPUs.
func findOnGPUs(t testing.TB, a []float64, ranks int, task Task) (solved, error) {
	t.Helper()
	return tryOn(t, a, ranks, task, func() ([]kernels.Backend, error) {
		be, err := disttest.OpenGPU()
		return []kernels.Backend{be}, err
	})
}

// Shapes, ranks and gradings through all that is done before and after the Jacobi method.
func TestGPUDecompose(t *testing.T) {
	disttest.GPUs(t)
	for _, shape := range [][2]int{{1, 1}, {7, 1}, {2, 2}, {97, 53}, {257, 31}, {2100, 37}, {300, 300}} {
		for _, kind := range []string{"gauss", "graded-cols", "graded-rows", "lowrank"} {
			m, n := shape[0], shape[1]
			a := disttest.Generate(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 2})
			for _, mode := range []struct {
				p Preconditioner
				v RightVectors
			}{{AutoPreconditioner, AutoRight}, {NoPreconditioner, FromLeft}, {QR, Accumulate}, {QRCPLQ, FromLeft}} {
				for _, ranks := range []int{1, 2, 3, 4} {
					task := both(m, n)
					task.Block, task.Precondition, task.V = 0, mode.p, mode.v
					o, err := findOnGPUs(t, a, ranks, task)
					if err != nil {
						t.Fatal(err)
					}
					t.Run(fmt.Sprintf("%s %d×%d %v %v on %d", kind, m, n, mode.p, mode.v, ranks),
						func(t *testing.T) { o.verify(t, a, 4) })
				}
			}
		}
	}
}

func TestGPUGradedAccuracy(t *testing.T) {
	disttest.GPUs(t)
	testGraded(t, findOnGPUs, 128, 2, 1e-13)
	testGraded(t, findOnGPUs, 512, 1, 1e-12)
}

func TestGPUDegenerate(t *testing.T) {
	disttest.GPUs(t)
	testDegenerate(t, findOnGPUs)
}

func TestGPUScaled(t *testing.T) {
	disttest.GPUs(t)
	testScaled(t, findOnGPUs)
}

func TestGPURepeated(t *testing.T) {
	disttest.GPUs(t)
	testRepeated(t, findOnGPUs)
}

func TestGPUHyperbolic(t *testing.T) {
	disttest.GPUs(t)
	testHyperbolicDependent(t, findOnGPUs)
	testHyperbolicGraded(t, findOnGPUs)
	for _, shape := range [][2]int{{2, 2}, {61, 37}, {300, 300}, {1200, 24}} {
		m, n := shape[0], shape[1]
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 9})
		for _, positive := range []int{0, 1, n / 2, n - 1, n} {
			for _, ranks := range []int{1, 2, 3, 4} {
				for _, full := range []bool{false, true} {
					task := signed(m, n, positive, 1)
					task.Block, task.Variant = 0, variantOf(full)
					o, err := findOnGPUs(t, a, ranks, task)
					if err != nil {
						t.Fatal(err)
					}
					t.Run(fmt.Sprintf("%d×%d, %d positive, on %d, full %t", m, n, positive, ranks, full),
						func(t *testing.T) { o.verify(t, a, 4) })
				}
			}
		}
	}
}

// Hyperbolic SVDs of columns that nearly agree, and of graded rows, are as good on GPUs.
func TestGPUHyperbolicIsotropic(t *testing.T) {
	disttest.GPUs(t)
	testIsotropic(t, findOnGPUs, []int{9, 64})
	testHyperbolicPairs(t, findOnGPUs, 30)
}

// Where the first sweeps are in float32 results are as good on GPUs.
func TestGPUFloat32First(t *testing.T) {
	disttest.GPUs(t)
	lowFrom(t, 2)
	for ranks := 1; ranks <= 3; ranks += 2 {
		testGraded(t, findOnGPUs, 128, ranks, 1e-13)
		testLowKinds(t, findOnGPUs, 300, ranks)
	}
}

func TestGPUDecaying(t *testing.T) {
	disttest.GPUs(t)
	for _, n := range []int{32, 64, 200} {
		testDecaying(t, findOnGPUs, n, 1, 3)
	}
}

// A run on GPUs goes on with the same bits, whenever it was stopped, and on CPUs with a right result.
func TestGPUResume(t *testing.T) {
	disttest.GPUs(t)
	onGPUs := func(t testing.TB, a []float64, ranks, _ int, task Task) (solved, error) {
		t.Helper()
		return findOnGPUs(t, a, ranks, task)
	}
	for _, c := range []struct {
		kind      string
		m, n      int
		precision Precision
	}{{"gauss", 300, 300, Float64}, {"gauss", 300, 300, Float32}, {"graded-rows", 300, 280, Float64},
		{"graded-rows", 300, 280, Float32}, {"gauss", 5000, 130, Float64}} {
		t.Run(fmt.Sprintf("%s %d×%d %s", c.kind, c.m, c.n, c.precision), func(t *testing.T) {
			a := disttest.Generate(t, c.kind, gen.Options{Rows: int64(c.m), Cols: int64(c.n), Seed: 3})
			task := both(c.m, c.n)
			task.Block, task.Precision, task.Variant = 16, c.precision, jacobi.AutoVariant
			want, err := findOnGPUs(t, a, 1, task)
			if err != nil {
				t.Fatal(err)
			}
			testResumeOn(t, a, task, want, onGPUs, [][2]int{{1, 1}})
			dir := filepath.Join(t.TempDir(), "ck")
			if _, err := withKeeping(onGPUs, stopAfter(dir, 3))(t, a, 1, 1, task); !stopped(err) {
				t.Fatal(err)
			}
			o, err := withKeeping(try, stopAfter(dir, 0))(t, a, 2, 1, task)
			if err != nil {
				t.Fatal(err)
			}
			o.verify(t, a, 4)
		})
	}
}
