package matrix

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// grids are numbers of ranks and devices, and whether messages go straight between their memories.
var grids = [][3]int{{1, 1, 1}, {1, 3, 1}, {2, 1, 1}, {3, 2, 1}, {2, 2, 0}}

// onGrid runs f on all ranks of a grid.
func onGrid(t testing.TB, grid [3]int, f func(d *Devices)) {
	var wg sync.WaitGroup
	for _, world := range comm.NewLocal(grid[0]) {
		wg.Go(func() { f(sending(t, world, grid[1], grid[2] == 1)) })
	}
	wg.Wait()
}

// TestGram compares xᵀ·x with sums in twice the precision. It is symmetric bit by bit, and the bits do not
// depend on who has the columns.
func TestGram(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {70, 63}, {100, 64}, {64, 65}, {333, 300}, {700, 600}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			m, n := shape[0], shape[1]
			a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 1})
			var first []float64
			for _, grid := range grids {
				h := make([]float64, n*n)
				onGrid(t, grid, func(d *Devices) {
					s, err := Gram(of(t, d, m, n, a))
					if err != nil {
						t.Error(err)
						return
					}
					s.copyTo(t, h)
				})
				if first == nil {
					first = h
				}
				if !slices.Equal(first, h) {
					t.Errorf("other bits on %v", grid)
				}
			}
			for j := range n {
				for i := range j + 1 {
					want := disttest.Dot(0, a[i*m:(i+1)*m], a[j*m:(j+1)*m])
					got := first[i+j*n]
					if !(math.Abs(got-want) <= 1e-13*float64(m)) || got != first[j+i*n] {
						t.Fatalf("element %d,%d is %g, and mirrored %g, want %g", i, j, got, first[j+i*n], want)
					}
				}
			}
		})
	}
}

// TestNear compares what is near the diagonal of Gram matrices with all of them. On hosts what is far is 0,
// and pairs of columns that are Reach or less apart are near.
func TestNear(t *testing.T) {
	for _, n := range []int{1, 65, 300, 700, 1000} {
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(n), Cols: int64(n), Seed: 1})
		for _, grid := range grids {
			near, all := make([]float64, n*n), make([]float64, n*n)
			for k, f := range [][2]func(*Matrix) (*Matrix, error){{NearGram, Gram}, {NearDeparture, Departure}} {
				var reach atomic.Int64 // the same on all ranks
				onGrid(t, grid, func(d *Devices) {
					x := of(t, d, n, n, a)
					reach.Store(int64(x.Reach()))
					for i, to := range [][]float64{near, all} {
						s, err := f[i](x)
						if err == nil && i == 1 {
							err = s.ZeroFar()
						}
						if err != nil {
							t.Error(err)
							return
						}
						s.copyTo(t, to)
					}
				})
				if !slices.Equal(near, all) {
					t.Errorf("%d, %d, %v: other elements near the diagonal", n, k, grid)
				}
				zeros := 0
				for j := range n {
					for i := range j {
						if x := near[i+j*n]; x == 0 {
							if zeros++; j-i <= int(reach.Load()) {
								t.Fatalf("%d, %d, %v: element %d,%d is 0", n, k, grid, i, j)
							}
						}
					}
				}
				if n == 1000 && (zeros < n*n/8 || zeros > n*n/2) {
					t.Errorf("%d, %d, %v: %d zeros", n, k, grid, zeros)
				}
			}
		}
	}
}

