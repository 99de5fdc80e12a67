package jacobi

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/internal/reference"
	"jmpi/kernels"
	"jmpi/kernels/cuda"
)

// decomposeOnGPUs runs Solve on ranks of one process, each with devices; GPUs are taken one after the other,
// and again where there are too few.
func decomposeOnGPUs(t *testing.T, a []float64, ranks, devices int, c Config) outcome {
	t.Helper()
	count := disttest.GPUs(t)
	return decomposeOn(t, a, comm.NewLocal(ranks), c, func(comm comm.Comm) ([]kernels.Backend, comm.Comm) {
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
	disttest.GPUs(t)
	for _, x := range []struct {
		kind    string
		m, n    int
		devices int
		full    bool
	}{
		{"gauss", 1, 1, 1, true}, {"gauss", 5, 3, 2, true}, {"gauss", 257, 257, 1, true},
		{"gauss", 257, 257, 1, false}, {"gauss", 301, 130, 2, true},
		{"geometric", 200, 200, 3, true}, {"graded-cols", 333, 190, 1, true}, {"lowrank", 256, 256, 1, true},
	} {
		t.Run(fmt.Sprintf("%s %d×%d on %d", x.kind, x.m, x.n, x.devices), func(t *testing.T) {
			a := disttest.Generate(t, x.kind, gen.Options{Rows: int64(x.m), Cols: int64(x.n), Seed: 1})
			decomposeOnGPUs(t, a, 1, x.devices, Config{Problem: Problem{M: x.m, N: x.n, Vectors: true},
				Settings: Settings{Variant: variantOf(x.full)}}).verify(t, a, 1)
		})
	}
}

// Every singular value of columns graded to 1e-12 in random order is right to a relative error of 1e-12.
func TestGPURelativeAccuracy(t *testing.T) {
	disttest.GPUs(t)
	const n = 128
	for seed := uint64(1); seed <= 3; seed++ {
		a := disttest.Generate(t, "graded-cols", gen.Options{Rows: n, Cols: n, Seed: seed, Cond: 1e12})
		want, err := reference.Sigma(a, n, n, n)
		if err != nil {
			t.Fatal(err)
		}
		got := decomposeOnGPUs(t, a, 1, 1, Config{Problem: Problem{M: n, N: n, Vectors: true},
			Settings: Settings{Variant: Full}})
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
	disttest.GPUs(t)
	const n = 384
	for _, kind := range []string{"gauss", "geometric", "graded-cols", "lowrank"} {
		for _, full := range []bool{true, false} {
			a := disttest.Generate(t, kind, gen.Options{Rows: n, Cols: n, Seed: 2})
			c := Config{Problem: Problem{M: n, N: n, Vectors: true},
				Settings: Settings{Variant: variantOf(full), Block: 48, InnerBlock: 12}}
			onCPU, onGPU := decompose(t, a, 1, 1, c), decomposeOnGPUs(t, a, 1, 1, c)
			t.Logf("%s, full %t: %d sweeps on the GPU, %d on the CPU", kind, full, len(onGPU.sweeps),
				len(onCPU.sweeps))
			if d := len(onGPU.sweeps) - len(onCPU.sweeps); d < -1 || d > 1 {
				t.Errorf("%s, full %t: %d sweeps on the GPU, %d on the CPU", kind, full, len(onGPU.sweeps),
					len(onCPU.sweeps))
			}
		}
	}
}

// The bits of S, U and V do not depend on the split of the devices into ranks, nor on the run. One
// GPU may be several devices. Many narrow block-columns are spread over the lanes of a device.
func TestGPUSplitsAreBitIdentical(t *testing.T) {
	g := 2
	if disttest.GPUs(t) >= 4 {
		g = 4
	}
	for _, x := range []struct {
		m, n, block int
		variant     Variant
	}{{400, 320, 20, Full}, {700, 640, 5, Block}} {
		t.Run(fmt.Sprintf("%d×%d in blocks of %d", x.m, x.n, x.block), func(t *testing.T) {
			splits(t, x.m, x.n, g, Settings{Variant: x.variant, Block: x.block})
		})
	}
}

// The largest cosine of each sweep, also with pivots that many devices share, and that QR factors.
func TestGPULargestCosine(t *testing.T) {
	disttest.GPUs(t)
	largestCosine(t, decomposeOnGPUs)
	const n = 96
	a := disttest.Generate(t, "lowrank", gen.Options{Rows: n, Cols: n, Seed: 4})
	c := Config{Problem: Problem{M: n, N: n, Vectors: true}, Settings: Settings{Variant: Block, Block: n / 2}}
	onCPU, onGPU := decompose(t, a, 1, 1, c).sweeps, decomposeOnGPUs(t, a, 1, 1, c).sweeps
	if x, y := onGPU[0].Cosine, onCPU[0].Cosine; !(math.Abs(x-y) <= 1e-14) {
		t.Errorf("lowrank: the largest cosine is %g, on a CPU %g", x, y)
	}
}

// splits compares ranks with g devices in all.
func splits(t *testing.T, m, n, g int, settings Settings) {
	a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 3})
	c := Config{Problem: Problem{M: m, N: n, Vectors: true}, Settings: settings}
	want := decomposeOnGPUs(t, a, 1, g, c)
	want.verify(t, a, 1)
	for ranks := 1; ranks <= g; ranks *= 2 {
		got := decomposeOnGPUs(t, a, ranks, g/ranks, c)
		if !reflect.DeepEqual(got.s, want.s) || !reflect.DeepEqual(got.u, want.u) ||
			!reflect.DeepEqual(got.v, want.v) {
			t.Errorf("%d ranks × %d devices: other bits than 1 × %d", ranks, g/ranks, g)
		}
		for i, s := range got.sweeps {
			if s.Cosine != want.sweeps[i].Cosine || s.Cosine == 0 {
				t.Errorf("%d ranks × %d devices: the largest cosine of sweep %d is %g, not %g", ranks, g/ranks, i+1,
					s.Cosine, want.sweeps[i].Cosine)
			}
		}
	}
	one := decomposeOnGPUs(t, a, 1, 1, c) // hoped for, not promised (docs/design.md)
	t.Logf("one device has the same bits: %t", reflect.DeepEqual(one.s, want.s) &&
		reflect.DeepEqual(one.u, want.u) && reflect.DeepEqual(one.v, want.v))
}
