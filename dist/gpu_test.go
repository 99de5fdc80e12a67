package dist

import (
	"fmt"
	"math"
	"reflect"
	"sync/atomic"
	"testing"

	"jmpi/internal/gen"
	"jmpi/internal/reference"
	"jmpi/kernels"
	"jmpi/kernels/cuda"
)

// gpus returns the number of GPUs, or skips the test.
func gpus(t testing.TB) int {
	t.Helper()
	n, err := cuda.Devices()
	if err != nil {
		t.Skipf("skipped: no GPU: %v", err)
	}
	if n == 0 {
		t.Skip("skipped: the driver shows no GPU")
	}
	return n
}

// decomposeOnGPUs runs Solve on ranks of one process, each with devices; GPUs are taken in turn, and again where there are too few.
func decomposeOnGPUs(t *testing.T, a []float64, ranks, devices int, c Config) outcome {
	t.Helper()
	count := gpus(t)
	return decomposeOn(t, a, NewLocal(ranks), c, func(comm Comm) ([]kernels.Backend, Comm) {
		var backends []kernels.Backend
		for i := range devices {
			be, err := cuda.Open((comm.Rank()*devices + i) % count)
			if err != nil {
				t.Error(err)
				comm.Abort(1)
				break
			}
			backends = append(backends, be)
		}
		return backends, comm
	})
}

// Shapes that nothing divides, more devices than block-columns, rank deficiency.
func TestGPUSolve(t *testing.T) {
	gpus(t)
	for _, x := range []struct {
		kind    string
		m, n    int
		devices int
		full    bool
	}{
		{"gauss", 1, 1, 1, true}, {"gauss", 5, 3, 2, true}, {"gauss", 257, 257, 1, true}, {"gauss", 257, 257, 1, false}, {"gauss", 301, 130, 2, true},
		{"geometric", 200, 200, 3, true}, {"graded-cols", 333, 190, 1, true}, {"lowrank", 256, 256, 1, true},
	} {
		t.Run(fmt.Sprintf("%s %d×%d on %d", x.kind, x.m, x.n, x.devices), func(t *testing.T) {
			a := matrix(t, x.kind, gen.Options{Rows: int64(x.m), Cols: int64(x.n), Seed: 1})
			decomposeOnGPUs(t, a, 1, x.devices, Config{M: x.m, N: x.n, Vectors: true, Full: x.full}).verify(t, a, 1)
		})
	}
}

// Every singular value of columns graded to 1e-12 in random order is right to a relative error of 1e-12.
func TestGPURelativeAccuracy(t *testing.T) {
	gpus(t)
	const n = 128
	for seed := uint64(1); seed <= 3; seed++ {
		a := matrix(t, "graded-cols", gen.Options{Rows: n, Cols: n, Seed: seed, Cond: 1e12})
		want, err := reference.Sigma(a, n, n, n)
		if err != nil {
			t.Fatal(err)
		}
		got := decomposeOnGPUs(t, a, 1, 1, Config{M: n, N: n, Vectors: true, Full: true})
		worst := 0.0
		for k, s := range want {
			worst = math.Max(worst, math.Abs(got.s[k]-s)/s)
		}
		t.Logf("seed %d: %d sweeps, relative error %.2g", seed, len(got.sweeps), worst)
		if !(worst <= 1e-12) {
			t.Errorf("seed %d: relative error %g", seed, worst)
		}
	}
}

// With the same widths a GPU takes as many sweeps as a CPU, give or take one.
func TestGPUSweepsAsOnCPU(t *testing.T) {
	gpus(t)
	const n = 384
	for _, kind := range []string{"gauss", "geometric", "graded-cols", "lowrank"} {
		for _, full := range []bool{true, false} {
			a := matrix(t, kind, gen.Options{Rows: n, Cols: n, Seed: 2})
			c := Config{M: n, N: n, Vectors: true, Full: full, Block: 48, InnerBlock: 12}
			onCPU, onGPU := decompose(t, a, 1, 1, c), decomposeOnGPUs(t, a, 1, 1, c)
			t.Logf("%s, full %t: %d sweeps on the GPU, %d on the CPU", kind, full, len(onGPU.sweeps), len(onCPU.sweeps))
			if d := len(onGPU.sweeps) - len(onCPU.sweeps); d < -1 || d > 1 {
				t.Errorf("%s, full %t: %d sweeps on the GPU, %d on the CPU", kind, full, len(onGPU.sweeps), len(onCPU.sweeps))
			}
		}
	}
}