// TestAngles compares what is found on several devices with what one device finds in the whole matrix. Parts
// of it are read, and cleared.
func TestAngles(t *testing.T) {
	const n, j0, j1 = 300, 50, 200
	r := rand.New(rand.NewPCG(1, 1))
	c, norms := make([]float64, n*n), make([]float64, n)
	for i := range c {
		c[i] = 1e-6 * r.NormFloat64()
	}
	for i := range norms {
		norms[i] = 1 + r.Float64()
	}
	o := kernels.AngleOptions{Tolerance: 1e-7, Limits: []float64{1e-4, 1e-3}, Write: true}
	one := disttest.OpenHost(t, 1)
	whole := kernels.Panel{M: n, N: n, Ld: n}
	var err error
	if whole.Data, err = one.Alloc(whole.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := one.Write(whole, c, n); err != nil {
		t.Fatal(err)
	}
	want, err := one.Angles([]kernels.Panel{whole}, []int{0}, norms, o)
	if err != nil {
		t.Fatal(err)
	}
	angles := make([]float64, n*n)
	if err := one.Read(angles, n, whole); err != nil {
		t.Fatal(err)
	}
	for j := j0; j < j1; j++ {
		clear(angles[j*n+j0 : j*n+j1])
	}
	for _, grid := range grids {
		e := make([]float64, n*n)
		onGrid(t, grid, func(d *Devices) {
			s := of(t, d, n, n, c)
			spans := [][2]int{{3, 4}, {10, 20}, {j0, j1}, {j1, j1 + 5}, {n - 2, n}}
			squares, err := s.Squares(spans)
			if err != nil {
				t.Error(err)
				return
			}
			for i, span := range spans {
				var want []float64
				for j := span[0]; j < span[1]; j++ {
					want = append(want, c[j*n+span[0]:j*n+span[1]]...)
				}
				if !slices.Equal(squares[i], want) {
					t.Errorf("%v: the square %v is not that of the matrix", grid, span)
				}
			}
			got, active, err := s.Angles(norms, o)
			if err != nil || !reflect.DeepEqual(got, want) || active != float64(want.Active)/100 {
				t.Errorf("%v: other angles than of the whole matrix, %g active, error %v", grid, active, err)
			}
			if err := s.ZeroSquares([][2]int{{j0, j1}}); err != nil {
				t.Error(err)
			}
			s.copyTo(t, e)
		})
		if !slices.Equal(e, angles) {
			t.Errorf("%v: other elements", grid)
		}
	}
}

// TestAngleNorms compares what is found, and what is left, with what the steps by themselves make.
func TestAngleNorms(t *testing.T) {
	const n = 300
	r := rand.New(rand.NewPCG(2, 1))
	numbers := func(count int, least, size float64) []float64 {
		x := make([]float64, count)
		for i := range x {
			x[i] = least + size*r.Float64()
		}
		return x
	}
	c, norms, rows, columns := numbers(n*n, -1e-6, 2e-6), numbers(n, 1, 1), numbers(n, 1, 1), numbers(n, 1, 1)
	o := kernels.AngleOptions{Tolerance: 1e-7, Limits: []float64{1e-3}, Write: true}
	for _, grid := range grids {
		left, expected := make([]float64, n*n), make([]float64, n*n)
		onGrid(t, grid, func(d *Devices) {
			s, x := of(t, d, n, n, c), of(t, d, n, n, c)
			var want, got [4][]float64
			var err, failed error
			step := func(e error) { err = errors.Join(err, e) }
			want[0], failed = s.Norms()
			step(failed)
			_, _, failed = s.Angles(norms, o)
			step(failed)
			want[1], failed = s.Norms()
			step(failed)
			step(s.Scale(rows, columns))
			want[2], failed = s.Norms()
			step(failed)
			want[3] = want[2]
			step(s.Divide(nil, want[2]))
			got[0], got[1], got[2], failed = x.AngleNorms(norms, o, rows, columns)
			step(failed)
			got[3], failed = x.Normalize()
			step(failed)
			if err != nil {
				t.Error(err)
				return
			}
			for k := range want {
				if !slices.Equal(got[k], want[k]) {
					t.Errorf("%v: other norms, of step %d", grid, k)
				}
			}
			s.copyTo(t, expected)
			x.copyTo(t, left)
		})
		if !slices.Equal(left, expected) {
			t.Errorf("%v: other elements", grid)
		}
	}
}
