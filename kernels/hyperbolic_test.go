package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// exactTanh evaluates [Nov15, (4.3)–(4.5)] for 𝔱 = −1 in 300 bits.
func exactTanh(hpp, hqq, hpq float64) (tanh, coth2 float64) {
	z := number(0).Quo(number(0).Add(number(hpp), number(hqq)), number(0).Add(number(hpq), number(hpq)))
	root := number(0).Sqrt(number(0).Sub(number(0).Mul(z, z), number(1)))
	t := number(0).Quo(number(1), root.Add(root, number(0).Abs(z)))
	if z.Sign() > 0 {
		t.Neg(t)
	}
	return float(t), math.Abs(float(z))
}

func TestHyperbolicRotation(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 1))
	for range 5000 {
		hpp := math.Exp2(60 * (rnd.Float64() - 0.5))
		hqq := hpp * math.Exp2(80*(rnd.Float64()-0.5))
		cosine := math.Exp2(-50 * rnd.Float64())
		if rnd.IntN(4) == 0 { // nearly parallel and of nearly the same norm
			hqq = hpp * (1 + 0x1p-12*rnd.NormFloat64())
			cosine = 1 - math.Exp2(-40*rnd.Float64()-1)
		}
		hpq := math.Sqrt(hpp) * math.Sqrt(hqq) * math.Copysign(cosine, rnd.NormFloat64())
		turn, tanh, class := Hyperbolic.Rotation(hpp, hqq, hpq)
		want, coth2 := exactTanh(hpp, hqq, hpq)
		if class.Degenerate {
			t.Fatalf("Rotation(%g, %g, %g): degenerate, coth 2φ = 1 + %g", hpp, hqq, hpq, coth2-1)
		}
		// An error of ε in coth 2φ is one of ε·coth 2φ/√(coth²2φ − 1) in tanh φ.
		if e := tanh/want - 1; math.Abs(e) > (8+4*coth2/math.Sqrt((coth2-1)*(coth2+1)))*UnitRoundoff {
			t.Fatalf("Rotation(%g, %g, %g): tanh = %g, relative error %g", hpp, hqq, hpq, tanh, e)
		}
		s := number(0).Sqrt(number(0).Sub(number(1), number(0).Mul(number(tanh), number(tanh))))
		sinh, tau := number(0).Quo(number(tanh), s), number(0).Quo(number(tanh), number(0).Add(number(1), s))
		if e := turn.Sin/float(sinh) - 1; math.Abs(e) > 4*UnitRoundoff {
			t.Fatalf("tanh = %g: sinh = %g, relative error %g", tanh, turn.Sin, e)
		}
		if e := turn.Tau/float(tau) - 1; math.Abs(e) > 4*UnitRoundoff {
			t.Fatalf("tanh = %g: tanh(φ/2) = %g, relative error %g", tanh, turn.Tau, e)
		}
		if small := turn.Sin*turn.Tau < 0x1p-56 && cosine < 0x1p-27; small && class.Proper {
			t.Fatalf("%+v, cosine %g: proper", turn, cosine)
		}
		if large := turn.Sin*turn.Tau > 0x1p-52 && cosine > 0x1p-47 || cosine > 0x1p-25; large && !class.Proper {
			t.Fatalf("%+v, cosine %g: not proper", turn, cosine)
		}
	}
}

// TestHyperbolicRotationOrthogonalizes tests (4.2) itself: the rotated pair is orthogonal, and
// xᵀx − yᵀy is what it was.
func TestHyperbolicRotationOrthogonalizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 1))
	for range 1000 {
		x := [2]float64{rnd.NormFloat64(), rnd.NormFloat64()}
		y := [2]float64{rnd.NormFloat64(), rnd.NormFloat64()}
		hpp, hqq, hpq := x[0]*x[0]+x[1]*x[1], y[0]*y[0]+y[1]*y[1], x[0]*y[0]+x[1]*y[1]
		turn, _, _ := Hyperbolic.Rotation(hpp, hqq, hpq)
		for i := range x {
			x[i], y[i] = turn.Rotate(x[i], y[i])
		}
		bound := 20 * UnitRoundoff * (hpp + hqq) * (1 + 2*turn.Sin*turn.Sin)
		if dot := x[0]*y[0] + x[1]*y[1]; math.Abs(dot) > bound {
			t.Fatalf("%+v: the rotated columns have the product %g", turn, dot)
		}
		if change := (x[0]*x[0] + x[1]*x[1]) - (y[0]*y[0] + y[1]*y[1]) - (hpp - hqq); math.Abs(change) > bound {
			t.Fatalf("%+v: xᵀx − yᵀy has changed by %g", turn, change)
		}
	}
}

