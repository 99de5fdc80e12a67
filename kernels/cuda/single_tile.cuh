// A tile of 64×64 elements of a product of float32, by ordinary multiply-adds. A block of 256 threads forms
// it, a thread 4×4 elements. Each element is one sequence of operations that depends on its row and its
// column alone.
#pragma once

#include "common.cuh"

constexpr int TILE = 64, DEPTH = 16; // of a tile, and of the part of its operands that is in shared memory
constexpr int TILE_LD = TILE + 4;

// Operands are the part of two matrices that is in shared memory, row l of the inner dimension after row l−1.
struct Operands {
	float left[DEPTH][TILE_LD], right[DEPTH][TILE_LD];
};

// In which direction an operand lies in memory: along the inner dimension, or across it.
enum Direction { ALONG, ACROSS };

// load puts elements of 64 rows or columns into shared memory; element(l, i) gives one.
template <Direction DIRECTION, class F> __device__ inline void load(float (&to)[DEPTH][TILE_LD], F element)
{
	for (int e = threadIdx.x; e < TILE * DEPTH; e += 256) {
		const int l = DIRECTION == ALONG ? e % DEPTH : e / TILE, i = DIRECTION == ALONG ? e / DEPTH : e % TILE;
		to[l][i] = element(l, i);
	}
}

struct SingleTile {
	float sum[4][4];

	// add adds the product of two matrices of inner dimension `count`. left(l, i) and right(l, j) give their
	// elements, 0 where there is none.
	template <Direction LEFT, class L, class R> __device__ void add(Operands &s, i64 count, L left, R right)
	{
		const int i = threadIdx.x % 16 * 4, j = threadIdx.x / 16 * 4;
		for (i64 first = 0; first < count; first += DEPTH) {
			__syncthreads();
			load<LEFT>(s.left, [&](int l, int i) { return left(first + l, i); });
			load<ALONG>(s.right, [&](int l, int j) { return right(first + l, j); });
			__syncthreads();
#pragma unroll
			for (int l = 0; l < DEPTH; l++) {
				const float4 x = *(const float4 *)&s.left[l][i], y = *(const float4 *)&s.right[l][j];
				const float a[4] = {x.x, x.y, x.z, x.w}, b[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
				for (int p = 0; p < 4; p++)
#pragma unroll
					for (int q = 0; q < 4; q++)
						sum[p][q] = __fmaf_rn(a[p], b[q], sum[p][q]);
			}
		}
	}

	__device__ void add(const SingleTile &other)
	{
#pragma unroll
		for (int p = 0; p < 4; p++)
#pragma unroll
			for (int q = 0; q < 4; q++)
				sum[p][q] += other.sum[p][q];
	}

	// each calls f(row, column, element) for the thread's elements.
	template <class F> __device__ void each(F f) const
	{
#pragma unroll
		for (int q = 0; q < 4; q++)
#pragma unroll
			for (int p = 0; p < 4; p++)
				f(threadIdx.x % 16 * 4 + p, threadIdx.x / 16 * 4 + q, sum[p][q]);
	}
};
