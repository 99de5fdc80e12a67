package dd

import "math"

// Float is the number Hi + Lo with |Lo| ≤ ½ulp(Hi). The zero value is 0.
type Float struct{ Hi, Lo float64 }

// From returns x, exactly.
func From(x float64) Float { return Float{x, 0} }

// Float64 returns a rounded to float64.
func (a Float) Float64() float64 { return a.Hi }

// TwoSum returns s = fl(a+b) and e with s + e = a + b exactly.
func TwoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, (a - (s - t)) + (b - t)
}

// FastTwoSum is TwoSum for |a| ≥ |b| (or a = 0).
func FastTwoSum(a, b float64) (s, e float64) {
	s = a + b
	return s, b - (s - a)
}

// TwoProd returns p = fl(a·b) and e with p + e = a·b exactly.
func TwoProd(a, b float64) (p, e float64) {
	p = float64(a * b)
	return p, math.FMA(a, b, -p)
}

// Neg returns −a.
func (a Float) Neg() Float { return Float{-a.Hi, -a.Lo} }

// Abs returns |a|.
func (a Float) Abs() Float {
	if math.Signbit(a.Hi) {
		return a.Neg()
	}
	return a
}

// Add returns a + b: AccurateDWPlusDW of Joldes, Muller and Popescu.
func (a Float) Add(b Float) Float {
	s, e := TwoSum(a.Hi, b.Hi)
	t, f := TwoSum(a.Lo, b.Lo)
	s, e = FastTwoSum(s, e+t)
	s, e = FastTwoSum(s, f+e)
	return Float{s, e}
}

// Sub returns a − b.
func (a Float) Sub(b Float) Float { return a.Add(b.Neg()) }

// Mul returns a·b: DWTimesDW3 of the same authors.
func (a Float) Mul(b Float) Float {
	p, e := TwoProd(a.Hi, b.Hi)
	e += math.FMA(a.Lo, b.Hi, math.FMA(a.Hi, b.Lo, float64(a.Lo*b.Lo)))
	p, e = FastTwoSum(p, e)
	return Float{p, e}
}

// Scale returns a·x for a float64 x.
func (a Float) Scale(x float64) Float {
	p, e := TwoProd(a.Hi, x)
	p, e = FastTwoSum(p, math.FMA(a.Lo, x, e))
	return Float{p, e}
}

// Div returns a/b: a quotient in float64 and one correction from the exact remainder.
func (a Float) Div(b Float) Float {
	q := a.Hi / b.Hi
	r := a.Sub(b.Scale(q))
	p, e := FastTwoSum(q, r.Hi/b.Hi)
	return Float{p, e}
}

// Sqrt returns √a, NaN for a < 0: a root in float64 and one Newton correction.
func (a Float) Sqrt() Float {
	if a.Hi == 0 {
		return Float{}
	}
	x := math.Sqrt(a.Hi)
	p, e := TwoProd(x, x)
	r := a.Sub(Float{p, e})
	p, e = FastTwoSum(x, r.Hi/(2*x))
	return Float{p, e}
}

// Cmp returns −1, 0 or +1 for a < b, a = b, a > b; 0 if one of them is NaN.
func (a Float) Cmp(b Float) int {
	switch {
	case a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo:
		return -1
	case a.Hi > b.Hi || a.Hi == b.Hi && a.Lo > b.Lo:
		return 1
	}
	return 0
}
