package matrix

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// product returns w + 2·x·u for m×n x and n×n u.
func product(m, n int, w, x, u []float64) []float64 {
	row, y := make([]float64, n), slices.Clone(w)
	for i := range m {
		for l := range n {
			row[l] = x[i+l*m]
		}
		for j := range n {
			y[i+j*m] += 2 * disttest.Dot(0, row, u[j*n:(j+1)*n])
		}
	}
	return y
}

// TestAddProduct compares w + 2·x·u with sums in twice the precision, for nothing, some blocks and all of u
// in float32. What float32 is off by is in its bound, and shows; other columns are right. The bits, and the
// share, do not depend on who has the columns.
func TestAddProduct(t *testing.T) {
	const m, n = 330, 300
	x := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 1})
	w := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 2})
	u := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 3})
	for i := range x {
		x[i] /= math.Sqrt(m)
	}
	for i := range u {
		if u[i] *= 1e-4; i/n >= 128 && i/n < 192 && i%n < 256 {
			u[i] *= 1e4 // one block of ten
		}
	}
	for _, same := range []bool{false, true} {
		start := w
		if same {
			start = x
		}
		want := product(m, n, start, x, u)
		for rough, c := range map[float64]struct{ share, large float64 }{
			0: {0, 0}, 1: {1 - 256*64./(n*n), 0}, math.Inf(1): {1, 1}} {
			t.Run(fmt.Sprint(same, rough), func(t *testing.T) {
				var first []float64
				for _, grid := range grids {
					got := make([]float64, m*n)
					onGrid(t, grid, func(d *Devices) {
						left, right := of(t, d, m, n, x), of(t, d, n, n, u)
						to := left
						if !same {
							to = of(t, d, m, n, w)
						}
						share, err := AddProduct(to, left, right, 2, rough)
						if err != nil || math.Abs(share-c.share) > 1e-12 {
							t.Errorf("%v: a share of %g in float32, want %g, error %v", grid, share, c.share, err)
							return
						}
						to.copyTo(t, got)
					})
					if first == nil {
						first = got
					}
					if !slices.Equal(first, got) {
						t.Errorf("other bits on %v", grid)
					}
				}
				sizes := map[bool]float64{}
				off := map[bool]float64{}
				for i, x := range first {
					large := i/m >= 128 && i/m < 192
					off[large] = math.Hypot(off[large], x-want[i])
				}
				for i, x := range u {
					large := i/n >= 128 && i/n < 192 && i%n < 256
					sizes[large] = math.Hypot(sizes[large], x)
				}
				bound := 1e-12 + RoughError*2*1.5*(sizes[true]*c.large+sizes[false])
				if rough == 0 {
					bound = 1e-12
				}
				if got := math.Hypot(off[true], off[false]); !(got <= bound) || rough > 0 && got < bound/100 {
					t.Errorf("it is off by %.3g, the bound is %.3g", got, bound)
				}
			})
		}
	}
}

// TestRoughGram compares with Gram. It is symmetric bit by bit, and the bits do not depend on who has the
// columns.
func TestRoughGram(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 300, 600} {
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(n), Cols: int64(n), Seed: 1})
		var first []float64
		for _, grid := range grids {
			h, exact := make([]float64, n*n), make([]float64, n*n)
			onGrid(t, grid, func(d *Devices) {
				x := of(t, d, n, n, a)
				for k, to := range [][]float64{h, exact} {
					s, err := gram(x, k == 0, n)
					if err != nil {
						t.Error(err)
						return
					}
					s.copyTo(t, to)
				}
			})
			if first == nil {
				first = h
				size, off := kernels.Norm2(a), 0.0
				for i := range h {
					off = math.Hypot(off, h[i]-exact[i])
				}
				// ‖a‖ ≤ 3·√n
				if bound := RoughError * 3 * math.Sqrt(float64(n)) * size; !(off <= bound) || n > 64 && off == 0 {
					t.Errorf("order %d: off by %.3g, the bound is %.3g", n, off, bound)
				}
			}
			if !slices.Equal(first, h) {
				t.Errorf("order %d: other bits on %v", n, grid)
			}
		}
		for j := range n {
			for i := range j {
				if first[i+j*n] != first[j+i*n] {
					t.Fatalf("order %d: elements %d,%d and %d,%d differ", n, i, j, j, i)
				}
			}
		}
	}
}

