package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// number returns x with 300 bits, enough for all that is computed here to be exact to 200.
func number(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

func float(x *big.Float) float64 { f, _ := x.Float64(); return f }

// exactTan evaluates [Nov15, (4.3)–(4.5)] in 300 bits.
func exactTan(hpp, hqq, hpq float64) *big.Float {
	z := number(0).Quo(number(0).Sub(number(hqq), number(hpp)), number(0).Add(number(hpq), number(hpq)))
	root := number(0).Sqrt(number(0).Add(number(0).Mul(z, z), number(1)))
	t := number(0).Quo(number(1), root.Add(root, number(0).Abs(z)))
	if z.Sign() < 0 || z.Sign() == 0 && hpq < 0 {
		t.Neg(t)
	}
	return t
}

// exactDelta returns 1 − 1/√(1+t²).
func exactDelta(t *big.Float) *big.Float {
	s := number(0).Sqrt(number(0).Add(number(0).Mul(t, t), number(1)))
	return number(0).Sub(number(1), s.Quo(number(1), s))
}

func TestRotation(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		hpp := math.Exp2(60 * (rnd.Float64() - 0.5))
		hqq := hpp * math.Exp2(80*(rnd.Float64()-0.5))
		if rnd.IntN(4) == 0 {
			hqq = hpp * (1 + 0x1p-40*rnd.NormFloat64())
		}
		hpq := math.Sqrt(hpp) * math.Sqrt(hqq) * math.Exp2(-50*rnd.Float64())
		if rnd.IntN(2) == 0 {
			hpq = -hpq
		}
		tan, delta, proper := Rotation(hpp, hqq, hpq)
		want := exactTan(hpp, hqq, hpq)
		if e := float(number(0).Quo(number(tan), want)) - 1; math.Abs(e) > 8*Epsilon {
			t.Fatalf("Rotation(%g, %g, %g): tan = %g, relative error %g", hpp, hqq, hpq, tan, e)
		}
		if e := float(number(0).Quo(number(delta), exactDelta(number(tan)))) - 1; math.Abs(e) > 8*Epsilon {
			t.Fatalf("tan = %g: delta = %g, relative error %g", tan, delta, e)
		}
		if proper != (1-delta != 1) {
			t.Fatalf("delta = %g: proper = %t", delta, proper)
		}
		dpp, dqq := Diagonal(hpp, hqq, hpq, tan)
		if math.Abs(dpp+dqq-hpp-hqq) > 8*Epsilon*(hpp+hqq) || dpp < -4*Epsilon*(hpp+hqq) || dqq < -4*Epsilon*(hpp+hqq) {
			t.Fatalf("Diagonal(%g, %g, %g): %g, %g", hpp, hqq, hpq, dpp, dqq)
		}
	}
}

// TestRotationExtremes tests |cot 2φ| at and beyond the point where its square overflows, and 0.
func TestRotationExtremes(t *testing.T) {
	for _, c := range []struct{ hpp, hqq, hpq, tan, delta float64 }{
		{1, 1, 0.5, 1, 1 - math.Sqrt(0.5)},
		{1, 1, -0.5, -1, 1 - math.Sqrt(0.5)}, // sgn 0 is the sign of hpq
		{1, 2, 0x1p-600, 0x1p-600, 0},
		{2, 1, 0x1p-600, -0x1p-600, 0},
		{0x1p-1000, 0x1p1000, 0x1p-30, 0, 0},                                             // cot 2φ = 2¹⁰²⁹ overflows: tan φ is 0, not NaN
		{0x1p1020, 0x1p1022, 0x1p1021, (math.Sqrt(0.5625+1) - 0.75), 1 - 2/math.Sqrt(5)}, // 2·hpq would overflow with one more bit
	} {
		tan, delta, _ := Rotation(c.hpp, c.hqq, c.hpq)
		if math.Abs(tan-c.tan) > 4*Epsilon*math.Abs(c.tan) || math.Abs(delta-c.delta) > 4*Epsilon {
			t.Errorf("Rotation(%g, %g, %g) = %g, %g, want %g, %g", c.hpp, c.hqq, c.hpq, tan, delta, c.tan, c.delta)
		}
	}
}