// The bits of S, U and V do not depend on the split of the devices into ranks, nor on the run. One GPU may be several devices.
func TestGPUSplitsAreBitIdentical(t *testing.T) {
	const m, n = 400, 320
	g := 2
	if gpus(t) >= 4 {
		g = 4
	}
	a := matrix(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 3})
	c := Config{M: m, N: n, Vectors: true, Full: true, Block: 20}
	want := decomposeOnGPUs(t, a, 1, g, c)
	want.verify(t, a, 1)
	for ranks := 1; ranks <= g; ranks *= 2 {
		got := decomposeOnGPUs(t, a, ranks, g/ranks, c)
		if !reflect.DeepEqual(got.s, want.s) || !reflect.DeepEqual(got.u, want.u) || !reflect.DeepEqual(got.v, want.v) {
			t.Errorf("%d ranks × %d devices: other bits than 1 × %d", ranks, g/ranks, g)
		}
	}
	one := decomposeOnGPUs(t, a, 1, 1, c) // hoped for, not promised (docs/design.md §6)
	t.Logf("one device has the same bits: %t", reflect.DeepEqual(one.s, want.s) && reflect.DeepEqual(one.u, want.u) && reflect.DeepEqual(one.v, want.v))
}

// findOnGPUs runs Decompose on ranks of one process, which share the GPUs.
func findOnGPUs(t testing.TB, a []float64, ranks int, task Task) (solved, error) {
	t.Helper()
	count := gpus(t)
	return tryOn(t, a, ranks, task, func() ([]kernels.Backend, error) {
		be, err := cuda.Open(int(opened.Add(1)) % count)
		return []kernels.Backend{be}, err
	})
}

// opened counts the devices that findOnGPUs has opened.
var opened atomic.Int64

// Shapes, ranks and gradings through all that is done before and after the Jacobi method.
func TestGPUDecompose(t *testing.T) {
	gpus(t)
	for _, shape := range [][2]int{{1, 1}, {7, 1}, {2, 2}, {97, 53}, {257, 31}, {2100, 37}, {300, 300}} {
		for _, kind := range []string{"gauss", "graded-cols", "graded-rows", "lowrank"} {
			m, n := shape[0], shape[1]
			a := matrix(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 2})
			for _, mode := range [][2]string{{"auto", "auto"}, {"none", "solve"}, {"qr", "accumulate"}, {"qrcp-lq", "solve"}} {
				for _, ranks := range []int{1, 2, 3, 4} {
					task := both(m, n)
					task.Block, task.Precondition, task.V = 0, mode[0], mode[1]
					o, err := findOnGPUs(t, a, ranks, task)
					if err != nil {
						t.Fatal(err)
					}
					t.Run(fmt.Sprintf("%s %d×%d %v on %d", kind, m, n, mode, ranks), func(t *testing.T) { o.verify(t, a, 4) })
				}
			}
		}
	}
}

func TestGPUGradedAccuracy(t *testing.T) {
	gpus(t)
	testGraded(t, findOnGPUs, 128, 2, 1e-13)
	testGraded(t, findOnGPUs, 512, 1, 1e-12)
}

func TestGPUDegenerate(t *testing.T) {
	gpus(t)
	testDegenerate(t, findOnGPUs)
}

func TestGPUScaled(t *testing.T) {
	gpus(t)
	testScaled(t, findOnGPUs)
}

func TestGPURepeated(t *testing.T) {
	gpus(t)
	testRepeated(t, findOnGPUs)
}

func TestGPUHyperbolic(t *testing.T) {
	gpus(t)
	testHyperbolicDependent(t, findOnGPUs)
	testHyperbolicGraded(t, findOnGPUs)
	for _, shape := range [][2]int{{2, 2}, {61, 37}, {300, 300}, {1200, 24}} {
		m, n := shape[0], shape[1]
		a := matrix(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 9})
		for _, positive := range []int{0, 1, n / 2, n - 1, n} {
			for _, ranks := range []int{1, 2, 3, 4} {
				for _, full := range []bool{false, true} {
					task := signed(m, n, positive, 1)
					task.Block, task.Full = 0, full
					o, err := findOnGPUs(t, a, ranks, task)
					if err != nil {
						t.Fatal(err)
					}
					t.Run(fmt.Sprintf("%d×%d, %d positive, on %d, full %t", m, n, positive, ranks, full), func(t *testing.T) { o.verify(t, a, 4) })
				}
			}
		}
	}
}

// Hyperbolic SVDs of columns that nearly agree, and of graded rows, are as good on GPUs.
func TestGPUHyperbolicIsotropic(t *testing.T) {
	gpus(t)
	testIsotropic(t, findOnGPUs, []int{9, 64})
	testHyperbolicPairs(t, findOnGPUs, 30)
}

func TestGPUDecaying(t *testing.T) {
	gpus(t)
	for _, n := range []int{32, 64, 200} {
		testDecaying(t, findOnGPUs, 1, n)
		testDecaying(t, findOnGPUs, 3, n)
	}
}
