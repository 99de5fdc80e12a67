package kernels

import "math"

// Norm2 returns ‖x‖₂, free of overflow and underflow wherever the norm itself is representable. It is
// DRDSSQ of [Nov15, App. A]: with M = max|xᵢ| and m = min over xᵢ ≠ 0 of |xᵢ|, the plain sum of squares if
// neither M² can overflow nor m² underflow. Otherwise the values too large and too small are scaled by
// powers of two of their own, and the partial sums added from the smallest. The result is NaN if x has a
// NaN, else +Inf if x has an infinity.
func Norm2(x []float64) float64 {
	largest, smallest := extremes(x)
	switch {
	case largest == 0:
		return 0
	case !(largest <= math.MaxFloat64):
		return largest // +Inf or NaN
	case smallest >= lowSafe && largest <= highSafe(len(x)):
		return math.Sqrt(allSquares(x))
	}
	return scaledNorm(x, largest, smallest)
}

// lowSafe is μ̃ = √μ rounded up to a power of two, μ = 2⁻¹⁰²² the smallest normal number.
const lowSafe = 0x1p-511

// highSafe is a power of two at or below ν̂: n squares of numbers up to it do not overflow when summed.
func highSafe(n int) float64 {
	_, e := math.Frexp(float64(n)) // n < 2ᵉ
	return math.Ldexp(1, (1022-e)/2)
}

// extremes returns max|xᵢ| (NaN if there is one) and the smallest |xᵢ| that is not zero. The bits of numbers
// without their sign are in the order of the numbers, NaN last; those of 0 less one come last too.
func extremes(x []float64) (largest, smallest float64) {
	const sign = 1 << 63
	m0, m1, l0, l1 := uint64(0), uint64(0), uint64(math.MaxUint64), uint64(math.MaxUint64)
	for ; len(x) >= 2; x = x[2:] {
		b0, b1 := math.Float64bits(x[0])&^sign, math.Float64bits(x[1])&^sign
		m0, m1, l0, l1 = max(m0, b0), max(m1, b1), min(l0, b0-1), min(l1, b1-1)
	}
	for _, v := range x {
		b := math.Float64bits(v) &^ sign
		m0, l0 = max(m0, b), min(l0, b-1)
	}
	if smallest = math.Inf(1); min(l0, l1) < math.MaxUint64 {
		smallest = math.Float64frombits(min(l0, l1) + 1)
	}
	return math.Float64frombits(max(m0, m1)), smallest
}

// allSquares returns Σxᵢ², with the bits of sumSquares.
func allSquares(x []float64) float64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for ; len(x) >= 8; x = x[8:] {
		s0, s1 = math.FMA(x[0], x[0], s0), math.FMA(x[1], x[1], s1)
		s2, s3 = math.FMA(x[2], x[2], s2), math.FMA(x[3], x[3], s3)
		s4, s5 = math.FMA(x[4], x[4], s4), math.FMA(x[5], x[5], s5)
		s6, s7 = math.FMA(x[6], x[6], s6), math.FMA(x[7], x[7], s7)
	}
	s := [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	for l, v := range x {
		s[l] = math.FMA(v, v, s[l])
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// sumSquares returns Σ(scale·xᵢ)² over low ≤ |xᵢ| < high, in eight interleaved partial sums
// that are added pairwise: the summation tree does not depend on the machine.
func sumSquares(x []float64, scale, low, high float64) float64 {
	var s [8]float64
	for len(x) >= 8 {
		for l, v := range x[:8:8] {
			s[l] = addSquare(s[l], v, scale, low, high)
		}
		x = x[8:]
	}
	for l, v := range x {
		s[l] = addSquare(s[l], v, scale, low, high)
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

func addSquare(sum, v, scale, low, high float64) float64 {
	if a := math.Abs(v); a < low || a >= high {
		return sum
	}
	v *= scale
	return math.FMA(v, v, sum)
}

// scaledNorm splits x into small, middle and large values. The partial norms are kept as y·2ᵉ with the
// same e, that of the largest value, so the final sum can lose only what does not count.
func scaledNorm(x []float64, largest, smallest float64) float64 {
	high := highSafe(len(x))
	bins := []struct {
		low, high float64
		exponent  int // the values of the bin are multiplied by 2^exponent
	}{
		{0, lowSafe, 600}, // up to 2⁸⁹, down to 2⁻⁴⁷⁴
		{lowSafe, high, 0},
		{high, math.Inf(1), -600}, // down to 2⁻¹³⁶ at least, up to 2⁴²⁴
	}
	_, top := math.Frexp(largest)
	var sum float64
	for _, b := range bins {
		if largest < b.low || smallest >= b.high {
			continue
		}
		part := math.Sqrt(sumSquares(x, math.Ldexp(1, b.exponent), b.low, b.high))
		part = math.Ldexp(part, -b.exponent-top) // relative to 2^top: at most √n
		sum = math.FMA(part, part, sum)
	}
	return math.Ldexp(math.Sqrt(sum), top)
}
