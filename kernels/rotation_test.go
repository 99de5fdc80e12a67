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

// exactTurn returns sin φ and tan(φ/2) for tan φ = t.
func exactTurn(t *big.Float) (sin, tau *big.Float) {
	s := number(0).Sqrt(number(0).Add(number(0).Mul(t, t), number(1)))
	return number(0).Quo(t, s), number(0).Quo(t, number(0).Add(s, number(1)))
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
		turn, tan, class := Trigonometric.Rotation(hpp, hqq, hpq)
		want := exactTan(hpp, hqq, hpq)
		if e := float(number(0).Quo(number(tan), want)) - 1; math.Abs(e) > 8*UnitRoundoff {
			t.Fatalf("Rotation(%g, %g, %g): tan = %g, relative error %g", hpp, hqq, hpq, tan, e)
		}
		sin, tau := exactTurn(number(tan))
		if e := float(number(0).Quo(number(turn.Sin), sin)) - 1; math.Abs(e) > 4*UnitRoundoff {
			t.Fatalf("tan = %g: sin = %g, relative error %g", tan, turn.Sin, e)
		}
		if e := float(number(0).Quo(number(turn.Tau), tau)) - 1; math.Abs(e) > 4*UnitRoundoff {
			t.Fatalf("tan = %g: tan(φ/2) = %g, relative error %g", tan, turn.Tau, e)
		}
		cosine := math.Abs(hpq) / (math.Sqrt(hpp) * math.Sqrt(hqq))
		if small := turn.Sin*turn.Tau < 0x1p-56 && cosine < 0x1p-27; small && class.Proper {
			t.Fatalf("%+v, cosine %g: proper", turn, cosine)
		}
		if cosine < 0x1p-49 && (class.Open || class.Proper) || cosine > 0x1p-47 && !class.Open || class.Idle &&
			(class.Open || turn.Sin*turn.Tau < 0x1p-56) {
			t.Fatalf("%+v, cosine %g: %+v", turn, cosine, class)
		}
		if large := turn.Sin*turn.Tau > 0x1p-52 && cosine > 0x1p-47 || cosine > 0x1p-25; large && !class.Proper {
			t.Fatalf("%+v, cosine %g: not proper", turn, cosine)
		}
		dpp, dqq := Diagonal(hpp, hqq, hpq, tan)
		if math.Abs(dpp+dqq-hpp-hqq) > 8*UnitRoundoff*(hpp+hqq) || dpp < -4*UnitRoundoff*(hpp+hqq) ||
			dqq < -4*UnitRoundoff*(hpp+hqq) {
			t.Fatalf("Diagonal(%g, %g, %g): %g, %g", hpp, hqq, hpq, dpp, dqq)
		}
	}
}