// TestAddIdentity adds the identity, and takes it away.
func TestAddIdentity(t *testing.T) {
	const n = 150
	a := disttest.Generate(t, "uniform", gen.Options{Rows: n, Cols: n, Seed: 1})
	for _, grid := range grids {
		got := make([]float64, n*n)
		onGrid(t, grid, func(d *Devices) {
			s := of(t, d, n, n, a)
			if err := s.AddIdentity(-2); err != nil {
				t.Error(err)
			}
			s.copyTo(t, got)
		})
		for i, x := range got {
			want := a[i]
			if i%(n+1) == 0 {
				want -= 2
			}
			if x != want {
				t.Fatalf("%v: element %d is %g, want %g", grid, i, x, want)
			}
		}
	}
}

// stumbling is a CPU device of which one call fails.
type stumbling struct {
	kernels.Backend
	held        map[kernels.Address]bool
	calls, fail int // the call that fails, from 1 on
}

var errStumbled = errors.New("the device has stumbled")

func (d *stumbling) call(f func() error) error {
	if d.calls++; d.calls == d.fail {
		return errStumbled
	}
	return f()
}

func (d *stumbling) Alloc(bytes int64) (a kernels.Address, err error) {
	err = d.call(func() error {
		a, err = d.Backend.Alloc(bytes)
		return err
	})
	if err == nil {
		d.held[a] = true
	}
	return a, err
}

func (d *stumbling) Free(a kernels.Address) error {
	delete(d.held, a)
	return d.Backend.Free(a)
}

func (d *stumbling) Gemm(g []kernels.Gemm) error {
	return d.call(func() error { return d.Backend.Gemm(g) })
}

func (d *stumbling) Syrk(a, c []kernels.Panel) error {
	return d.call(func() error { return d.Backend.Syrk(a, c) })
}

func (d *stumbling) Add(dst, src kernels.Panel) error {
	return d.call(func() error { return d.Backend.Add(dst, src) })
}

func (d *stumbling) Convert(dst, src kernels.Panel) error {
	return d.call(func() error { return d.Backend.Convert(dst, src) })
}

func (d *stumbling) Identity(dst kernels.Panel, row0 int) error {
	return d.call(func() error { return d.Backend.Identity(dst, row0) })
}

func (d *stumbling) Scale(p kernels.Panel, rows, columns []float64) error {
	return d.call(func() error { return d.Backend.Scale(p, rows, columns) })
}

// TestFailedProducts: a product that fails, at whichever call of the device, gives all its memory back.
func TestFailedProducts(t *testing.T) {
	const n = 200
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	for name, f := range map[string]func(w, x, u *Matrix) error{
		"AddProduct": func(w, x, u *Matrix) error {
			_, err := AddProduct(w, x, u, 1, math.Inf(1))
			return err
		},
		"AddProduct to the same": func(_, x, u *Matrix) error {
			_, err := AddProduct(x, x, u, 1, math.Inf(1))
			return err
		},
		"RoughGram": func(_, x, _ *Matrix) error {
			h, err := RoughGram(x)
			h.Free()
			return err
		},
		"AddIdentity": func(w, _, _ *Matrix) error { return w.AddIdentity(1) },
	} {
		for fail, failed := 0, true; failed; fail++ { // first none
			d := &stumbling{Backend: disttest.OpenHost(t, 1), held: map[kernels.Address]bool{}}
			where, err := NewDevices(comm.NewLocal(1)[0], []kernels.Backend{d}, true)
			if err != nil {
				t.Fatal(err)
			}
			w, x, u := of(t, where, n, n, a), of(t, where, n, n, a), of(t, where, n, n, a)
			before := len(d.held)
			d.calls, d.fail = 0, fail
			err = f(w, x, u)
			if failed = err != nil || fail == 0; failed && fail > 0 && !errors.Is(err, errStumbled) {
				t.Errorf("%s, call %d: %v", name, fail, err)
			}
			if err := where.trim(); err != nil {
				t.Fatal(err)
			}
			if len(d.held) != before {
				t.Errorf("%s, call %d fails: %d blocks are left", name, fail, len(d.held)-before)
			}
		}
	}
}
