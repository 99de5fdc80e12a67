// Package dd is double-double arithmetic: a number is the unevaluated sum of two float64,
// hi + lo with |lo| ≤ ½ulp(hi), which carries at least 106 significant bits, about 31 decimal
// digits, in the exponent range of float64.
//
// It rests on two error-free transformations. For float64 a and b, rounding to nearest,
//
//	TwoSum:  s = fl(a+b),  e = a + b − s   is a float64, got with 6 additions
//	TwoProd: p = fl(a·b),  e = a·b − p     is a float64, got with one product and one FMA
//
// and every operation here is a short sequence of them. With u = 2⁻⁵³ the relative errors are
// at most 3u² for [Float.Add] and [Float.Sub], 4u² for [Float.Mul], 15u² for [Float.Div] and
// 4u² for [Float.Sqrt] to first order, as long as nothing overflows and no low part
// underflows: operands and results between 1e-290 and 1e290 in magnitude are safe.
// Infinities and NaN give NaN.
//
// The test matrices of package gen are computed with it, in the place of the quadruple precision of [Nov15,
// §6].
//
// Sources: M. Joldes, J.-M. Muller, V. Popescu, Tight and rigorous error bounds for basic
// building blocks of double-word arithmetic, ACM Trans. Math. Softw. 44 (2017) 15res;
// T. J. Dekker, A floating-point technique for extending the available precision,
// Numer. Math. 18 (1971) 224–242.
//
// No product may be fused with an addition where that is not written: every product is a
// math.FMA or stands alone in a float64 conversion, so the results are the same on every machine.
package dd
