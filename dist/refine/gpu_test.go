package refine

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// gpus returns so many devices of a rank, on as many GPUs as there are.
func gpus(t testing.TB, world comm.Comm, count int) *matrix.Devices {
	var backends []kernels.Backend
	for range count {
		be, err := disttest.OpenGPU()
		must(t, err)
		t.Cleanup(func() { must(t, be.Close()) })
		backends = append(backends, be)
	}
	d, err := matrix.NewDevices(world, backends, false)
	must(t, err)
	return d
}

// TestGPU refines the vectors of some matrices, and checks the result as on CPUs.
func TestGPU(t *testing.T) {
	disttest.GPUs(t)
	const n = 128
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			x := s.make(t, n)
			v, _ := rough(n, x)
			for _, grid := range [][2]int{{1, 1}, {1, 2}, {2, 1}} {
				r := refineOn(t, gpus, grid, n, x, v)
				t.Logf("\n%s", told(r.Steps))
				r.check(t, n, n, x)
			}
		})
	}
}

// TestWantedGPU is TestWanted on GPUs.
func TestWantedGPU(t *testing.T) {
	disttest.GPUs(t)
	testWanted(t, gpus, [][2]int{{1, 1}, {1, 2}}, 150, samples)
}

// TestBlocksGPU refines a matrix of several blocks, that is known by its singular value decomposition.
func TestBlocksGPU(t *testing.T) {
	disttest.GPUs(t)
	for _, grid := range [][2]int{{1, 1}, {1, 3}, {2, 1}} {
		var wg sync.WaitGroup
		for _, world := range comm.NewLocal(grid[0]) {
			wg.Go(func() {
				x, v, free := known(t, gpus(t, world, grid[1]), 1100)
				defer free()
				r, err := Start(x, v, 1, Wanted{true, true}, Hooks{})
				if err != nil || r.Outcome != Converged || r.OrthV > 0.5 || r.Residual > 0.5 {
					t.Errorf("%v: %+v, error %v", grid, r, err)
				}
			})
		}
		wg.Wait()
	}
}

// BenchmarkGPU times the steps on one GPU.
func BenchmarkGPU(b *testing.B) {
	disttest.GPUs(b)
	for _, n := range []int{2048, 4096, 8192} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := gpus(b, comm.NewLocal(1)[0], 1)
			for b.Loop() {
				b.StopTimer()
				x, v, free := known(b, d, n)
				must(b, d.Sync())
				b.StartTimer()
				r, err := Start(x, v, 1, Wanted{true, true}, Hooks{})
				must(b, err)
				b.StopTimer()
				b.Logf("%s, orthV %.2f, residual %.3f\n%s", r.Outcome, r.OrthV, r.Residual, told(r.Steps))
				r.Free()
				free()
				must(b, d.Free())
				b.StartTimer()
			}
		})
	}
}

// known returns X = Q·Σ·Wᵀ of order n, with equally spaced singular values, and rough right vectors.
func known(t testing.TB, d *matrix.Devices, n int) (x, v *matrix.Matrix, free func()) {
	uniform := func(size float64, seed uint64) *matrix.Matrix {
		a, err := d.Load(n, n, matrix.Source{Read: func(p matrix.Part) error {
			for j := range p.N {
				r := rand.New(rand.NewPCG(seed, uint64((p.Column+j)*n+p.Row)))
				for i := range p.M {
					p.Data[j*p.Ld+i] = size * (2*r.Float64() - 1)
				}
			}
			return nil
		}})
		must(t, err)
		return a
	}
	orthogonal := func(seed uint64) *matrix.Matrix {
		q, err := matrix.Factor(uniform(1, seed))
		must(t, err)
		defer q.Free()
		a, err := q.Form(0, n)
		must(t, err)
		return a
	}
	q, v := orthogonal(1), orthogonal(2)
	sigma := make([]float64, n)
	for j := range sigma {
		sigma[j] = float64(n-j) / float64(n)
	}
	must(t, q.Scale(nil, sigma))
	w, err := v.Transpose(nil, n)
	must(t, err)
	x, err = matrix.Product(q, w, false)
	must(t, err)
	noise := uniform(2e-8, 3)
	must(t, v.Add(noise))
	for _, a := range []*matrix.Matrix{q, w, noise} {
		a.Free()
	}
	return x, v, x.Free
}
