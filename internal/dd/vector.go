package dd

import "math"

// Dot, Axpy and Combine are written out because speed matters, and add with fewer operations than
// Float.Add: their errors are small against the magnitudes of the terms, not of the result.

// Dot returns xᵀy, len(y) ≥ len(x), summed in the order of the index. The error is at most
// about n²u²·Σ|xᵢyᵢ|, n = len(x), u = 2⁻⁵³: Dot2 of T. Ogita, S. M. Rump, S. Oishi, Accurate sum
// and dot product, SIAM J. Sci. Comput. 26 (2005) 1955–1988, with the low parts added in.
func Dot(x, y []Float) Float {
	y = y[:len(x)]
	var hi, lo float64
	for i, a := range x {
		b := y[i]
		p := float64(a.Hi * b.Hi)
		e := math.FMA(a.Hi, b.Hi, -p)
		e = math.FMA(a.Hi, b.Lo, math.FMA(a.Lo, b.Hi, e))
		s := hi + p
		t := s - hi
		lo += ((hi - (s - t)) + (p - t)) + e
		hi = s
	}
	hi, lo = TwoSum(hi, lo)
	return Float{hi, lo}
}

// Axpy adds a·x to y, len(y) ≥ len(x), with an error of at most about 6u²·(|yᵢ| + |a·xᵢ|).
func Axpy(a Float, x, y []Float) {
	y = y[:len(x)]
	for i, b := range x {
		p := float64(a.Hi * b.Hi)
		e := math.FMA(a.Hi, b.Hi, -p)
		e = math.FMA(a.Hi, b.Lo, math.FMA(a.Lo, b.Hi, e))
		c := y[i]
		s := c.Hi + p
		t := s - c.Hi
		e += c.Lo + ((c.Hi - (s - t)) + (p - t))
		hi := s + e
		y[i] = Float{hi, e - (hi - s)}
	}
}

// Combine replaces the vectors x and y, of one length, by c·x − s·y and t·x + c·y: a rotation for
// s = t, and one of vectors that are scaled differently for other s and t. The errors are at most
// about 8u²·(|c·xᵢ| + |s·yᵢ|) and 8u²·(|t·xᵢ| + |c·yᵢ|).
func Combine(c, s, t Float, x, y []Float) {
	y = y[:len(x)]
	s = s.Neg()
	for i, a := range x {
		b := y[i]
		x[i] = combine(c, a, s, b)
		y[i] = combine(t, a, c, b)
	}
}

// combine returns c·a + s·b.
func combine(c, a, s, b Float) Float {
	p := float64(c.Hi * a.Hi)
	e := math.FMA(c.Hi, a.Lo, math.FMA(c.Lo, a.Hi, math.FMA(c.Hi, a.Hi, -p)))
	q := float64(s.Hi * b.Hi)
	f := math.FMA(s.Hi, b.Lo, math.FMA(s.Lo, b.Hi, math.FMA(s.Hi, b.Hi, -q)))
	h, r := TwoSum(p, q)
	h, r = FastTwoSum(h, e+f+r)
	return Float{h, r}
}
