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

func TestAxpyAndRotateAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	n := 500
	x, y := randomVector(r, n), randomVector(r, n)
	a := randomVector(r, 2)

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

	norm := a[0].Mul(a[0]).Add(a[1].Mul(a[1])).Sqrt()
	c, s := a[0].Div(norm), a[1].Div(norm)
	x0, y0 := slices.Clone(x), slices.Clone(y)
	Rotate(c, s, x, y)
	one := newBig().SetFloat64(1)
	for i := range x {
		wantX := newBig().Sub(newBig().Mul(toBig(c), toBig(x0[i])), newBig().Mul(toBig(s), toBig(y0[i])))
		wantY := newBig().Add(newBig().Mul(toBig(s), toBig(x0[i])), newBig().Mul(toBig(c), toBig(y0[i])))
		if ex, ey := errorIn(x[i], wantX, one), errorIn(y[i], wantY, one); max(ex, ey) > 20 {
			t.Fatalf("Rotate, i = %d: errors %g u², %g u²", i, ex, ey)
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
