// Numbers that the blocks of a grid tell each other, where all blocks run at the same time (a cooperative
// launch).
#pragma once

#include "common.cuh"

// A Letter is a number on its way to other blocks: the two halves of its bits, and above each the number of
// the meeting that it is for. Each of the two words is written, and read, at once. So a reader needs nothing
// else to know that a letter has arrived.
struct Letter {
	u64 low, high;
};

// A Grid is what the blocks meet at. In a meeting every block publishes its letters, and reads those of all
// blocks. Meetings use the halves of the box in turn: a block writes to a half again only when it has read
// all letters of the next meeting, which each block publishes when it has read that half. At the start all
// letters in the box are older than the first meeting.
struct Grid {
	Letter *box; // 2·size() letters
	unsigned meeting; // number of the present one, never 0
	int quantities, singles; // quantities have a letter of each block, singles are told by one block

	__device__ int size() const { return quantities * gridDim.x + singles; }
	__device__ Letter *half() const { return box + (meeting & 1) * size(); }
	__device__ Letter *letter(int quantity, int block) const { return half() + quantity * gridDim.x + block; }
	__device__ Letter *single(int i) const { return half() + quantities * gridDim.x + i; }

	// publish says what this block has of a quantity. One thread of the block does it.
	__device__ void publish(int quantity, double x) const { write(letter(quantity, blockIdx.x), x); }

	__device__ void write(Letter *to, double x) const
	{
		const u64 bits = (u64)__double_as_longlong(x), stamp = (u64)meeting << 32;
		const u64 low = stamp | (bits & 0xffffffffu), high = stamp | bits >> 32;
		asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(low), "l"(high)
			     : "memory");
	}

	// read waits for N letters, those of which the address is not 0; the others are 0.
	template <int N> __device__ void read(const Letter *const (&from)[N], double (&x)[N]) const
	{
		Letter l[N];
		bool late;
#pragma unroll
		for (int k = 0; k < N; k++)
			l[k].low = l[k].high = from[k] == 0 ? (u64)meeting << 32 : 0;
		do {
			late = false;
#pragma unroll
			for (int k = 0; k < N; k++)
				if (!here(l[k]))
					asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
						     : "=l"(l[k].low), "=l"(l[k].high)
						     : "l"(from[k])
						     : "memory");
#pragma unroll
			for (int k = 0; k < N; k++)
				late |= !here(l[k]);
		} while (late);
#pragma unroll
		for (int k = 0; k < N; k++)
			x[k] = __longlong_as_double((long long)(l[k].high << 32 | (l[k].low & 0xffffffffu)));
	}

	// gather combines S quantities, quantity(s) for s < S, over the blocks. Lane l of a warp takes the blocks
	// l, l+32, …, in this order. A quantity −1 is none. It returns the single letter i, if i ≥ 0.
	template <int S, class Q, class F>
	__device__ double gather(double (&x)[S], Q quantity, int i, F combine) const
	{
		double beside = 0;
#pragma unroll 1
		for (int b = threadIdx.x % 32; b < gridDim.x || i >= 0; b += 64) {
			const Letter *from[2 * S + 1];
			double got[2 * S + 1];
#pragma unroll
			for (int s = 0; s < S; s++) {
				from[s] = b < gridDim.x && quantity(s) >= 0 ? letter(quantity(s), b) : 0;
				from[S + s] = b + 32 < gridDim.x && quantity(s) >= 0 ? letter(quantity(s), b + 32) : 0;
			}
			from[2 * S] = i >= 0 ? single(i) : 0;
			read(from, got);
#pragma unroll
			for (int s = 0; s < S; s++) {
				x[s] = combine(x[s], got[s]);
				x[s] = combine(x[s], got[S + s]);
			}
			if (i >= 0)
				beside = got[2 * S];
			i = -1;
		}
		return beside;
	}

private:
	__device__ bool here(const Letter &l) const
	{
		return (unsigned)(l.low >> 32) == meeting && (unsigned)(l.high >> 32) == meeting;
	}
};
