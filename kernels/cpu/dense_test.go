package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/internal/dense"
	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

func TestDense(t *testing.T) { kerneltest.AllDense(t, mustOpen(t, 2, "avx512")) }

// fill returns a panel of numbers that depend on the shape alone.
func fill(t *testing.T, d *device, m, n int) kernels.Panel {
	t.Helper()
	p := kernels.Panel{M: m, N: n, Ld: m + 3}
	data, err := d.Alloc(p.Bytes())
	must(t, err)
	p.Data = data
	rnd := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	for j := range n {
		for i, c := 0, column(p, j); i < m; i++ {
			c[i] = rnd.NormFloat64()
		}
	}
	return p
}

// dominant adds 2·n to the diagonal of an n×n panel.
func dominant(p kernels.Panel) kernels.Panel {
	for j := range p.N {
		column(p, j)[j] += 2 * float64(p.N)
	}
	return p
}

// TestDenseSameBits compares what 1, 2 and 3 threads compute in panels that are cut into several pieces.
func TestDenseSameBits(t *testing.T) {
	run := func(threads int) (out [][]float64) {
		d := mustOpen(t, threads, "avx512")
		a, b := fill(t, d, 300, 600), fill(t, d, 300, 610)
		c, s, turned, rest := fill(t, d, 600, 610), fill(t, d, 600, 600), fill(t, d, 600, 300), fill(t, d, 1000, 64)
		must(t, d.Gemm([]kernels.Gemm{{TransA: true, Alpha: 1, A: a, B: b, C: c}}))
		must(t, d.Syrk([]kernels.Panel{a}, []kernels.Panel{s}))
		tall := fill(t, d, 70, 70)
		must(t, d.Syrk([]kernels.Panel{fill(t, d, 1100, 70)}, []kernels.Panel{tall}))
		must(t, d.Transpose([]kernels.Panel{turned}, []kernels.Panel{a}))
		must(t, d.Trsm([]kernels.Panel{turned}, dominant(fill(t, d, 300, 300)), false))
		q := kernels.Reflectors{Y: fill(t, d, 300, 40), T: fill(t, d, 40, 40)}
		must(t, d.FactorPanel(fill(t, d, 300, 40), q, fill(t, d, 40, 40)))
		must(t, d.Reflect(q, true, []kernels.Panel{a, b}, 0))
		must(t, d.MoveColumns(rest, []int{1, 0}, rest, []int{0, 3}))
		rows, err := d.RowMaxima(c, nil)
		must(t, err)
		lengths, err := d.Lengths([]kernels.Panel{a, b})
		must(t, err)
		for _, p := range []kernels.Panel{a, b, c, s, tall, turned, rest} {
			out = append(out, packed(p))
		}
		return append(out, rows, lengths)
	}
	want := run(1)
	for _, threads := range []int{2, 3} {
		kerneltest.SameBits(t, fmt.Sprint(threads, " threads"), run(threads), want)
	}
}

// TestTurnColumnsIsGemm compares bits.
func TestTurnColumnsIsGemm(t *testing.T) {
	d := mustOpen(t, 2, "avx512")
	for _, m := range []int{1, 90, 1000, 4097} {
		for _, k := range []int{1, 2, 12, 31, 64, kernels.TurnWidth} {
			a, q, want := fill(t, d, m, k), fill(t, d, k, k), fill(t, d, m, k)
			must(t, d.Gemm([]kernels.Gemm{{Alpha: 1, A: a, B: q, C: want}}))
			must(t, d.TurnColumns([]kernels.Panel{a}, []kernels.Panel{q}))
			for j := range k {
				if !slices.Equal(column(a, j), column(want, j)) {
					t.Fatalf("%d×%d: column %d has other bits", m, k, j)
				}
			}
		}
	}
}

