// The Jacobi rotation of two columns of float32 whose norms are apart (docs/decisions/034-float32-pivots.md).
// Square roots and reciprocals are those of the hardware, good to some units of roundoff. They say which
// angle it is. That the rotation is one, sin φ and tan(φ/2) of one angle, gets a Newton step more.
#pragma once

#include "turn.cuh"

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

// quick_root is √x for x ≥ 2⁻¹²⁶, and NaN for 0.
__device__ inline float quick_root(float x) { return x * quick_inverse_root(x); }

__device__ inline float reciprocal(float x)
{
	const float y = quick_reciprocal(x);
	return __fmaf_rn(y, __fmaf_rn(-x, y, 1), y);
}

__device__ inline float inverse_root(float x)
{
	const float y = quick_inverse_root(x);
	return __fmaf_rn(0.5f * y, __fmaf_rn(-x * y, y, 1), y);
}

// The ratio of the smaller of two norms to the larger, and whether the first is not the smaller. A
// norm counts with its first 24 bits, always the same ones. So T' is as orthogonal as rotations
// are, whatever they are.
struct Ratio {
	float ratio;
	bool wider;
};

__device__ inline Ratio ratio_of(double p, double q)
{
	const u64 a = (u64)__double_as_longlong(p), b = (u64)__double_as_longlong(q);
	const bool wider = a >= b;
	const u64 high = wider ? a : b, low = wider ? b : a;
	const auto mantissa = [](u64 x) {
		return __uint_as_float(0x3f800000u | ((unsigned)(x >> 29) & 0x7fffffu));
	};
	const int e = 127 + (int)(low >> 52) - (int)(high >> 52);
	const float scale = __uint_as_float(e > 0 ? (unsigned)e << 23 : 0);
	const float y = reciprocal(mantissa(high)), x = mantissa(low), quotient = x * y;
	return {__fmaf_rn(__fmaf_rn(-mantissa(high), quotient, x), y, quotient) * scale, wider};
}

// SHORTEST is the square of the length of a column from which on it is rotated. Below, what it is made of are
// rounding errors, far below 2⁻²². It is rotated again when its length has gone into its norm.
constexpr float SHORTEST = 0x1p-100f;

// What is done to two columns: whether they are rotated, whether the rotation is proper, and whether they are
// swapped then. delta is the difference of their squared norms, over the square of the larger norm before.
struct Choice {
	float delta;
	bool rotate, proper, swap;
};

// choose chooses it for two columns with the squared lengths hpp, hqq and the product hpq. tol and cosine
// bound the cosines of pairs that are not rotated, and of those whose rotation is not proper.
__device__ inline Choice choose(float hpp, float hqq, float hpq, Ratio norms, float tol, float cosine)
{
	const float size = fabsf(hpq), product = quick_root(hpp) * quick_root(hqq);
	const float square = norms.ratio * norms.ratio;
	Choice c;
	c.delta = norms.wider ? __fmaf_rn(square, hqq, -hpp) : __fmaf_rn(-square, hpp, hqq);
	c.rotate = fminf(hpp, hqq) >= SHORTEST && size > tol * product; // not for NaN
	c.proper = c.rotate && size > cosine * product;
	c.swap = c.proper && c.delta > 0;
	return c;
}

// A rotation of columns x, y: x' = x − back·(y + tau·x), y' = y + sin·(x − over·y); nothing if rotate is not
// set. pp and qq are the squared lengths of columns p and q after it.
struct SingleRotation {
	float sin, tau, back, over, pp, qq;
	bool rotate, swap;

	// cancels tells whether pp and qq are not known well enough; left and right are what they were before.
	__device__ bool cancels(float left, float right) const
	{
		return (swap ? qq : pp) < 0.5f * left || (swap ? pp : qq) < 0.5f * right;
	}
};

// rotation_of forms the rotation that was chosen, by w = tan φ/ρ, ρ being the ratio of the norms.
__device__ inline SingleRotation rotation_of(float hpp, float hqq, float hpq, Ratio norms, const Choice &c)
{
	const float twice = fabsf(hpq) + fabsf(hpq), ratio = norms.ratio, square = ratio * ratio;
	const float cot = fminf(fabsf(c.delta) * quick_reciprocal(twice), 0x1p62f); // ρ·cot 2φ
	const float size = quick_reciprocal(cot + quick_root(__fmaf_rn(cot, cot, square)));
	const float signed_w = (c.delta < 0) == (hpq < 0) ? size : -size, w = c.rotate ? signed_w : 0,
			tan = ratio * w;
	const float cos = inverse_root(__fmaf_rn(tan, tan, 1)), sin = w * cos, tau = sin * reciprocal(1 + cos);
	const float sin2 = square * sin, tau2 = square * tau, less = w * hpq, least = square * less;
	SingleRotation r;
	r.rotate = c.rotate;
	r.swap = c.swap;
	r.sin = norms.wider ? sin : sin2;
	r.back = norms.wider ? sin2 : sin;
	r.tau = norms.wider ? tau : tau2;
	r.over = norms.wider ? tau2 : tau;
	const float pp = hpp - (norms.wider ? least : less), qq = hqq + (norms.wider ? less : least);
	r.pp = r.swap ? qq : pp;
	r.qq = r.swap ? pp : qq;
	return r;
}

// turn_of returns what a rotation does, of columns that are swapped before if it swaps them. The results are
// those of the rotation, swapped after.
__device__ inline Turn<float> turn_of(float sin, float tau, float back, float over, bool swap)
{
	return swap ? Turn<float>{sin, -over, -back, tau} : Turn<float>{-back, tau, sin, -over};
}
