// What [P Q] is multiplied by in float32, [Nov15, Alg. 4.2]: W = T for G, and T or D⁻¹TD' for V. As in
// multiply.cu the identity is taken out of the columns of W that are near it.
#pragma once

#include "common.cuh"

// element returns element (i,j) of W. A column that was zero has been left alone. One whose norm has fallen
// below the range has some norm.
__device__ inline float element(const SingleProblem &b, bool weighed, i64 i, i64 j)
{
	const float t = b.t[i + j * b.ldt];
	if (!weighed || t == 0)
		return t;
	const double before = i < b.g.np ? b.norms_p[i] : b.norms_q[i - b.g.np];
	const double own = j < b.g.np ? b.norms_p[j] : b.norms_q[j - b.g.np];
	const double rows = before == 0 ? 1 : 1 / before, columns = own == 0 ? 1 : fmax(b.factors[j], 0x1p-1022);
	return (float)(t * (rows * columns));
}

// prepare puts rows i0 ≤ i < i1 of column j of W of a problem where put(i, w, near) says. A warp calls it.
template <class F>
__device__ inline void prepare(const SingleProblem &b, bool v, int i0, int i1, int j, F put)
{
	const int lane = threadIdx.x % 32;
	bool some = j >= b.k || v; // of column j of R is not zero
	for (i64 i = lane; i < b.k && !some; i += 128)
#pragma unroll
		for (i64 l = i; l < i + 128; l += 32)
			some |= l < b.k && b.r[l + j * b.ldr] != 0;
	const bool zero = !__any_sync(0xffffffff, some);
	const bool weighed = v && !b.scaled, near = j < b.k && !zero && element(b, weighed, j, j) >= 0.5f;
	for (int i = i0 + lane; i < i1; i += 32) {
		float w = i < b.k && j < b.k && !zero ? element(b, weighed, i, j) : 0;
		if (i == j && near)
			w -= 1;
		put(i, w, near);
	}
}

// replace_norms sets Norms to Factors in the problems that were changed.
__device__ inline void replace_norms(const SingleProblem &b)
{
	for (i64 j = threadIdx.x; j < b.k; j += blockDim.x)
		(j < b.g.np ? b.norms_p[j] : b.norms_q[j - b.g.np]) = b.factors[j];
}
