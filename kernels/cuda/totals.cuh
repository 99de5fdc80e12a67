// Sums over the blocks of a grid, of the upper triangles of matrices of order 64.
#pragma once

#include "householder.cuh"

constexpr int SIDE = 64, TRIANGLE = SIDE * (SIDE + 1) / 2, LD_SIDE = SIDE + 2;
constexpr int PANEL_THREADS = 512; // of a block

// upper returns where element (i,j), i ≤ j, of an upper triangle is.
__device__ inline int upper(int i, int j) { return j * (j + 1) / 2 + i; }

// Totals are what the blocks add up. Each block adds a share of the triangle, and tells it to all: so they
// meet twice. A block writes to a letter again only when all have told it what they have for the next sum,
// and have read those of the last.
struct Totals {
	Grid grid;
	Letter *letters; // share()·B·(B+1) for B blocks, and those of others()
	int thread;

	__device__ int blocks() const { return gridDim.x; }
	__device__ int share() const { return (TRIANGLE + blocks() - 1) / blocks(); }
	__device__ int begin() const { return blockIdx.x * share(); }
	// count returns how many numbers this block's share has; it may be below 0.
	__device__ int count() const { return min(share(), TRIANGLE - begin()); }

	// The letters are the parts of all blocks, for each share; the sums; and what else all are told in the
	// second meeting.
	__device__ Letter *sums() const { return letters + (i64)share() * blocks() * blocks(); }
	__device__ Letter *others() const { return sums() + share() * blocks(); }

	// give tells the others what this block has of a triangle, f, and collects their parts of its own share.
	// stage has room for share()·B numbers.
	__device__ void give(const double *f, double *stage)
	{
		const int share = this->share(), count = this->count(), all = share * blocks();
#pragma unroll 1
		for (int e = thread; e < TRIANGLE; e += PANEL_THREADS)
			grid.write(letters + ((i64)(e / share) * blocks() + blockIdx.x) * share + e % share, f[e]);
		const Letter *const mine = letters + (i64)begin() * blocks();
#pragma unroll 1
		for (int e = thread; e < all; e += 4 * PANEL_THREADS) {
			const Letter *from[4];
			double x[4];
#pragma unroll
			for (int k = 0; k < 4; k++) {
				const int at = e + k * PANEL_THREADS;
				from[k] = at < all && at % share < count ? mine + at : 0;
			}
			grid.read(from, x);
#pragma unroll
			for (int k = 0; k < 4; k++)
				if (from[k] != 0)
					stage[e + k * PANEL_THREADS] = x[k];
		}
		grid.meeting++;
		__syncthreads();
	}

	// take adds up this block's share, tells the sums, and collects all of them in f: the same bits in each
	// block. The meeting goes on.
	__device__ void take(double *f, const double *stage)
	{
		const int share = this->share(), count = this->count(), part = thread % 8;
#pragma unroll 1
		for (int k = thread / 8; k - thread / 8 < count; k += PANEL_THREADS / 8) {
			double sum = 0;
#pragma unroll 8
			for (int b = part; b < blocks(); b += 8)
				if (k < count)
					sum += stage[b * share + k];
			for (int distance = 4; distance > 0; distance /= 2)
				sum += __shfl_xor_sync(0xffffffff, sum, distance);
			if (part == 0 && k < count)
				grid.write(sums() + begin() + k, sum);
		}
		collect<(TRIANGLE + PANEL_THREADS - 1) / PANEL_THREADS>(sums(), TRIANGLE, [&](int e) { return f + e; });
	}

	// collect reads so many letters, K for each thread, into the places at(e).
	template <int K, class F> __device__ void collect(const Letter *letters, int count, F at)
	{
		const Letter *from[K];
		double x[K];
#pragma unroll
		for (int k = 0; k < K; k++) {
			const int e = thread + k * PANEL_THREADS;
			from[k] = e < count ? letters + e : 0;
		}
		grid.read(from, x);
#pragma unroll
		for (int k = 0; k < K; k++)
			if (from[k] != 0)
				*at(thread + k * PANEL_THREADS) = x[k];
	}
};
