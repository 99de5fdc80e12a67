// The Jacobi rotation of a pair of columns, [Nov15, (4.1)–(4.5)], with the bits that package kernels gives
// it.
#pragma once

#include "common.cuh"

// A rotation, as kernels.Kind.Rotation has it; pp and qq are the squared norms of columns p and q after it.
// cos φ may be wrong in its last digit.
struct Rotation {
	double cos, sin, tau, pp, qq;
	bool rotate, proper, open, idle, swap, degenerate;

	// cancels tells whether pp and qq are not known well enough; least is the smaller one before.
	__device__ bool cancels(double least) const
	{
		return rotate && (degenerate || fmin(pp, qq) < 0.5 * least);
	}
};

// What the signs of columns p < q ask for: 𝔱 of kernels.Kind, and whether h'pp ≥ h'qq (1), h'pp ≤ h'qq (−1)
// or nothing (0) is the order.
struct Signs {
	double kind, order;
};

__device__ inline Signs signs_of(int p, int q, int positive)
{
	const int minus_p = p >= positive, minus_q = q >= positive;
	return {minus_p == minus_q ? 1.0 : -1.0, 1.0 - minus_p - minus_q};
}

// Division and square root as the processor has them, for any operands.
struct General {
	static __device__ double divide(double x, double y) { return x / y; }
	static __device__ double reciprocal(double x) { return 1.0 / x; }
	static __device__ double root(double x) { return sqrt(x); }
	static __device__ double root(double x, double &inverse)
	{
		inverse = 1.0 / sqrt(x);
		return sqrt(x);
	}
};

// LEAST and MOST bound the squared norms that Ordinary is for. Where a pair is rotated,
// |hpq| > 2⁻⁵³·√hpp·√hqq then bounds all intermediate results to 2^±800.
constexpr double LEAST = 0x1p-400, MOST = 0x1p1000;

// The same for operands and results far from over- and underflow: correctly rounded, by the same Newton
// steps, but without branches, so that independent ones overlap.
struct Ordinary {
	static __device__ double inverse(double x, int low)
	{
		double y;
		asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
		y = __hiloint2double(__double2hiint(y), low);
		double e = __fma_rn(-x, y, 1.0);
		y = __fma_rn(y, __fma_rn(e, e, e), y);
		e = __fma_rn(-x, y, 1.0);
		return __fma_rn(y, e, y);
	}
	static __device__ double divide(double x, double y)
	{
		const double r = inverse(y, 1), q = x * r;
		return __fma_rn(r, __fma_rn(-y, q, x), q);
	}
	static __device__ double reciprocal(double x) { return inverse(x, __double2hiint(x) + 0x300402); }
	static __device__ double root(double x)
	{
		double y;
		return root(x, y);
	}
	// root also returns the inverse, which may be wrong in its last digit.
	static __device__ double root(double x, double &y)
	{
		asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
		y = __hiloint2double(__double2hiint(y), __double2hiint(x) - 0x3500000);
		const double e = __fma_rn(x, -(y * y), 1.0);
		y = __fma_rn(__fma_rn(e, 0.375, 0.5), e * y, y);
		const double s = x * y;
		return __fma_rn(__fma_rn(s, -s, x), 0.5 * y, s);
	}
};

// rotation_by is kernels.NeedsRotation, Kind.Rotation and Diagonal, bit for bit.
template <class Arithmetic>
__device__ inline Rotation rotation_by(double hpp, double hqq, double hpq, double tol, Signs signs)
{
	const double np = Arithmetic::root(hpp), nq = Arithmetic::root(hqq), size = fabs(hpq), kind = signs.kind;
	double cot2 = 0.5 * Arithmetic::divide(__fma_rn(-kind, hpp, hqq), hpq), a = fabs(cot2);
	const bool degenerate = kind < 0 && a <= 1.0;
	a = degenerate ? 1.25 : a;
	cot2 *= kind;
	const double root = Arithmetic::root(__fma_rn(a, a, kind)), cot = a + (a < 0x1p27 ? root : a);
	const double tan = copysign(Arithmetic::reciprocal(cot), cot2);
	double cos;
	const double s = Arithmetic::root(__fma_rn(kind * tan, tan, 1.0), cos);
	const double sin = Arithmetic::divide(tan, s), tau = Arithmetic::divide(tan, 1.0 + s);
	const double norms = np * nq;
	const bool large = __fma_rn(-kind * sin, tau, 1.0) != 1.0;
	const double dpp = __fma_rn(-kind * tan, hpq, hpp), dqq = __fma_rn(tan, hpq, hqq);
	Rotation r;
	r.rotate = hpp >= 0x1p-1022 && hqq >= 0x1p-1022 && size > tol * np * nq;
	r.cos = r.rotate ? cos : 1;
	r.sin = r.rotate ? sin : 0;
	r.tau = r.rotate ? tau : 0;
	r.degenerate = r.rotate && degenerate;
	r.open = r.rotate && size > 0x1p-48 * norms;
	r.proper = (large && r.open) || (r.rotate && size > 0x1p-26 * norms);
	r.idle = r.rotate && large && !r.open;
	r.swap = r.proper && signs.order * dpp < signs.order * dqq;
	r.pp = r.swap ? dqq : dpp;
	r.qq = r.swap ? dpp : dqq;
	return r;
}

