// What a launch of the Jacobi kernels works on, and how the two blocks of a problem tell each other how far
// they are.
#pragma once

#include "common.cuh"

// TOP is the exponent that the largest element gets: its square is far from overflow, and columns down to
// 2⁻⁹⁹⁰ of the largest have squared norms in the normal range.
constexpr int TOP = 480;

// What is kept of a problem between launches.
struct State {
	u64 finished;	    // number of the launch that was the last to finish R; of float32 its rotations
	i64 rotations;	    // of the last sweep (float32)
	i64 shift;	    // R is multiplied by 2^shift while it is worked on
	i64 done;	    // the sweep that found nothing to rotate
	double before[128]; // norms of the columns of the scaled R before the first sweep; float32: Factors
	double after[128];  // squared norms of those of the scaled R·T
};

constexpr i64 NEVER = 1ll << 62;

// A rotation on its way from one block to the other: the complements of two numbers. In a round of one
// p-step they are sin φ and tan(φ/2), with the opposite sign where the columns are swapped; in a longer
// one cos φ, negative where they are swapped, and sin φ. In float32 a letter has four numbers of what a
// round does (Image). 0 is what has not come yet; who fetches a letter puts 0 in its place. So it says
// itself that it is there, and no block waits for memory to become consistent.
struct Letter {
	u64 first, second;
};

// What a launch works on. rounds has for each round its number of p-steps, and then for each warp the numbers
// of its columns, on the left and on the right. letters has one for every problem, p-step and pair,
// and in float32 64 for every problem, round and warp.
template <class E> struct SweepOf {
	const ProblemOf<E> *problems;
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
	i64 cancels; // 1: columns that are only rounding errors become zero (float64)
	i64 half;    // half the order of the schedule
};

using Sweep = SweepOf<double>;

// columns_of returns the numbers of eight columns, of SIZE at most: P has `left` places from 0 on, and Q
// those from `half` on. SIZE is that of none.
template <int SIZE> __device__ inline u64 columns_of(u64 places, int left, int half)
{
	const auto four = [=](unsigned places) {
		constexpr unsigned EACH = 0x01010101u;
		const unsigned right = __vcmpgeu4(places, half * EACH);
		const unsigned none = (__vcmpgeu4(places, left * EACH) & ~right) | __vcmpgeu4(places, SIZE * EACH);
		return (none & SIZE * EACH) | (~none & __vsub4(places, right & (half - left) * EACH));
	};
	return four((unsigned)places) | (u64)four((unsigned)(places >> 32)) << 32;
}

// A round: its number of p-steps, and the columns that the calling warp has in it: their places, or their
// numbers.
struct Round {
	int steps;
	u64 lefts, rights;

	// of puts the numbers in a problem in the place of places: `left` columns are those of P. -1: places are
	// numbers.
	template <int SIZE> __device__ Round of(int left, i64 half) const
	{
		if (left < 0)
			return *this;
		return {steps, columns_of<SIZE>(lefts, left, (int)half), columns_of<SIZE>(rights, left, (int)half)};
	}
};

// round_of returns a round, by places. It does nothing with what it has asked memory for, so that nobody
// waits for that before it is needed.
template <int SIZE, class E> __device__ inline Round round_of(const SweepOf<E> &a, int number)
{
	constexpr int WARPS = SIZE / 16;
	const u64 *words = a.rounds + number * (1 + 2 * WARPS), *own = words + 1 + 2 * (threadIdx.x / 32);
	return {(int)words[0], own[0], own[1]};
}

// role_of returns the number of this block in the order in which the blocks start. All threads call it.
template <class E> __device__ inline i64 role_of(const SweepOf<E> &a)
{
	__shared__ u64 ticket;
	if (threadIdx.x == 0)
		ticket = atomicAdd(a.ticket, 1ull) - a.tickets;
	__syncthreads();
	return (i64)ticket;
}

// fetch brings a warp's sixteen columns of a matrix of order k > 0, all at once. What is not there is 0.
template <int SIZE, class E>
__device__ inline void fetch(const E *from, i64 ld, int k, E (&x)[16][SIZE / 32])
{
	const int lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16;
#pragma unroll
	for (int s = 0; s < 16; s++)
#pragma unroll
		for (int r = 0; r < SIZE / 32; r++)
			x[s][r] = from[min(lane + 32 * r, k - 1) + min(j0 + s, k - 1) * ld];
#pragma unroll
	for (int s = 0; s < 16; s++)
#pragma unroll
		for (int r = 0; r < SIZE / 32; r++)
			x[s][r] = lane + 32 * r < k && j0 + s < k ? x[s][r] : 0;
}

// A word of a letter is the complement of what it says. 0 says nothing.
__device__ inline void send_words(Letter *to, u64 first, u64 second)
{
	asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(~first), "l"(~second) : "memory");
}

// receive_words waits for a letter, and takes it.
__device__ inline Letter receive_words(Letter *from)
{
	Letter x;
	for (;;) {
		asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
			     : "=l"(x.first), "=l"(x.second)
			     : "l"(from)
			     : "memory");
		if (x.first != 0 && x.second != 0)
			break;
		__nanosleep(100);
	}
	*from = {0, 0};
	return {~x.first, ~x.second};
}

__device__ inline void send(Letter *to, double first, double second)
{
	send_words(to, (u64)__double_as_longlong(first), (u64)__double_as_longlong(second));
}

__device__ inline double2 receive(Letter *from)
{
	const Letter x = receive_words(from);
	return {__longlong_as_double((i64)x.first), __longlong_as_double((i64)x.second)};
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
