package dd

import (
	"math/big"
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

func TestAxpyAndCombineAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	n := 500
	x, y := randomVector(r, n), randomVector(r, n)
	a := randomVector(r, 3)

	got := slices.Clone(y)
	Axpy(a[0], x, got)
	for i := range x {
		term := newBig().Mul(toBig(a[0]), toBig(x[i]))
		want := newBig().Add(toBig(y[i]), term)
		scale := newBig().Abs(toBig(y[i]))
		scale.Add(scale, term.Abs(term))
		if e := errorIn(got[i], want, scale); e > 6 {
			t.Fatalf("Axpy, i = %d: error %g u²", i, e)
		}
	}

	c, s, f := a[0], a[1], a[2]
	x0, y0 := slices.Clone(x), slices.Clone(y)
	Combine(c, s, f, x, y)
	// terms returns c·x + s·y and |c·x| + |s·y|.
	terms := func(c, x, s, y Float) (sum, scale *big.Float) {
		p, q := newBig().Mul(toBig(c), toBig(x)), newBig().Mul(toBig(s), toBig(y))
		return newBig().Add(p, q), newBig().Add(newBig().Abs(p), newBig().Abs(q))
	}
	for i := range x {
		wantX, scaleX := terms(c, x0[i], s.Neg(), y0[i])
		wantY, scaleY := terms(f, x0[i], c, y0[i])
		if ex, ey := errorIn(x[i], wantX, scaleX), errorIn(y[i], wantY, scaleY); max(ex, ey) > 8 {
			t.Fatalf("Combine, i = %d: errors %g u², %g u²", i, ex, ey)
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

func BenchmarkCombine(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := randomVector(r, 1024), randomVector(r, 1024)
	for b.Loop() {
		Combine(Float{1, 1e-20}, Float{1e-9, 1e-30}, Float{1e-9, 1e-30}, x, y)
	}
}
