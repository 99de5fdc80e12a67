package reference

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"jmpi/internal/gen"
)

// dense returns a test matrix, column-major without gaps.
func dense(t testing.TB, kind string, o gen.Options) []float64 {
	t.Helper()
	a, err := gen.New(kind, o)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, o.Rows*o.Cols)
	if err := a.Columns(0, o.Cols, x, int(o.Rows)); err != nil {
		t.Fatal(err)
	}
	return x
}

func sigma(t testing.TB, a []float64, m, n, ld int) []float64 {
	t.Helper()
	s, err := Sigma(a, m, n, ld)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The 2×2 matrix [1 1; 0 ε] has σ₁·σ₂ = ε and σ₁² + σ₂² = 2 + ε²: a small σ with a closed form.
func TestClosedForm(t *testing.T) {
	for _, small := range []float64{1, 0x1p-20, 0x1p-60, 0x1p-300, 0x1p-1000} {
		got := sigma(t, []float64{1, 0, 1, small}, 2, 2, 2)
		// With p = σ₁+σ₂ and d = σ₁−σ₂: p² = 2 + ε² + 2ε, d² = 2 + ε² − 2ε.
		large := (math.Sqrt(2+small*small+2*small) + math.Sqrt(2+small*small-2*small)) / 2
		want := []float64{large, small / large}
		for i := range want {
			if e := math.Abs(got[i]-want[i]) / want[i]; e > 1e-15 {
				t.Errorf("ε = %g: σ = %v, want %v", small, got, want)
			}
		}
	}
}

// An orthogonal matrix with scaled columns or rows has the scales as its singular values, exactly where the
// scales are powers of two, over the whole range of float64.
func TestScaledOrthogonal(t *testing.T) {
	h := []float64{1, 1, 1, 1, 1, -1, 1, -1, 1, 1, -1, -1, 1, -1, -1, 1} // its columns have norm 2
	for _, c := range []struct {
		exponents [4]int
		rows      bool
		want      []float64
	}{
		{[4]int{-600, 900, -1060, 0}, false, []float64{0x1p901, 2, 0x1p-599, 0x1p-1059}},
		{[4]int{-300, 900, -390, 0}, true, []float64{0x1p901, 2, 0x1p-299, 0x1p-389}},
		{[4]int{-600, 900, -1060, 0}, true, []float64{0x1p901, 2, 0x1p-599, 0x1p-1059}},
	} {
		a := make([]float64, 16)
		for i := range a {
			k := i / 4
			if c.rows {
				k = i % 4
			}
			a[i] = math.Ldexp(h[i], c.exponents[k])
		}
		if got := sigma(t, a, 4, 4, 4); !slices.Equal(got, c.want) {
			t.Errorf("%v, rows %t: σ = %g, want %g", c.exponents, c.rows, got, c.want)
		}
	}
}

// The singular values of A·2^e and Aᵀ are those of A, whatever the leading dimension and the number of cores.
func TestSameBits(t *testing.T) {
	const m, n, ld = 20, 12, 23
	x := dense(t, "graded-both", gen.Options{Rows: m, Cols: n, Seed: 1})
	want := sigma(t, x, m, n, m)
	for _, e := range []int{-900, 0, 900} {
		a, transposed := make([]float64, ld*n), make([]float64, m*n)
		for j := range n {
			for i := range m {
				a[i+j*ld] = math.Ldexp(x[i+j*m], e)
				transposed[j+i*n] = a[i+j*ld]
			}
		}
		for _, cores := range []int{1, 2, 5} {
			before := runtime.GOMAXPROCS(cores)
			for _, got := range [][]float64{sigma(t, a, m, n, ld), sigma(t, transposed, n, m, n)} {
				for i := range got {
					if got[i] != math.Ldexp(want[i], e) {
						t.Fatalf("2^%d, %d cores: σ[%d] = %g, want %g·2^%d", e, cores, i, got[i], want[i], e)
					}
				}
			}
			runtime.GOMAXPROCS(before)
		}
	}
}

// A matrix and its transpose go different ways to the same singular values, gradings of 1e-300 included.
func TestTransposed(t *testing.T) {
	const n = 24
	for _, c := range []struct {
		kind string
		cond float64
	}{{"gauss", 0}, {"graded-cols", 1e300}, {"graded-rows", 1e300}, {"graded-both", 1e150}, {"spectrum2", 0}} {
		a := dense(t, c.kind, gen.Options{Rows: n, Cols: n, Seed: 2, Cond: c.cond})
		transposed := make([]float64, n*n)
		for i := range a {
			transposed[i/n+i%n*n] = a[i]
		}
		got, want := sigma(t, transposed, n, n, n), sigma(t, a, n, n, n)
		for i := range want {
			// the last bit may differ where σ is near the middle of two numbers
			if math.Abs(got[i]-want[i]) > 0x1p-53*want[i] {
				t.Errorf("%s, cond %g: σ[%d] = %.17g of A, %.17g of Aᵀ", c.kind, c.cond, i, want[i], got[i])
			}
		}
	}
}

// Singular values that are 0 are found to be, whatever the rest of the matrix.
func TestRank(t *testing.T) {
	const n = 40
	for _, cond := range []float64{1e12, 1e20} {
		a := dense(t, "graded-cols", gen.Options{Rows: n, Cols: n, Seed: 3, Cond: cond})
		whole := sigma(t, a, n, n, n)
		copy(a[7*n:8*n], a[:n])
		clear(a[20*n : 21*n])
		for i := range n {
			a[i+30*n] = 4 * a[i+31*n]
		}
		got := sigma(t, a, n, n, n)
		if !(got[n-4] > whole[n-1]/2) || got[n-3] != 0 {
			t.Errorf("cond %g: rank 37, σ = … %g", cond, got[n-5:])
		}
	}
	for _, shape := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {3, 1}, {1, 3}, {5, 2}} {
		m, n := shape[0], shape[1]
		got := sigma(t, make([]float64, m*n), m, n, m)
		if len(got) != min(m, n) || len(got) > 0 && slices.Max(got) != 0 {
			t.Errorf("%d×%d: σ of 0 are %v", m, n, got)
		}
	}
}

