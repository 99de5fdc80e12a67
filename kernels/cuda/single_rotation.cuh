// The Jacobi rotation of two columns of float32 whose norms are apart (docs/decisions/034-float32-pivots.md).
// Square roots and reciprocals are those of the hardware, good to some units of roundoff. They say which
// angle it is. That the rotation is one, sin φ and cos φ of one angle, gets a Newton step more.
#pragma once

#include "common.cuh"

__device__ inline float quick_reciprocal(float x)
{
	float y;
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

__device__ inline float quick_inverse_root(float x)
{
	float y;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

// Products of columns are multiplied by SCALE, so that squares of them are in the range. A column with a
// squared length below SHORTEST is made of rounding errors. It is rotated again when its length has gone into
// its norm. One that loses so much of its length in a sweep that its products become rounding errors is
// rotated again in the next.
constexpr float SCALE = 0x1p40f, SHORTEST = 0x1p-50f;

// A norm as rotations have it: its first 24 bits, always the same ones. So T' is as orthogonal as rotations
// are, whatever they are.
struct Norm {
	float mantissa;
	int key; // 256 times the exponent and, in what is left, whose norm it was before the sweep
	float least; // squared length of the column from which on it is rotated
};

// norm_of returns it for a column of a squared length, times SCALE.
__device__ inline Norm norm_of(double x, int column, float square)
{
	const u64 bits = (u64)__double_as_longlong(x);
	const float mantissa = __uint_as_float(0x3f800000u | ((unsigned)(bits >> 29) & 0x7fffffu));
	return {mantissa, (int)(bits >> 52) << 8 | column, fmaxf(0x1p-21f * square, SHORTEST * SCALE)};
}

// The ratio of the smaller of two norms to the larger, and whether the first is not the smaller.
struct Ratio {
	float ratio;
	bool wider;
};

__device__ inline Ratio ratio_of(const Norm &p, const Norm &q)
{
	const int e = (p.key >> 8) - (q.key >> 8), scale = 127 - abs(e);
	const bool wider = (e > 0) | ((e == 0) & (p.mantissa >= q.mantissa));
	const float high = wider ? p.mantissa : q.mantissa, low = wider ? q.mantissa : p.mantissa;
	const float y = quick_reciprocal(high), inverse = __fmaf_rn(y, __fmaf_rn(-high, y, 1), y);
	return {low * inverse * __uint_as_float(scale > 0 ? (unsigned)scale << 23 : 0), wider};
}

// A rotation of columns x, y: cos·x − back·y, sin·x + cos·y. Both become longer by error, relatively.
struct SingleRotation {
	float cos, sin, back, error;
	bool rotate, proper, swap;
};

// rotation_of forms the rotation of two columns with the squared lengths hpp, hqq and the product hpq. tol
// and cosine are squares: of the bounds of the cosines of pairs that are not rotated, and of those whose
// rotation is not proper. w is tan φ/ρ, ρ being the ratio of the norms.
__device__ inline SingleRotation rotation_of(float hpp, float hqq, float hpq, const Norm &p, const Norm &q,
					     float tol, float cosine)
{
	const Ratio norms = ratio_of(p, q);
	const float ratio = norms.ratio, square = ratio * ratio, twice = 2 * ratio * hpq;
	const float large = norms.wider ? hpp : hqq, small = norms.wider ? hqq : hpp;
	const float d = __fmaf_rn(square, small, -large), size = hpq * hpq, product = hpp * hqq;
	const bool left = norms.wider == (d > 0); // the left column is the shorter one
	SingleRotation r;
	r.rotate = (hpp >= p.least) & (hqq >= q.least) & (size > tol * product); // not for NaN
	r.proper = r.rotate & (size > cosine * product);
	r.swap = r.proper & left & (d != 0);
	const float inverse = quick_inverse_root(__fmaf_rn(d, d, twice * twice));
	const float cos2 = __fmaf_rn(0.5f * fabsf(d), inverse, 0.5f), part = hpq * inverse;
	const float y = quick_inverse_root(cos2), cos0 = cos2 * y, w = part * (y * y), tan = ratio * w;
	const float e = __fmaf_rn(-cos0, cos0 * __fmaf_rn(tan, tan, 1), 1), cos = __fmaf_rn(0.5f * cos0, e, cos0);
	const float sin = r.rotate ? (left ? w : -w) * cos : 0, other = square * sin;
	r.cos = r.rotate ? cos : 1;
	r.sin = norms.wider ? sin : other;
	r.back = norms.wider ? other : sin;
	r.error = 0.5f * __fmaf_rn(r.sin, r.back, __fmaf_rn(r.cos, r.cos, -1));
	return r;
}
