package dd

import "math"

// Dot and Axpy are written out because speed matters, and add with fewer operations than
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