func TestNeedsRotation(t *testing.T) {
	tol := Tolerance(64)
	for _, c := range []struct {
		hpp, hqq, hpq float64
		want          bool
	}{
		{1, 1, 8 * Epsilon, false}, {1, 1, 8.001 * Epsilon, true}, {4, 0x1p-400, 16.1 * Epsilon * 0x1p-200, true},
		{4, 0x1p-400, 15.9 * Epsilon * 0x1p-200, false}, {0, 1, 0, false}, {0, 0, 0, false}, {1, 0, 0x1p-1000, false},
		{math.Inf(1), 1, 1, false}, {math.NaN(), 1, 1, false}, {1, 1, math.NaN(), false}, {0x1p1000, 0x1p1000, 0x1p990, true},
	} {
		if got := NeedsRotation(c.hpp, c.hqq, c.hpq, tol); got != c.want {
			t.Errorf("NeedsRotation(%g, %g, %g) = %t", c.hpp, c.hqq, c.hpq, got)
		}
	}
}

// TestDeltaUnbiased measures the mean departure from orthogonality, cos²φ·(1+tan²φ) − 1, of a single rotation, for the
// computed cosine cs₁ = 1/√(1+t²) and for 1 − delta, at small angles. The error of cs₁ has a sign, which adds
// up over the rotations; that of 1 − delta, before the product is rounded, is far below ε.
func TestDeltaUnbiased(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	const samples = 4000
	var cs1, form float64
	departure := func(cos, tan *big.Float) float64 {
		u := number(0).Add(number(1), number(0).Mul(tan, tan))
		u.Mul(u, number(0).Mul(cos, cos))
		return float(u.Sub(u, number(1)))
	}
	for range samples {
		// cot 2φ = hqq/2 nearly, hpq = 1, hpp tiny: angles between 2⁻¹² and 2⁻²⁴
		tan, delta, _ := Rotation(0, math.Exp2(12+12*rnd.Float64()), 1)
		cs1 += departure(number(1/math.Sqrt(math.FMA(tan, tan, 1))), number(tan))
		form += departure(number(0).Sub(number(1), number(delta)), number(tan))
	}
	cs1, form = cs1/samples, form/samples
	t.Logf("mean departure: cs1 %.2g, delta form %.2g", cs1, form)
	if math.Abs(form) > 1e-20 {
		t.Errorf("delta form: mean departure %g", form)
	}
	if cs1 < 0.5e-16 {
		t.Errorf("cs1: mean departure %g, the bias that the delta form avoids is gone", cs1)
	}
}

// TestRotateDelta rotates a pair of vectors many times by small angles and compares the drift of their norms.
func TestRotateDelta(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	const n, rotations = 50, 10000
	var x, y, u, v [n]float64 // rotated by the delta form, and with cs₁
	for i := range n {
		x[i], y[i] = rnd.NormFloat64(), rnd.NormFloat64()
	}
	u, v = x, y
	before := math.Hypot(Norm2(x[:]), Norm2(y[:]))
	for range rotations {
		tan, delta, _ := Rotation(0, math.Exp2(12+12*rnd.Float64()), 1)
		cos := 1 / math.Sqrt(math.FMA(tan, tan, 1))
		for i := range n {
			x[i], y[i] = RotateDelta(x[i], y[i], tan, delta)
			u[i], v[i] = cos*math.FMA(-tan, v[i], u[i]), cos*math.FMA(tan, u[i], v[i])
		}
	}
	form := math.Abs(math.Hypot(Norm2(x[:]), Norm2(y[:]))/before - 1)
	cs1 := math.Abs(math.Hypot(Norm2(u[:]), Norm2(v[:]))/before - 1)
	t.Logf("drift after %d rotations: cs1 %.2g, delta form %.2g", rotations, cs1, form)
	if form > 100*Epsilon || cs1 < 10*form {
		t.Errorf("drift of the delta form %g, of cs1 %g", form, cs1)
	}
}