// any_rotation is rotation_by for any operands, a function of its own, so that the code beside it is short.
__device__ __noinline__ Rotation any_rotation(double hpp, double hqq, double hpq, double tol, Signs signs)
{
	return rotation_by<General>(hpp, hqq, hpq, tol, signs);
}

// QUICK_LEAST and QUICK_MOST bound the squared norms that quick_rotation is for, times QUICK_SCALE. Squares
// of products of such columns neither over- nor underflow, unless the columns are orthogonal.
constexpr double QUICK_SCALE = 0x1p-500, QUICK_LEAST = 0x1p-424, QUICK_MOST = 0x1p484;

// newton returns 1/√x, but for its last digit, if y is about that.
__device__ inline double newton(double x, double y)
{
	const double e = __fma_rn(x, -(y * y), 1.0);
	return __fma_rn(__fma_rn(e, 0.375, 0.5), e * y, y);
}

__device__ inline double rough_inverse_root(double x)
{
	double y;
	asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
	return y;
}

__device__ inline double rough_reciprocal(double x)
{
	double y;
	asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
	return y;
}

// A rotation as quick_rotation has it: cos φ, negative if the columns are swapped, and sin φ.
struct QuickRotation {
	double cos, sin;
	bool rotate, proper, open, idle, swap, degenerate;
	bool cancels; // a column loses more than half of its squared norm, or the rotation is degenerate
};

// quick_rotation is rotation_by but for rounding errors. Its chain of operations is short: with
// d = hqq − 𝔱·hpp and w = √(d² + 4𝔱·hpq²), cos²φ = (1 + |d|/w)/2 and sin φ·cos φ = ±hpq/w. So tan φ is
// known after an inverse square root and a reciprocal. cos φ is made the one that belongs to tan φ, by a
// Newton step. The squared norm of the shorter column loses |tan φ·hpq|; of different signs both do. MIXED:
// there are columns with sign −1.
template <bool MIXED>
__device__ inline QuickRotation quick_rotation(double hpp, double hqq, double hpq, double tol, Signs signs)
{
	const double kind = MIXED ? signs.kind : 1, twice = hpq + hpq, square = twice * twice, norms = hpp * hqq;
	const double d = MIXED ? __fma_rn(-kind, hpp, hqq) : hqq - hpp;
	const bool left = !(d < 0); // of equal signs: the left column is the shorter one, or both are as long
	double a = fabs(d);
	bool degenerate = false;
	if (MIXED) {
		degenerate = kind < 0 && a <= fabs(twice);
		a = degenerate ? 1.25 * fabs(twice) : a;
	}
	const double w = MIXED ? __fma_rn(kind, square, a * a) : __fma_rn(twice, twice, a * a);
	const double inverse = newton(w, rough_inverse_root(w));
	const double cos2 = __fma_rn(0.5 * a, inverse, 0.5), cos0 = cos2 * rough_inverse_root(cos2);
	const double y = rough_reciprocal(cos2), e = __fma_rn(-cos2, y, 1.0);
	const double size = hpq * inverse * __fma_rn(y, __fma_rn(e, e, e), y);
	const double tan = left == (kind > 0) ? size : -size;
	const double cos = newton(__fma_rn(MIXED ? kind * tan : tan, tan, 1.0), cos0), loss = fabs(tan * twice);
	const bool large = fabs(tan) > (MIXED && kind < 0 ? 0x1p-26 : 0x1.6a09e667f3bcdp-27); // cos φ is not 1
	QuickRotation r;
	r.rotate = square > 4 * tol * tol * norms;
	r.degenerate = r.rotate && degenerate;
	r.open = r.rotate && square > 0x1p-94 * norms;
	r.proper = (large && r.open) || (r.rotate && square > 0x1p-50 * norms);
	r.idle = r.rotate && large && !r.open;
	r.swap = r.proper && (MIXED ? signs.order > 0 ? left : signs.order < 0 && !left : left);
	r.cancels = r.rotate && (degenerate || loss > hpp || loss > hqq);
	r.cos = r.rotate ? r.swap ? -cos : cos : 1;
	r.sin = r.rotate ? tan * cos : 0;
	return r;
}
