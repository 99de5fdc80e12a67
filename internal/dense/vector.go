package dense

import (
	"math"

	"jmpi/kernels"
)

// Ldexp does x ← 2^e·x, which is exact but for what leaves the range.
func Ldexp(x []float64, e int) {
	if f := math.Ldexp(1, e); f > 0 && !math.IsInf(f, 0) {
		Scale(x, f)
		return
	}
	for i := range x {
		x[i] = math.Ldexp(x[i], e)
	}
}

// Scale does x ← f·x.
func Scale(x []float64, f float64) {
	for i := range x {
		x[i] *= f
	}
}

// Negate does x ← −x.
func Negate(x []float64) {
	for i := range x {
		x[i] = -x[i]
	}
}

// Normalize gives x norm 1, unless it is zero.
func Normalize(x []float64) {
	norm := kernels.Norm2(x)
	if norm == 0 {
		return
	}
	for i := range x {
		x[i] /= norm
	}
}

// LeadsNegative tells whether the first entry of largest magnitude is negative.
func LeadsNegative(x []float64) bool { return Lead(x) < 0 }

// Lead returns the first entry of largest magnitude, 0 if all are zero.
func Lead(x []float64) float64 {
	largest, lead := 0.0, 0.0
	for _, e := range x {
		if a := math.Abs(e); a > largest {
			largest, lead = a, e
		}
	}
	return lead
}