// TestDenseIsInternalDense compares panels with internal/dense bit by bit.
func TestDenseIsInternalDense(t *testing.T) {
	d := mustOpen(t, 2, "avx512")
	for _, s := range []struct{ m, n int }{{1, 1}, {9, 20}, {300, 32}, {1000, 32}} {
		k := min(s.m, s.n)
		newQ := func() kernels.Reflectors { return kernels.Reflectors{Y: fill(t, d, s.m, k), T: fill(t, d, k, k)} }
		a, r, q := fill(t, d, s.m, s.n), fill(t, d, k, k), newQ()
		x := packed(a)
		must(t, d.FactorPanel(a, q, r))
		p := dense.Factor(s.m, s.n, slices.Clone(x))
		kerneltest.SameBits(t, fmt.Sprint("FactorPanel ", s), [][]float64{packed(q.Y), packed(q.T), packed(r)},
			[][]float64{p.Y, p.T, p.R})

		c := fill(t, d, s.m, 64)
		y := packed(c)
		must(t, d.Reflect(q, true, []kernels.Panel{c}, 0))
		p.Apply(true, 64, y, s.m)
		kerneltest.SameBits(t, fmt.Sprint("Reflect ", s), [][]float64{packed(c)}, [][]float64{y})

		norms := make([]float64, s.n)
		for j := range norms {
			copy(x[j*s.m:(j+1)*s.m], x[j/2*2*s.m:]) // every other column is a copy
			norms[j] = dense.Norm(x[j*s.m : (j+1)*s.m])
		}
		noise := dense.NewNoise(1e-12, norms, dense.Bound{Rows: slices.Repeat([]float64{1}, s.m), Columns: norms})
		width := noise.Width()
		given := kernels.PanelNoise{Rows: fill(t, d, s.m, 1), Samples: fill(t, d, width, s.n),
			Ratios: fill(t, d, width, min(s.m, s.n))}
		must(t, d.Write(given.Rows, noise.Rows[0], s.m))
		must(t, d.Write(given.Samples, noise.Columns, width))
		a, q = fill(t, d, s.m, s.n), newQ()
		must(t, d.Write(a, x, s.m))
		drop := kernels.Dropping{Longest: math.Inf(1), Reach: 1e-14}
		found, err := d.FactorPivoted(a, q, r, kernels.PanelOptions{Noise: &given, Drop: drop})
		must(t, err)
		got, err := found()
		must(t, err)
		p = dense.FactorPivoted(s.m, s.n, x, 0, noise, drop)
		n := p.Count
		kerneltest.SameBits(t, fmt.Sprint("FactorPivoted ", s), [][]float64{packed(q.Y.Columns(0, n)),
			packed(q.T.Columns(0, n).Rows(0, n)), got.R, packed(given.Rows), got.Columns, integers(got.Pivots)},
			[][]float64{p.Y, p.T, p.R, noise.Rows[0], p.Noise, integers(p.Pivots)})
		if got.Count != n || got.Rank != p.Rank || !slices.Equal(got.Noisy, p.Noisy) || n > 1 && len(p.Noisy) == 0 {
			t.Errorf("%v: %d columns, rank %d, %v are noise; want %d, %d, %v", s, got.Count, got.Rank, got.Noisy, n,
				p.Rank, p.Noisy)
		}
	}
}

// TestNoRows tests that panels of columns without rows need no host memory.
func TestNoRows(t *testing.T) {
	d := mustOpen(t, 1, "avx512")
	p := kernels.Panel{N: 3, Ld: 2}
	must(t, d.Write(p, nil, 1))
	must(t, d.Read(nil, 1, p))
	lengths, err := d.Lengths([]kernels.Panel{p})
	must(t, err)
	kerneltest.SameBits(t, "lengths", [][]float64{lengths}, [][]float64{{0, 0, 0}})
}

func integers(x []int) (y []float64) {
	for _, i := range x {
		y = append(y, float64(i))
	}
	return y
}

// TestSameDenseBits tests that all sets of kernels measure angles, and form products with vectors, with the
// same bits, sums included: for sizes that fill no vector, and with a NaN.
func TestSameDenseBits(t *testing.T) {
	for _, n := range []int{1, 7, 8, 33, 101} {
		norms, x := make([]float64, n), make([]float64, 3*n)
		for i := range n {
			norms[i], x[i], x[n+i], x[2*n+i] = 1+float64(i*i%17)/8, math.Sin(float64(i)), 1e-9, float64(i)
		}
		type result struct {
			angles         kernels.Angles
			written, right []float64
		}
		var want *result
		for _, set := range instructions {
			d := mustOpen(t, 2, set)
			p := fill(t, d, n, n)
			for j := range n {
				for i := range n {
					column(p, j)[i] *= math.Exp2(-float64((i + j) % 40))
				}
			}
			if n > 10 {
				column(p, 3)[9] = math.NaN()
			}
			var r result
			var err error
			if r.right, err = d.Product(p, false, x, 3); err != nil {
				t.Fatal(err)
			}
			r.angles, err = d.Angles([]kernels.Panel{p}, []int{0}, norms,
				kernels.AngleOptions{Tolerance: 1e-9, Limits: []float64{0.1, 0.3}, Write: true})
			if err != nil {
				t.Fatal(err)
			}
			for j := range n {
				r.written = append(r.written, column(p, j)...)
			}
			if want == nil {
				want = &r
				continue
			}
			for what, pair := range map[string][2][]float64{"cosines and sums": {sizes(r.angles), sizes(want.angles)},
				"angles": {r.written, want.written}, "products": {r.right, want.right}} {
				if !slices.EqualFunc(pair[0], pair[1], func(a, b float64) bool {
					return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
				}) {
					t.Errorf("%s, n = %d: %s differ", set, n, what)
				}
			}
			for l, w := range want.angles.Within {
				if r.angles.Active != want.angles.Active || !slices.Equal(r.angles.Within[l].Left, w.Left) {
					t.Errorf("%s, n = %d: other columns", set, n)
				}
			}
		}
	}
}

// sizes are the numbers that angles are told by.
func sizes(a kernels.Angles) []float64 {
	all := []float64{a.Cosine}
	for _, w := range a.Within {
		all = append(all, w.Largest, w.Sum)
	}
	return all
}
