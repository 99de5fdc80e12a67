package kernels

import "math"

// TwoSum returns a + b and its rounding error, exactly ([Knu97], 4.2.2, theorem B).
func TwoSum(a, b float64) (sum, e float64) {
	sum = a + b
	t := sum - a
	return sum, (a - (sum - t)) + (b - t)
}

// AddTwice does high + low ← high + low + f·c in twice the working precision ([ORO05], Dot2). The
// slices have the same length.
func AddTwice(high, low []float64, f float64, c []float64) {
	for i, e := range c {
		p := f * e
		s, d := TwoSum(high[i], p)
		high[i], low[i] = s, low[i]+d+math.FMA(f, e, -p)
	}
}
