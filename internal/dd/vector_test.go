package dd

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func randomVector(r *rand.Rand, n int) []Float {
	x := make([]Float, n)
	for i := range x {
		x[i] = From(r.NormFloat64()).Div(From(3))
	}
	return x
}

func TestDotAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 2, 7, 1000} {
		x, y := randomVector(r, n), randomVector(r, n)
		want, scale := newBig(), newBig().SetFloat64(1e-300)
		for i := range x {
			term := newBig().Mul(toBig(x[i]), toBig(y[i]))
			want.Add(want, term)
			scale.Add(scale, term.Abs(term))
		}
		if e := errorIn(Dot(x, y), want, scale); e > float64(10+n) {
			t.Errorf("n = %d: error %g u²·Σ|xᵢyᵢ|", n, e)
		}
	}
}

func TestAxpyAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	n := 500
	x, y := randomVector(r, n), randomVector(r, n)
	a := randomVector(r, 1)[0]

	got := slices.Clone(y)
	Axpy(a, x, got)
	for i := range x {
		term := newBig().Mul(toBig(a), toBig(x[i]))
		want := newBig().Add(toBig(y[i]), term)
		scale := newBig().Abs(toBig(y[i]))
		scale.Add(scale, term.Abs(term))
		if e := errorIn(got[i], want, scale); e > 6 {
			t.Fatalf("Axpy, i = %d: error %g u²", i, e)
		}
	}
}

func BenchmarkDot(b *testing.B) {
	x := randomVector(rand.New(rand.NewPCG(1, 1)), 1024)
	for b.Loop() {
		Dot(x, x)
	}
}

func BenchmarkAxpy(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := randomVector(r, 1024), randomVector(r, 1024)
	for b.Loop() {
		Axpy(From(1e-9), x, y)
	}
}
