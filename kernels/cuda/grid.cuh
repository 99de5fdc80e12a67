// Sums and maxima over all blocks of a grid whose blocks run at the same time (a cooperative launch).
#pragma once

#include "common.cuh"

// A Grid is what the blocks meet at. `partial` has room for 2·quantities numbers of each block. Meetings use
// its halves in turn: a block writes to a half again only after the next meeting, to which each block comes
// when it has read that half.
struct Grid {
	double *partial;
	u64 *met; // how many blocks have come to all meetings so far; 0 at the start
	u64 meetings;
	int quantities;

	__device__ double *half() const
	{
		return partial + (meetings & 1) * quantities * gridDim.x;
	}

	// publish says what this block has of a quantity. One thread of the block does it.
	__device__ void publish(int quantity, double x) { half()[quantity * gridDim.x + blockIdx.x] = x; }

	// combine puts the first `count` quantities, combined over the blocks in a fixed order, into the shared
	// array `result`: the same bits in all blocks. combine(0, …) is the neutral element, in any order.
	// All threads of all blocks call it, in warps.
	template <class F> __device__ void combine(double *result, int count, F add)
	{
		const double *from = half();
		meetings++;
		meet();
		const int lane = threadIdx.x % 32;
		for (int q = threadIdx.x / 32; q < count; q += blockDim.x / 32) {
			double x = 0;
			for (int b = lane; b < gridDim.x; b += 32)
				x = add(x, __ldcg(from + q * gridDim.x + b)); // other multiprocessors wrote it: not from L1
			for (int distance = 16; distance > 0; distance /= 2)
				x = add(x, __shfl_xor_sync(0xffffffff, x, distance));
			if (lane == 0)
				result[q] = x;
		}
		__syncthreads();
	}

private:
	// meet waits for all blocks. What a thread of any block wrote before, all threads can read after.
	__device__ void meet()
	{
		__syncthreads();
		if (threadIdx.x == 0) {
			__threadfence();
			atomicAdd(met, 1ull);
			for (u64 now = 0; now < meetings * gridDim.x;)
				asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(met) : "memory");
			__threadfence();
		}
		__syncthreads();
	}
};
