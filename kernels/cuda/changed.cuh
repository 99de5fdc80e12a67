// The list of the problems of a launch that have changed.
#pragma once

#include "common.cuh"

constexpr int LISTED = 1024; // most problems of a launch

// list_changed lists the problems with Changed ≠ 0 in order, and returns how many there are. All threads call
// it.
template <int THREADS, class E>
__device__ inline int list_changed(const ProblemOf<E> *problems, int count, unsigned short *list)
{
	constexpr int WARPS = THREADS / 32;
	__shared__ unsigned masks[WARPS];
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	int found = 0;
	for (int first = 0; first < count; first += THREADS) {
		const int i = first + threadIdx.x;
		const bool changed = i < count && problems[i].tally->changed != 0;
		const unsigned mask = __ballot_sync(0xffffffff, changed);
		if (lane == 0)
			masks[warp] = mask;
		__syncthreads();
		int place = found + __popc(mask & ((1u << lane) - 1));
		for (int w = 0; w < WARPS; w++) {
			place += w < warp ? __popc(masks[w]) : 0;
			found += __popc(masks[w]);
		}
		if (changed)
			list[place] = (unsigned short)i;
		__syncthreads();
	}
	return found;
}
