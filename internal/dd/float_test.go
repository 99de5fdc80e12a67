package dd

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// precision is the number of bits of the reference.
const precision = 300

// u² is the square of the unit roundoff 2⁻⁵³.
const u2 = 0x1p-106

func toBig(a Float) *big.Float {
	hi := new(big.Float).SetPrec(precision).SetFloat64(a.Hi)
	return hi.Add(hi, new(big.Float).SetFloat64(a.Lo))
}

func newBig() *big.Float { return new(big.Float).SetPrec(precision) }

// errorIn returns |got − want|/(u²·|scale|).
func errorIn(got Float, want, scale *big.Float) float64 {
	diff := newBig().Sub(toBig(got), want)
	if diff.Sign() == 0 {
		return 0
	}
	e, _ := diff.Quo(diff, scale).Float64()
	return math.Abs(e) / u2
}

// random returns a Float with a random low part, of magnitude 2^−40 to 2^40.
func random(r *rand.Rand) Float {
	hi := math.Ldexp(r.NormFloat64(), r.IntN(80)-40)
	hi, lo := FastTwoSum(hi, hi*(r.Float64()-0.5)*0x1p-52)
	return Float{hi, lo}
}

func TestOperationsAgainstBig(t *testing.T) {
	operations := []struct {
		name  string
		bound float64 // in units of u²
		got   func(a, b Float) Float
		want  func(z, a, b *big.Float) *big.Float
	}{
		{"Add", 3, Float.Add, (*big.Float).Add},
		{"Sub", 3, Float.Sub, (*big.Float).Sub},
		{"Mul", 4, Float.Mul, (*big.Float).Mul},
		{"Div", 15, Float.Div, (*big.Float).Quo},
		{"Sqrt", 4, func(a, _ Float) Float { return a.Abs().Sqrt() },
			func(z, a, _ *big.Float) *big.Float { return z.Sqrt(a.Abs(a)) }},
		{"Scale", 4, func(a, b Float) Float { return a.Scale(b.Hi) },
			func(z, a, b *big.Float) *big.Float {
				hi, _ := b.Float64()
				return z.Mul(a, new(big.Float).SetFloat64(hi))
			}},
		{"Neg", 0, func(a, _ Float) Float { return a.Neg() },
			func(z, a, _ *big.Float) *big.Float { return z.Neg(a) }},
	}
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			worst := 0.0
			for range 20000 {
				a, b := random(r), random(r)
				got := op.got(a, b)
				if hi, lo := TwoSum(got.Hi, got.Lo); hi != got.Hi || lo != got.Lo {
					t.Fatalf("%v %s %v = %v is not normalized", a, op.name, b, got)
				}
				want := op.want(newBig(), toBig(a), toBig(b))
				worst = max(worst, errorIn(got, want, want))
			}
			if worst > op.bound {
				t.Errorf("largest error %.2f u², bound %g u²", worst, op.bound)
			}
		})
	}
}

// Cancellation of leading digits must not cost relative accuracy: Float.Add is not the sloppy sum.
func TestAddKeepsRelativeAccuracyUnderCancellation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 10000 {
		a := random(r)
		b := a.Neg()
		b.Lo *= 1 + r.Float64()*0x1p-20
		want := newBig().Add(toBig(a), toBig(b))
		if want.Sign() == 0 {
			continue
		}
		if e := errorIn(a.Add(b), want, want); e > 3 {
			t.Fatalf("%v + %v: error %g u²", a, b, e)
		}
	}
}

func TestErrorFreeTransformations(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 10000 {
		a, b := random(r).Hi, random(r).Hi
		s, e := TwoSum(a, b)
		bigA, bigB := new(big.Float).SetFloat64(a), new(big.Float).SetFloat64(b)
		if s != a+b || toBig(Float{s, e}).Cmp(newBig().Add(bigA, bigB)) != 0 {
			t.Fatalf("TwoSum(%g, %g) = %g, %g", a, b, s, e)
		}
		p, e := TwoProd(a, b)
		if toBig(Float{p, e}).Cmp(newBig().Mul(bigA, bigB)) != 0 {
			t.Fatalf("TwoProd(%g, %g) = %g, %g", a, b, p, e)
		}
	}
}

func TestCmpAndSpecialValues(t *testing.T) {
	one, next := From(1), Float{1, 0x1p-80}
	for _, c := range []struct {
		a, b Float
		want int
	}{
		{one, next, -1}, {next, one, 1}, {one, one, 0}, {From(-2), one, -1},
		{next.Neg(), one.Neg(), -1}, {From(math.NaN()), one, 0},
	} {
		if got := c.a.Cmp(c.b); got != c.want {
			t.Errorf("Cmp(%v, %v) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if got := From(0).Sqrt(); got != (Float{}) {
		t.Errorf("√0 = %v", got)
	}
	if got := From(-1).Sqrt().Float64(); !math.IsNaN(got) {
		t.Errorf("√−1 = %v", got)
	}
	if got := From(2).Mul(From(0.5)).Float64(); got != 1 {
		t.Errorf("2·0.5 = %v", got)
	}
}
