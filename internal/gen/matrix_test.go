package gen

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"jmpi/internal/reference"
)

// matrix makes a test matrix, or fails the test.
func matrix(t testing.TB, kind string, o Options) *Matrix {
	t.Helper()
	a, err := New(kind, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// dense returns all of a, column-major with leading dimension m.
func dense(t testing.TB, a *Matrix) []float64 {
	t.Helper()
	x := make([]float64, a.Rows*a.Cols)
	if err := a.Columns(0, a.Cols, x, int(a.Rows)); err != nil {
		t.Fatal(err)
	}
	return x
}

// referenceSigma returns the singular values of the m×n matrix a, or fails the test.
func referenceSigma(t testing.TB, a []float64, m, n int) []float64 {
	t.Helper()
	sigma, err := reference.Sigma(a, m, n, m)
	if err != nil {
		t.Fatal(err)
	}
	return sigma
}

// shapeFor returns m×n, made square for the kinds that exist only square.
func shapeFor(name string, m, n int64, seed uint64) Options {
	for _, k := range kinds {
		if k.name == name && k.square {
			m = n
		}
	}
	return Options{Rows: m, Cols: n, Seed: seed}
}

func TestColumnsAreTheSameInAnyBlocks(t *testing.T) {
	for _, kind := range Kinds() {
		o := shapeFor(kind, 17, 23, 5)
		whole := dense(t, matrix(t, kind, o))
		again := matrix(t, kind, o)
		const ld = 29
		for j := int64(0); j < again.Cols; {
			width := min(1+j%4, again.Cols-j)
			block := make([]float64, ld*width)
			for i := range block {
				block[i] = math.NaN()
			}
			if err := again.Columns(j, j+width, block, ld); err != nil {
				t.Fatal(err)
			}
			for c := range width {
				m := again.Rows
				got, want := block[c*ld:c*ld+m], whole[(j+c)*m:(j+c+1)*m]
				if !slices.Equal(got, want) {
					t.Fatalf("%s: column %d differs in a block that starts at %d", kind, j+c, j)
				}
				if i := slices.IndexFunc(block[c*ld+m:(c+1)*ld], func(x float64) bool { return !math.IsNaN(x) }); i >= 0 {
					t.Fatalf("%s: wrote below the %d rows", kind, m)
				}
			}
			j += width
		}
	}
}

func TestSeedsGiveDifferentMatrices(t *testing.T) {
	for _, kind := range Kinds() {
		if kind == "hilbert" || kind == "kahan" {
			continue
		}
		x := dense(t, matrix(t, kind, shapeFor(kind, 21, 20, 1)))
		y := dense(t, matrix(t, kind, shapeFor(kind, 21, 20, 2)))
		if floats.EqualApprox(x, y, 1e-3) {
			t.Errorf("%s: seeds 1 and 2 give the same matrix", kind)
		}
	}
}

func TestSmallAndEmptyShapes(t *testing.T) {
	for _, kind := range Kinds() {
		for _, shape := range [][2]int64{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 4}, {4, 1}, {2, 2}, {3, 3}} {
			o := Options{Rows: shape[0], Cols: shape[1]}
			a, err := New(kind, o)
			if err != nil {
				if shape[0] != shape[1] && errors.Is(err, ErrOptions) {
					continue // exists only square
				}
				t.Errorf("%s %v: %v", kind, shape, err)
				continue
			}
			for i, x := range dense(t, a) {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Errorf("%s %v: entry %d is %g", kind, shape, i, x)
				}
			}
			if a.Sigma != nil && int64(len(a.Sigma)) != min(a.Rows, a.Cols) {
				t.Errorf("%s %v: %d singular values", kind, shape, len(a.Sigma))
			}
		}
	}
}

func TestImpossibleOptions(t *testing.T) {
	square := Options{Rows: 4, Cols: 4}
	with := func(change func(*Options)) Options {
		o := square
		change(&o)
		return o
	}
	cases := []struct {
		kind string
		o    Options
	}{
		{"gaus", square},
		{"gauss", Options{Rows: -1, Cols: 3}},
		{"hilbert", Options{Rows: 4, Cols: 3}},
		{"spectrum2", Options{Rows: 3, Cols: 4}},
		{"gauss", with(func(o *Options) { o.Cond = 10 })},
		{"geometric", with(func(o *Options) { o.Cond = 0.5 })},
		{"geometric", with(func(o *Options) { o.Cond = math.NaN() })},
		{"graded-cols", with(func(o *Options) { o.Cond = math.Inf(1) })},
		{"graded-both", with(func(o *Options) { o.Cond = 1e200 })},
		{"gauss", with(func(o *Options) { o.Rank = 2 })},
		{"lowrank", with(func(o *Options) { o.Rank = 5 })},
		{"lowrank", with(func(o *Options) { o.Rank = -1 })},
		{"spectrum2", with(func(o *Options) { o.Positive = new(int64(2)) })},
		{"spectrum1", with(func(o *Options) { o.Positive = new(int64(5)) })},
		{"spectrum3", with(func(o *Options) { o.Positive = new(int64(-1)) })},
		{"uniform", with(func(o *Options) { o.Sorted = true })},
	}
	for _, c := range cases {
		if _, err := New(c.kind, c.o); !errors.Is(err, ErrOptions) {
			t.Errorf("%s %+v: error %v, want ErrOptions", c.kind, c.o, err)
		}
	}
}

func TestColumnsRefusesBadArguments(t *testing.T) {
	a := matrix(t, "gauss", Options{Rows: 5, Cols: 4})
	for _, c := range []struct {
		j0, j1 int64
		length int
		ld     int
	}{{-1, 2, 100, 5}, {3, 2, 100, 5}, {0, 5, 100, 5}, {0, 2, 9, 5}, {0, 2, 100, 4}} {
		if err := a.Columns(c.j0, c.j1, make([]float64, c.length), c.ld); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}
