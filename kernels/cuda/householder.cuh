// What the kernels that factor panels share: scales, and the numbers of a reflector.
#pragma once

#include "grid.cuh"

constexpr int LARGEST_SCALE = 1000; // exponent of the largest power of two that is used as a scale

__device__ inline double add(double x, double y) { return x + y; }
__device__ inline double larger(double x, double y) { return fmax(x, y); }

// scaling returns the e for which numbers of this size are multiplied by 2⁻ᵉ before they are squared.
__device__ inline int scaling(double size)
{
	return min(max(exponent(size), -LARGEST_SCALE), LARGEST_SCALE);
}

// inverse_root returns 1/√x, right to some u, where x and its inverse are normal numbers.
__device__ inline double inverse_root(double x)
{
	double r;
	asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x)); // to 2⁻²⁰
	const double e = __fma_rn(-x * r, r, 1);
	return __fma_rn(__fma_rn(0.375, e, 0.5) * e, r, r);
}

// inverse_of returns 1/x, right to some u, where x and its inverse are normal numbers.
__device__ inline double inverse_of(double x)
{
	double r;
	asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x)); // to 2⁻¹⁹
	const double e = __fma_rn(-x, r, 1);
	return __fma_rn(__fma_rn(e, e, e), r, r);
}

// root returns √x, given its inverse.
__device__ inline double root(double x, double inverse)
{
	const double y = x * inverse;
	return __fma_rn(__fma_rn(-y, y, x), 0.5 * inverse, y);
}

// warp_total combines x[k] over the warp, and returns that of k = lane/(32/S): the same bits in all those
// lanes.
template <int S, class F> __device__ double warp_total(double (&x)[S], F combine)
{
	const int lane = threadIdx.x % 32;
	int distance = 16;
#pragma unroll
	for (int left = S; left > 1; left /= 2, distance /= 2)
#pragma unroll
		for (int k = 0; k < left / 2; k++) {
			const bool upper = lane & distance;
			const double sent = upper ? x[k] : x[k + left / 2], kept = upper ? x[k + left / 2] : x[k];
			x[k] = combine(kept, __shfl_xor_sync(0xffffffff, sent, distance));
		}
#pragma unroll
	for (; distance > 0; distance /= 2)
		x[0] = combine(x[0], __shfl_xor_sync(0xffffffff, x[0], distance));
	return x[0];
}

// A Reflector I − τ·v·vᵀ turns a scaled column into β and zeros. The elements of v are `inverse` times those
// of the column, but for the first one, which is 1.
struct Reflector {
	double beta, tau, inverse;
};

// reflector returns that of a column that begins with alpha. rest is the sum of the squares of the others.
// The sum of all squares is in range. τ = 0 stands for the identity.
__device__ inline Reflector reflector(double alpha, double rest)
{
	if (rest == 0)
		return {alpha, 0, 0};
	const double square = __fma_rn(alpha, alpha, rest), r = inverse_root(square), norm = root(square, r);
	return {-copysign(norm, alpha), __fma_rn(fabs(alpha), r, 1), __drcp_rn(alpha + copysign(norm, alpha))};
}
