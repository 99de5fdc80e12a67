package gen

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"jmpi/internal/dd"
)

// For a definite A the singular values of the stored factor are √λ, to the relative accuracy
// that the factorization with complete pivoting promises.
func TestDefiniteSpectraAgainstReference(t *testing.T) {
	for _, kind := range []string{"spectrum2", "spectrum4"} {
		const n = 96
		a := matrix(t, kind, Options{Rows: n, Cols: n, Seed: 1})
		if len(a.Sigma) != n || slices.Min(a.Signature) != 1 {
			t.Fatalf("%s: %d σ, signature %v", kind, len(a.Sigma), a.Signature)
		}
		g := dense(t, a)
		for i, got := range referenceSigma(t, g, n, n) {
			if e := math.Abs(got-a.Sigma[i]) / a.Sigma[i]; e > 2e-15 {
				t.Errorf("%s: σ[%d] = %.17g, want %.17g, relative error %.1e", kind, i, got, a.Sigma[i], e)
			}
		}
		for j := range n {
			if slices.ContainsFunc(g[j*n:j*n+j], func(x float64) bool { return x != 0 }) {
				t.Fatalf("%s: column %d is not lower triangular", kind, j)
			}
			if j > 0 && g[j+j*n] > g[j-1+(j-1)*n] {
				t.Fatalf("%s: the diagonal increases at %d", kind, j)
			}
		}
	}
}

// For an indefinite A the eigenvalues of G·J·Gᵀ are λ.
func TestIndefiniteSpectra(t *testing.T) {
	for _, kind := range []string{"spectrum1", "spectrum3"} {
		for _, positive := range []*int64{nil, new(int64(0)), new(int64(10)), new(int64(35)), new(int64(60))} {
			const n = 60
			a := matrix(t, kind, Options{Rows: n, Cols: n, Seed: 7, Positive: positive})
			count := int64(floats.Sum(a.Signature)+n) / 2
			if positive != nil && count != *positive || positive == nil && (count < 20 || count > 55) {
				t.Errorf("%s: %d positive λ", kind, count)
			}
			for i, s := range a.Signature {
				if s != map[bool]float64{true: 1, false: -1}[int64(i) < count] || s*a.Lambda[i] <= 0 {
					t.Fatalf("%s: signature %g, λ %g at %d of %d", kind, s, a.Lambda[i], i, count)
				}
			}
			g := mat.NewDense(n, n, dense(t, a)) // row-major: Gᵀ
			var gj, full mat.Dense
			gj.Apply(func(i, j int, x float64) float64 { return x * a.Signature[i] }, g)
			full.Mul(g.T(), &gj)
			var eigen mat.EigenSym
			eigen.Factorize(mat.NewSymDense(n, full.RawMatrix().Data), false)
			got := eigen.Values(nil)
			slices.Reverse(got)
			if e := floats.Distance(got, a.Lambda, math.Inf(1)); e > 1e-14*floats.Norm(a.Lambda, math.Inf(1)) {
				t.Errorf("%s, %d positive: λ differ by %.1e", kind, count, e)
			}
		}
	}
}

func TestSpectraFollowThePaper(t *testing.T) {
	const n = 200
	l1 := matrix(t, "spectrum1", Options{Rows: n, Cols: n, Seed: 3}).Lambda
	l2 := matrix(t, "spectrum2", Options{Rows: n, Cols: n, Seed: 3}).Lambda
	l4 := matrix(t, "spectrum4", Options{Rows: n, Cols: n, Seed: 3}).Lambda
	for _, c := range []struct {
		lambda []float64
		value  float64
	}{{l1, 0.5}, {l2, 1.5}} {
		equal := 0
		for _, x := range c.lambda {
			if x == c.value {
				equal++
			}
		}
		if equal != 16 {
			t.Errorf("%g occurs %d times, want 16", c.value, equal)
		}
	}
	if floats.Max(l4) > 10 || floats.Max(l4) < 9 || floats.Min(l4) < 1e-7 {
		t.Errorf("spectrum 4 goes from %g to %g", floats.Min(l4), floats.Max(l4))
	}
	if high := floats.Max(spread(Options{Rows: 3072}, "")); high > 30 || high < 29 {
		t.Errorf("spectrum 4 of order 3·1024 goes to %g, want 30", high)
	}
}

// A·Q = Q·Λ is not formed, but trace and Frobenius norm of U·Λ·Uᵀ tell an error of U beyond
// double precision, and the factorization reproduces the matrix in double-double.
func TestSimilarAndFactorizeInDoubleDouble(t *testing.T) {
	const n = 50
	o := Options{Rows: n, Cols: n, Seed: 9}
	lambda := spread(o, "test")
	chooseSigns(Options{Positive: new(int64(20))}, "test", lambda, 0)
	a := similar(lambda, 1, "test")
	var trace, squares, wantTrace, wantSquares dd.Float
	for j := range n {
		trace = trace.Add(a[j+j*n])
		wantTrace = wantTrace.Add(dd.From(lambda[j]))
		wantSquares = wantSquares.Add(dd.From(lambda[j]).Scale(lambda[j]))
		for i := range n {
			squares = squares.Add(a[i+j*n].Mul(a[i+j*n]))
			if e := a[i+j*n].Sub(a[j+i*n]).Float64(); math.Abs(e) > 1e-29 {
				t.Fatalf("not symmetric at (%d,%d): %g", i, j, e)
			}
		}
	}
	if e := trace.Sub(wantTrace).Float64(); math.Abs(e) > 1e-27 {
		t.Errorf("the trace is wrong by %g", e)
	}
	if e := squares.Sub(wantSquares).Float64(); math.Abs(e) > 1e-26 {
		t.Errorf("the sum of squares is wrong by %g", e)
	}

	g := slices.Clone(a)
	signs, err := factorize(g, n)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for k := range n - 1 {
		if g[k+(k+1)*n] != (dd.Float{}) {
			blocks++
		}
	}
	if blocks == 0 {
		t.Error("no 2×2 pivot in an indefinite matrix: the test does not see them")
	}
	// G·J·Gᵀ is A up to a symmetric permutation, which keeps the sorted entries.
	var got, want []dd.Float
	for i := range n {
		for j := range i + 1 {
			var x dd.Float
			for k := range n {
				x = x.Add(g[i+k*n].Mul(g[j+k*n]).Scale(signs[k]))
			}
			got, want = append(got, x), append(want, a[i+j*n])
		}
	}
	slices.SortFunc(got, dd.Float.Cmp)
	slices.SortFunc(want, dd.Float.Cmp)
	for i := range got {
		if e := got[i].Sub(want[i]).Float64(); math.Abs(e) > 1e-28 {
			t.Fatalf("entry %d of P·A·Pᵀ is wrong by %g", i, e)
		}
	}
}

func TestFactorizeRefusesSingular(t *testing.T) {
	ones := []dd.Float{dd.From(1), dd.From(1), dd.From(1), dd.From(1)}
	if _, err := factorize(ones, 2); err == nil {
		t.Error("no error for a singular matrix")
	}
}

func BenchmarkSpectrum4Order1024(b *testing.B) {
	for b.Loop() {
		matrix(b, "spectrum4", Options{Rows: 1024, Cols: 1024})
	}
}
