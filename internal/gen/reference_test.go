package gen

import (
	"math"
	"testing"
)

// The 2×2 matrix [1 1; 0 ε] has σ₁·σ₂ = ε and σ₁² + σ₂² = 2 + ε²: a small σ with a closed form.
func TestReferenceSigmaClosedForm(t *testing.T) {
	for _, small := range []float64{1, 0x1p-20, 0x1p-60, 0x1p-300} {
		got := ReferenceSigma([]float64{1, 0, 1, small}, 2, 2, 2)
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

// A matrix with scaled columns: σ of A·2^k and of Aᵀ, whatever the scale.
func TestReferenceSigmaIsScaleInvariant(t *testing.T) {
	const m, n, ld = 20, 12, 23
	x := dense(t, matrix(t, "graded-cols", Options{Rows: m, Cols: n, Cond: 1e20}))
	want := ReferenceSigma(x, m, n, m)
	for _, e := range []int{-900, 0, 900} {
		a, transposed := make([]float64, ld*n), make([]float64, m*n)
		for j := range n {
			for i := range m {
				a[i+j*ld] = math.Ldexp(x[i+j*m], e)
				transposed[j+i*n] = a[i+j*ld]
			}
		}
		for _, got := range [][]float64{ReferenceSigma(a, m, n, ld), ReferenceSigma(transposed, n, m, n)} {
			for i := range got {
				if got[i] != math.Ldexp(want[i], e) {
					t.Fatalf("2^%d: σ[%d] = %g, want %g·2^%d", e, i, got[i], want[i], e)
				}
			}
		}
	}
	if want[0]/want[n-1] < 1e19 {
		t.Errorf("condition %g, want about 1e20", want[0]/want[n-1])
	}
}

func TestReferenceSigmaOfZeroAndNaN(t *testing.T) {
	for _, s := range ReferenceSigma(make([]float64, 6), 2, 3, 2) {
		if s != 0 {
			t.Errorf("σ of 0 is %g", s)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		for _, s := range ReferenceSigma([]float64{1, 2, bad, 4}, 2, 2, 2) {
			if !math.IsNaN(s) {
				t.Errorf("σ of a matrix with %g is %g", bad, s)
			}
		}
	}
}
