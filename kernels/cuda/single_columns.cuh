// The columns of float32 that a warp has, and a p-step of a round. In p-step t of a round pair s is left[s] and
// right[s]: the columns on the right change places from p-step to p-step. So one code does for all products, and
// little for the turns; it is small enough to be fetched in time.
#pragma once

#include "columns.cuh"
#include "single_rotation.cuh"

template <int SIZE> struct SingleColumns : Columns<float, SIZE> {
	using Base = Columns<float, SIZE>;
	using Base::left;
	using Base::lefts;
	using Base::right;
	using Base::rights;
	using Base::ROWS;

	// What is done to the numbers of the columns on the right as they change places, from p-step t to the next:
	// number s comes to be number s⊕move, move being t⊕(t+1).
	__device__ static int move(int t, int steps) { return t + 1 < steps ? t ^ (t + 1) : 0; }

	// products returns in lane l the product of pair l mod 8.
	__device__ float products() const
	{
		float sum[8];
#pragma unroll
		for (int s = 0; s < 8; s++)
			sum[s] = Base::product(left[s], right[s]);
		return scatter_sum(sum);
	}

	// turn applies the rotations, and then moves the columns on the right.
	__device__ void turn(const Turns<float> &turns, int move)
	{
		if (turns.swapped)
#pragma unroll
			for (int s = 0; s < 8; s++) {
				const bool swap = turns.swapped >> s & 1;
#pragma unroll
				for (int r = 0; r < ROWS; r++) {
					const float x = left[s][r], y = right[s][r];
					left[s][r] = swap ? y : x;
					right[s][r] = swap ? x : y;
				}
			}
		switch (move) { // 0, 1, 3 or 7
		case 0: return turn<0, true>(turns.turns);
		case 1: return turn<1, true>(turns.turns);
		case 3: return turn<3, true>(turns.turns);
		default: return turn<7, true>(turns.turns);
		}
	}

	// skip only moves the columns.
	__device__ void skip(int move)
	{
		switch (move) {
		case 0: return;
		case 1: return turn<1, false>(0);
		case 3: return turn<3, false>(0);
		default: return turn<7, false>(0);
		}
	}

private:
	template <int MOVE, bool ROTATE> __device__ void turn(const Turn<float> *turns)
	{
#pragma unroll
		for (int s = 0; s < 8; s++) {
			const int other = s ^ MOVE;
			if (other < s)
				continue;
			const Turn<float> p = ROTATE ? turns[s] : Turn<float>{}, q = ROTATE ? turns[other] : Turn<float>{};
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				const float y = ROTATE ? rotated(left[s][r], right[s][r], p) : right[s][r];
				if (MOVE != 0)
					right[s][r] = ROTATE ? rotated(left[other][r], right[other][r], q) : right[other][r];
				right[other][r] = y;
			}
		}
		const unsigned low = (unsigned)rights, high = (unsigned)(rights >> 32);
		if (MOVE == 1)
			rights = __byte_perm(low, 0, 0x2301) | (u64)__byte_perm(high, 0, 0x2301) << 32;
		if (MOVE == 3)
			rights = __byte_perm(low, 0, 0x0123) | (u64)__byte_perm(high, 0, 0x0123) << 32;
		if (MOVE == 7)
			rights = __byte_perm(high, 0, 0x0123) | (u64)__byte_perm(low, 0, 0x0123) << 32;
	}

	// rotated rotates a row of two columns. It returns the new y.
	static __device__ float rotated(float &x, float y, const Turn<float> &turn)
	{
		const float u = __fmaf_rn(turn.b, x, y), v = __fmaf_rn(turn.d, y, x);
		x = __fmaf_rn(turn.a, u, x);
		return __fmaf_rn(turn.c, v, y);
	}
};
