// Division by upper triangular matrices of order 64, by the threads of a block together. Each has a row, or
// one of each 64 rows, and eight columns, which follow each other.
#pragma once

#include "totals.cuh"

constexpr int GROUP = 8, GROUPS = SIDE / GROUP; // of columns
static_assert(PANEL_THREADS == SIDE * GROUPS, "");

__device__ inline int row_of(int thread) { return thread % SIDE; }
__device__ inline int group_of(int thread) { return thread / SIDE; }

// read8 reads numbers that follow each other, at a multiple of 16 bytes.
__device__ inline void read8(double (&x)[GROUP], const double *from)
{
#pragma unroll
	for (int c = 0; c < GROUP; c += 2) {
		const double2 two = *(const double2 *)(from + c);
		x[c] = two.x;
		x[c + 1] = two.y;
	}
}

// divide does X ← X·U⁻¹ for the rows of X, of which this thread has elements x, and leaves X in columns of
// `a` too. u has the rows of U.
template <int K>
__device__ inline void divide(double (&x)[K][GROUP], double *a, int ld, const double (&u)[SIDE][LD_SIDE],
			      const double *inverse, int thread)
{
	const int i = row_of(thread), group = group_of(thread), j0 = group * GROUP;
#pragma unroll 1
	for (int b = 0; b < GROUPS; b++) {
		const int p = GROUP * b;
		if (group == b)
#pragma unroll
			for (int q = 0; q < GROUP; q++)
#pragma unroll
				for (int k = 0; k < K; k++) {
					x[k][q] *= inverse[p + q];
					a[(p + q) * ld + i + k * SIDE] = x[k][q];
#pragma unroll
					for (int c = q + 1; c < GROUP; c++)
						x[k][c] = __fma_rn(-x[k][q], u[p + q][p + c], x[k][c]);
				}
		__syncthreads();
		if (group > b)
#pragma unroll
			for (int q = 0; q < GROUP; q++) {
				double y[K], z[GROUP];
				read8(z, u[p + q] + j0);
#pragma unroll
				for (int k = 0; k < K; k++)
					y[k] = a[(p + q) * ld + i + k * SIDE];
#pragma unroll
				for (int c = 0; c < GROUP; c++)
#pragma unroll
					for (int k = 0; k < K; k++)
						x[k][c] = __fma_rn(-y[k], z[c], x[k][c]);
			}
	}
}
