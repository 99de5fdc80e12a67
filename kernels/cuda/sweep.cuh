// What a launch of the Jacobi kernels works on, and how its blocks tell each other how far they are.
#pragma once

#include "common.cuh"

constexpr int LANES = 4;	      // that share a pair of columns
constexpr int PER_WARP = 32 / LANES;  // slots
// p-steps between publications, at least: a lane keeps one rotation of a window
constexpr int WINDOW = 32 / PER_WARP;
constexpr int MEET = 1 << 16;	      // the flag of the end of a round

// TOP is the exponent that the largest element gets: its square is far from overflow, and columns down to
// 2⁻⁹⁹⁰ of the largest have squared norms in the normal range.
constexpr int TOP = 480;

// What is kept of a problem between launches.
struct State {
	u64 progress;	  // epoch·2³² + p-steps published in the launch with that number
	i64 shift;	  // R is multiplied by 2^shift in shared memory
	i64 done;	  // the sweep that found nothing to rotate
	double before[128]; // norms of the columns of the scaled R before the first sweep
};

constexpr i64 NEVER = 1ll << 62;

// What a launch works on. pairs has a word p + 2⁸·q + 2¹⁶·m for every p-step and slot, m = 1 where a round
// ends, q = 255 where there is no pair; turns has a rotation for every problem, p-step and slot.
struct Sweep {
	const Problem *problems;
	State *states;
	double2 *turns;
	const unsigned *pairs;
	u64 *ticket;  // blocks that have started, in all launches
	u64 tickets;  // of them before this launch
	u64 epoch;    // number of this launch
	i64 count;    // problems
	i64 steps;    // p-steps
	i64 slices;   // blocks that share the rows of a T
	i64 number;   // of this sweep, from 0
};

// publish makes everything that the block wrote before its last barrier visible to who waits for
// this progress; await waits.
__device__ inline void publish(u64 *progress, u64 value)
{
	asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(progress), "l"(value) : "memory");
}

__device__ inline void await(const u64 *progress, u64 value)
{
	for (;;) {
		u64 now;
		asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(progress) : "memory");
		if (now >= value)
			return;
		__nanosleep(100);
	}
}