// Equal singular values: those of a matrix that is orthogonal to working precision, of order up to
// the largest step of a sweep.
func TestEqualSigma(t *testing.T) {
	const m, n = 90, 65
	a := dense(t, "geometric", gen.Options{Rows: m, Cols: n, Seed: 4, Cond: 1})
	for i, s := range sigma(t, a, m, n, m) {
		if math.Abs(s-1) > 0x1p-53*math.Sqrt(n) {
			t.Errorf("σ[%d] = %.17g, want 1", i, s)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if s, err := Sigma([]float64{1, 2, bad, 4}, 2, 2, 2); err == nil || len(s) != 0 {
			t.Errorf("σ of a matrix with %g: %v", bad, s)
		}
	}
	for _, c := range []struct {
		m, n int64
		fits bool
	}{
		{512, 512, true}, {513, 513, false}, {513, 512, true}, {1, 1 << 26, true}, {1, 1<<26 + 1, false},
		{1 << 12, 512, true}, {512, 1<<12 + 1, false}, {math.MaxInt64, 2, false}, {0, math.MaxInt64, true},
	} {
		if err := Fits(c.m, c.n); (err == nil) != c.fits || err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d×%d: %v", c.m, c.n, err)
		}
	}
	if _, err := Sigma(nil, 513, 513, 513); !errors.Is(err, ErrTooLarge) {
		t.Errorf("513×513: %v", err)
	}
}

func BenchmarkSigma(b *testing.B) {
	const n = 128
	a := dense(b, "graded-cols", gen.Options{Rows: n, Cols: n, Seed: 1})
	for b.Loop() {
		sigma(b, a, n, n, n)
	}
}
