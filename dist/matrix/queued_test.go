package matrix

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// everything does all that this package does with matrices of several blocks, and returns what comes of it.
// What is done next changes what was there before, so that a copy that comes late, or too early, changes the
// result.
func everything(d *Devices, m, n int, read func(p Part) error) (all []*Matrix, err error) {
	made := func(x *Matrix, e error) *Matrix {
		all, err = append(all, x), e
		return x
	}
	scale := func(x *Matrix) error { return x.Scale(nil, slices.Repeat([]float64{0.5}, x.N)) }
	order := Natural(n)
	slices.Reverse(order)
	one, few := slices.Repeat([]float64{1}, m), slices.Repeat([]float64{0.1}, m)
	noise := dense.NewNoise(1e-12, one, dense.Bound{Rows: few, Columns: one})
	var a, t, w, h, v, small *Matrix
	var q *Orthogonal
	for _, step := range []func(){
		func() { a, err = d.Load(m, n, Source{Read: read}) },
		func() { t = made(a.Transpose(order, m)) },
		func() { w = made(Product(a, t, false)) },
		func() { _, err = AddProduct(w, a, t, -0.25, 0) },
		func() { h = made(Gram(a)) },
		func() { err = AddTransposedProduct(h, a, a) },
		func() { q, err = Factor(a) },
		func() { err = scale(t) },
		func() { made(Select(t, order[:n-1])) },
		func() { v = made(q.Form(0, n)) },
		func() { small, err = h.Clone() },
		func() { err = small.Ldexp(-30) }, // so that v departs from orthonormal columns by little
		func() { err = SubtractTriangular(v, small) },
		func() { _, _, _, err = Correct(v, 0.25, 0, 0) },
		func() { err = small.Ldexp(5) },
		func() { made(Direct(v, small, func(j int) int { return (j + 7) % (2 * n) })) },
		func() { err = scale(small) },
		func() { err = t.Turn(turns(t.N)) },
		func() { _, err = t.Normalize() },
		func() { err = q.Apply(w) },
		func() { q.Free() },
		func() { q, _, _, _, err = FactorPivoted(w, noise, false) },
		func() { err = scale(v) },
		func() { made(q.Form(0, m)) },
		func() { _, err = Parallelism(w) },
	} {
		if step(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// turns returns pairs of columns of n, some of them in two blocks, and matrices for them.
func turns(n int) (spans [][2]int, squares [][]float64) {
	for j := 3; j+40 < n; j += 60 {
		k := 1 + j%37
		q := make([]float64, k*k)
		for i := range q {
			q[i] = float64(i%7-3) / 4
		}
		spans, squares = append(spans, [2]int{j, j + k}), append(squares, q)
	}
	return spans, squares
}

// bitsOn returns the elements of what everything makes.
func bitsOn(t *testing.T, grid [2]int, direct bool, tile, m, n int, a []float64,
	open func(lag *disttest.Lag) (kernels.Backend, error), eager bool) (bits [][]float64) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, world := range comm.NewLocal(grid[0]) {
		wg.Go(func() {
			lag := &disttest.Lag{Eager: eager}
			backends, closeAll := openSeveral(t, grid[1], func() (kernels.Backend, error) {
				return open(lag)
			})
			defer closeAll()
			d, err := NewDevices(world, backends, direct)
			var all []*Matrix
			if err == nil {
				d.tile = tile
				all, err = everything(d, m, n, func(p Part) error {
					for j := range p.N {
						copy(p.Data[j*p.Ld:j*p.Ld+p.M], a[(p.Column+j)*m+p.Row:])
					}
					return nil
				})
			}
			if err != nil {
				t.Error(err)
				world.Abort(1)
				return
			}
			mu.Lock()
			if bits == nil {
				for _, x := range all {
					bits = append(bits, make([]float64, x.M*x.N))
				}
			}
			mu.Unlock()
			for i, x := range all {
				x.copyTo(t, bits[i])
			}
			if err := d.Free(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return bits
}

// same compares what was made on two grids.
func same(t *testing.T, what string, got, want [][]float64) {
	t.Helper()
	for i := range want {
		if i >= len(got) || !slices.Equal(got[i], want[i]) {
			t.Errorf("%s: result %d has other bits", what, i)
		}
	}
}

// TestQueued compares devices that do what is queued as late as they may with devices that do it at once.
// With wide blocks, as GPUs have them, a lot of columns has many panels. With many rows the reflectors of a
// block are joined.
func TestQueued(t *testing.T) {
	cases := []struct{ tile, m, n int }{{160, 641, 577}, {64, 641, 577}, {160, joinedRows, 340}}
	if testing.Short() {
		cases = cases[:1]
	}
	for _, c := range cases {
		name := fmt.Sprintf("%d×%d, blocks of %d", c.m, c.n, c.tile)
		t.Run(name, func(t *testing.T) { queued(t, c.tile, c.m, c.n) })
	}
}

func queued(t *testing.T, tile, m, n int) {
	a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 4})
	apart := func(*disttest.Lag) (kernels.Backend, error) { return disttest.OpenApart() }
	lagging := func(lag *disttest.Lag) (kernels.Backend, error) { return disttest.OpenLagging(lag) }
	for _, splits := range [][][2]int{{{1, 1}}, {{1, 2}, {2, 1}}, {{1, 4}, {2, 2}}, {{3, 1}}} {
		want := bitsOn(t, splits[0], true, tile, m, n, a, apart, false)
		for _, grid := range splits {
			for _, direct := range []bool{true, false} {
				for _, eager := range []bool{true, false} {
					got := bitsOn(t, grid, direct, tile, m, n, a, lagging, eager)
					same(t, fmt.Sprintf("%v, direct %t, eager %t", grid, direct, eager), got, want)
				}
			}
		}
	}
}

// TestQueuedGPU compares the splits of GPUs; one GPU may be several devices.
func TestQueuedGPU(t *testing.T) {
	disttest.GPUs(t)
	const tile, m, n = 256, 2311, 2100
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 4})
	gpu := func(*disttest.Lag) (kernels.Backend, error) { return disttest.OpenGPU() }
	for _, splits := range [][][2]int{{{1, 2}, {2, 1}, {1, 2}}, {{1, 3}, {3, 1}}} {
		want := bitsOn(t, splits[0], false, tile, m, n, a, gpu, false)
		for _, grid := range splits[1:] {
			same(t, fmt.Sprint(grid), bitsOn(t, grid, false, tile, m, n, a, gpu, false), want)
		}
	}
}

// openSeveral opens so many devices of a rank. What it returns closes them.
func openSeveral(t *testing.T, count int, open func() (kernels.Backend, error)) ([]kernels.Backend, func()) {
	t.Helper()
	var backends []kernels.Backend
	for range count {
		be, err := open()
		if err != nil {
			t.Error(err)
		}
		backends = append(backends, be)
	}
	return backends, func() {
		for _, be := range backends {
			if err := be.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
