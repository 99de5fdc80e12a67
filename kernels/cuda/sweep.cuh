// What a launch of the Jacobi kernels works on, and how the two blocks of a problem tell each other how far
// they are.
#pragma once

#include "common.cuh"

// TOP is the exponent that the largest element gets: its square is far from overflow, and columns down to
// 2⁻⁹⁹⁰ of the largest have squared norms in the normal range.
constexpr int TOP = 480;

// What is kept of a problem between launches.
struct State {
	u64 finished;	    // number of the launch that was the last to finish R
	i64 shift;	    // R is multiplied by 2^shift while it is worked on
	i64 done;	    // the sweep that found nothing to rotate
	double before[128]; // norms of the columns of the scaled R before the first sweep
	double after[128];  // squared norms of those of the scaled R·T
};

constexpr i64 NEVER = 1ll << 62;

// A rotation on its way from one block to the other: the complements of sin φ and of tan(φ/2), with the
// opposite sign where the columns are swapped. 0 is what has not come yet; who fetches a rotation puts 0 in
// its place. So a rotation says itself that it is there, and no block waits for memory to become consistent.
struct Letter {
	u64 sin, tau;
};

// What a launch works on. rounds has for each round its number of p-steps, and then for each warp the numbers
// of its columns, on the left and on the right. letters has one for every problem, p-step and pair.
struct Sweep {
	const Problem *problems;
	State *states;
	Letter *letters;
	const u64 *rounds;
	u64 *ticket; // blocks that have started, in all launches
	u64 tickets; // of them before this launch
	u64 launch;  // number of this launch
	i64 count;   // problems
	i64 length;  // rounds
	i64 steps;   // p-steps
	i64 number;  // of this sweep, from 0
	i64 last;    // 1: no sweep follows
	i64 cancels; // 1: columns that are only rounding errors become zero
};

__device__ inline void send(Letter *to, double sin, double tau)
{
	asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to),
		     "l"(~(u64)__double_as_longlong(sin)), "l"(~(u64)__double_as_longlong(tau))
		     : "memory");
}

// receive waits for a letter, and takes it.
__device__ inline double2 receive(Letter *from)
{
	u64 sin, tau;
	for (;;) {
		asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(sin), "=l"(tau) : "l"(from) : "memory");
		if (sin != 0 && tau != 0)
			break;
		__nanosleep(100);
	}
	*from = {0, 0};
	return {__longlong_as_double((i64)~sin), __longlong_as_double((i64)~tau)};
}

// publish makes everything that the block wrote before its last barrier visible to who waits for this value.
__device__ inline void publish(u64 *to, u64 value)
{
	asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

__device__ inline void await(const u64 *from, u64 value)
{
	for (;;) {
		u64 now;
		asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(from) : "memory");
		if (now >= value)
			return;
		__nanosleep(100);
	}
}