// TestRotationExtremes tests |cot 2φ| at and beyond the point where its square overflows, and 0.
func TestRotationExtremes(t *testing.T) {
	for _, c := range []struct{ hpp, hqq, hpq, tan, delta float64 }{ // delta = 1 − cos φ
		{1, 1, 0.5, 1, 1 - math.Sqrt(0.5)},
		{1, 1, -0.5, -1, 1 - math.Sqrt(0.5)}, // sgn 0 is the sign of hpq
		{1, 2, 0x1p-600, 0x1p-600, 0},
		{2, 1, 0x1p-600, -0x1p-600, 0},
		// cot 2φ = 2¹⁰²⁹ overflows: tan φ is 0, not NaN
		{0x1p-1000, 0x1p1000, 0x1p-30, 0, 0},
		// 2·hpq would overflow with one more bit
		{0x1p1020, 0x1p1022, 0x1p1021, (math.Sqrt(0.5625+1) - 0.75), 1 - 2/math.Sqrt(5)},
	} {
		turn, tan, _ := Trigonometric.Rotation(c.hpp, c.hqq, c.hpq)
		delta := turn.Sin * turn.Tau
		if math.Abs(tan-c.tan) > 4*UnitRoundoff*math.Abs(c.tan) || math.Abs(delta-c.delta) > 4*UnitRoundoff {
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
		{1, 1, 4 * UnitRoundoff, false}, {1, 1, 4.001 * UnitRoundoff, true},
		{4, 0x1p-400, 8.1 * UnitRoundoff * 0x1p-200, true},
		{4, 0x1p-400, 7.9 * UnitRoundoff * 0x1p-200, false}, {0, 1, 0, false}, {0, 0, 0, false},
		{1, 0, 0x1p-1000, false},
		{math.Inf(1), 1, 1, false}, {math.NaN(), 1, 1, false}, {1, 1, math.NaN(), false},
		{0x1p1000, 0x1p1000, 0x1p990, true},
	} {
		if got := NeedsRotation(c.hpp, c.hqq, c.hpq, tol); got != c.want {
			t.Errorf("NeedsRotation(%g, %g, %g) = %t", c.hpp, c.hqq, c.hpq, got)
		}
	}
}

// drift rotates a pair of vectors many times and returns the relative growth of their joint norm, which
// is 0 in exact arithmetic.
func drift(seed uint64, angle func(*rand.Rand) float64,
	rotate func(x, y, cot2 float64) (float64, float64)) float64 {
	rnd := rand.New(rand.NewPCG(seed, 1))
	const n, rotations = 50, 10000
	var x, y [n]float64
	for i := range n {
		x[i], y[i] = rnd.NormFloat64(), rnd.NormFloat64()
	}
	before := math.Hypot(Norm2(x[:]), Norm2(y[:]))
	for range rotations {
		a := angle(rnd)
		for i := range n {
			x[i], y[i] = rotate(x[i], y[i], a)
		}
	}
	return math.Hypot(Norm2(x[:]), Norm2(y[:]))/before - 1
}

// TestRotateUnbiased compares the drift of the norms under rotations by small angles: by the half-angle form,
// by a cosine 1/√(1+t²), whose error always has the same sign, and by a cosine 1 − d, which is lost where d
// is below the spacing of numbers near x. The angles are those around the smallest proper ones.
func TestRotateUnbiased(t *testing.T) {
	angle := func(rnd *rand.Rand) float64 { return math.Exp2(24 + 4*rnd.Float64()) } // 2·cot 2φ
	tangent := func(a float64) float64 { _, tan, _ := Trigonometric.Rotation(0, a, 1); return tan }
	half := drift(3, angle, func(x, y, a float64) (float64, float64) {
		turn, _, _ := Trigonometric.Rotation(0, a, 1)
		return turn.Rotate(x, y)
	})
	cosine := drift(3, angle, func(x, y, a float64) (float64, float64) {
		tan := tangent(a)
		cos := 1 / math.Sqrt(math.FMA(tan, tan, 1))
		return cos * math.FMA(-tan, y, x), cos * math.FMA(tan, x, y)
	})
	distance := drift(3, angle, func(x, y, a float64) (float64, float64) {
		tan := tangent(a)
		s := math.Sqrt(math.FMA(tan, tan, 1))
		d := tan * tan / (s * (1 + s))
		u, v := math.FMA(-tan, y, x), math.FMA(tan, x, y)
		return math.FMA(-d, u, u), math.FMA(-d, v, v)
	})
	t.Logf("drift: half angle %.2g, 1/√(1+t²) %.2g, 1−d %.2g", half, cosine, distance)
	if math.Abs(half) > 50*UnitRoundoff {
		t.Errorf("the half-angle form drifts by %g", half)
	}
	if distance < 10*math.Abs(half) || math.Abs(cosine) < 10*math.Abs(half) {
		t.Errorf("drift of the half-angle form %g is not far below that of the others, %g and %g", half, cosine,
			distance)
	}
}

func TestSettled(t *testing.T) {
	for _, c := range []struct {
		tally   Tally
		settled bool
	}{
		{Tally{}, true}, {Tally{Rotations: 9, Open: 9}, true}, {Tally{Rotations: 9, Idle: 9}, true},
		{Tally{Rotations: 9, Open: 9, Proper: 1}, false},
		// the idle one may have mixed what the open one was to make orthogonal
		{Tally{Rotations: 2, Open: 1, Idle: 1}, false},
	} {
		if got := c.tally.Settled(); got != c.settled {
			t.Errorf("%+v: settled %t", c.tally, got)
		}
	}
}
