// What a Jacobi rotation does to two columns, and sums over the lanes of a warp. E is double or float.
#pragma once

#include "common.cuh"

// scatter_sum returns in lane l the sum of x[l mod 8] over all lanes.
template <class E> __device__ inline E scatter_sum(const E x[8])
{
	const int lane = threadIdx.x % 32;
	E y[4], z[2];
#pragma unroll
	for (int i = 0; i < 4; i++)
		y[i] = (lane & 4 ? x[i + 4] : x[i]) + __shfl_xor_sync(0xffffffff, lane & 4 ? x[i] : x[i + 4], 4);
#pragma unroll
	for (int i = 0; i < 2; i++)
		z[i] = (lane & 2 ? y[i + 2] : y[i]) + __shfl_xor_sync(0xffffffff, lane & 2 ? y[i] : y[i + 2], 2);
	E sum = (lane & 1 ? z[1] : z[0]) + __shfl_xor_sync(0xffffffff, lane & 1 ? z[0] : z[1], 1);
	sum += __shfl_xor_sync(0xffffffff, sum, 8);
	return sum + __shfl_xor_sync(0xffffffff, sum, 16);
}

// What a rotation does to a row of two columns: x + a·(y + b·x), y + c·(x + d·y).
template <class E> struct alignas(16) Turn {
	E a, b, c, d;
};

// turn_of returns the turn by sin φ and tan(φ/2), both with the opposite sign where the columns are swapped
// before. kind is 𝔱 of kernels.Kind. The results are those of kernels.Turn.Rotate, swapped after.
__device__ inline Turn<double> turn_of(double sin, double tau, double kind)
{
	return {-kind * sin, tau, sin, -kind * tau};
}

// rotate applies a turn to a row of two columns, which are swapped before if they are to be.
__device__ inline void rotate(double &left, double &right, const Turn<double> &turn, bool swap)
{
	const double x = swap ? right : left, y = swap ? left : right;
	const double u = __fma_rn(turn.b, x, y), v = __fma_rn(turn.d, y, x);
	left = __fma_rn(turn.a, u, x);
	right = __fma_rn(turn.c, v, y);
}