// TestDegenerate tests parallel columns of the same norm, for which 5/4 takes the place of |coth 2φ| = 1,
// and |coth 2φ| just above.
func TestDegenerate(t *testing.T) {
	for _, c := range []struct {
		hpp, hqq, hpq, tanh float64
		degenerate          bool
	}{
		{1, 1, 1, -0.5, true}, {3, 3, -3, 0.5, true}, {1, 1, 1 + 0x1p-52, -0.5, true},
		{1, 1, 1 - 0x1p-53, -1 + math.Exp2(-25.5), false}, {1, 4, 2, -0.5, false}, {4, 1, -2, 0.5, false},
	} {
		turn, tanh, class := Hyperbolic.Rotation(c.hpp, c.hqq, c.hpq)
		if math.Abs(tanh-c.tanh) > 0x1p-40 || class.Degenerate != c.degenerate || !class.Proper ||
			!(math.Abs(turn.Sin) < 1e4) {
			t.Errorf("Rotation(%g, %g, %g): tanh %g, %+v, %+v", c.hpp, c.hqq, c.hpq, tanh, class, turn)
		}
	}
	if _, _, class := Trigonometric.Rotation(1, 1, 1); class.Degenerate {
		t.Error("a trigonometric rotation is degenerate")
	}
}

func TestKindOf(t *testing.T) {
	for p := range 4 {
		for q := p + 1; q < 5; q++ {
			for positive := range 6 {
				if want := (p < positive) != (q < positive); (KindOf(p, q, positive) == Hyperbolic) != want {
					t.Errorf("columns %d, %d with %d positive: hyperbolic %t", p, q, positive, !want)
				}
			}
		}
	}
}

// hyperbolicDrift multiplies I by many random hyperbolic rotations and returns ‖TᵀJT − J‖_F/‖T‖²_F,
// in units of u.
func hyperbolicDrift(seed uint64, rotate func(tanh, x, y float64) (float64, float64)) float64 {
	const k, rotations = 16, 10000
	rnd := rand.New(rand.NewPCG(seed, 1))
	sign := func(j int) float64 { return math.Copysign(1, k/2-0.5-float64(j)) }
	var t [k][k]float64 // column by column
	for j := range k {
		t[j][j] = 1
	}
	for range rotations {
		p, q := rnd.IntN(k/2), k/2+rnd.IntN(k/2)
		tanh := math.Copysign(math.Exp2(-29+5*rnd.Float64()), rnd.NormFloat64())
		for i := range k {
			t[p][i], t[q][i] = rotate(tanh, t[p][i], t[q][i])
		}
	}
	var departure, norm float64
	for a := range k {
		for b := range k {
			var s float64
			for i := range k {
				s = math.FMA(sign(i)*t[a][i], t[b][i], s)
			}
			if a == b {
				s -= sign(a)
			}
			departure += s * s
			norm += t[a][b] * t[a][b]
		}
	}
	return math.Sqrt(departure) / norm / UnitRoundoff
}

// TestHyperbolicRotateUnbiased compares the J-orthogonality of products of rotations by small angles: in
// half-angle form, and in the form (4.2) with cosh₁ and cosh₂ of [Nov15, (4.6)].
func TestHyperbolicRotateUnbiased(t *testing.T) {
	half := hyperbolicDrift(7, func(t, x, y float64) (float64, float64) {
		s := math.Sqrt(math.FMA(-t, t, 1))
		return Turn{Hyperbolic, t / s, t / (1 + s)}.Rotate(x, y)
	})
	naive := func(cosh func(t float64) float64) float64 {
		return hyperbolicDrift(7, func(t, x, y float64) (float64, float64) {
			c := cosh(t)
			return c * math.FMA(t, y, x), c * math.FMA(t, x, y)
		})
	}
	first := naive(func(t float64) float64 { return 1 / math.Sqrt(math.FMA(-t, t, 1)) })
	second := naive(func(t float64) float64 { return math.Abs(1/t) / math.Sqrt(math.FMA(1/t, 1/t, -1)) })
	t.Logf("‖TᵀJT − J‖/(u‖T‖²): half angle %.2g, cosh₁ %.2g, cosh₂ %.2g", half, first, second)
	if half > 20 {
		t.Errorf("the half-angle form loses %g·u of J-orthogonality", half)
	}
	if first < 10*half || second < 2*half {
		t.Errorf("the half-angle form, %g, is not far below the others, %g and %g", half, first, second)
	}
}
