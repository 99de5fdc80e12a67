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

// A Reflector I − τ·v·vᵀ turns a scaled column into β and zeros. The elements of v are `inverse` times those
// of the column, but for the first one, which is 1.
struct Reflector {
	double beta, tau, inverse;
};

// reflector returns that of a column that begins with alpha; rest is the sum of the squares of the others. The
// squares of both are in range. τ = 0 stands for the identity.
__device__ inline Reflector reflector(double alpha, double rest)
{
	if (rest == 0)
		return {alpha, 0, 0};
	const double square = __fma_rn(alpha, alpha, rest), r = rsqrt(square), root = square * r;
	const double norm = __fma_rn(__fma_rn(-root, root, square), 0.5 * r, root);
	return {-copysign(norm, alpha), __fma_rn(fabs(alpha), r, 1), __drcp_rn(alpha + copysign(norm, alpha))};
}
