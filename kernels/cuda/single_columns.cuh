// The columns of float32 that a warp has, and a p-step of a round. In p-step t of a round pair s is left[s]
// and right[s]: the columns on the right change places from p-step to p-step. So one code does for all
// products, and little for the turns; it is small enough to be fetched in time.
#pragma once

#include "columns.cuh"
#include "single_rotation.cuh"

// place_of returns an address within shared memory, of a lane, so that it stays in a register. The compiler
// would compute it anew in every p-step, from a special register that is slow to be read.
__device__ inline unsigned place_of(const Turn<float> *turns)
{
	return __shfl_sync(0xffffffff, (unsigned)__cvta_generic_to_shared(turns), 0);
}

__device__ inline void put_turn(unsigned at, const Turn<float> &x)
{
	asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(x.a), "f"(x.b), "f"(x.c), "f"(x.d)
		     : "memory");
}

__device__ inline Turn<float> get_turn(unsigned at)
{
	Turn<float> x;
	asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
		     : "=f"(x.a), "=f"(x.b), "=f"(x.c), "=f"(x.d)
		     : "r"(at)
		     : "memory");
	return x;
}

// The rotations of a p-step, those of the warp's eight pairs: where they are in shared memory, and a bit for
// each pair that is swapped before.
struct SingleTurns {
	unsigned at, swapped;

	__device__ Turn<float> get(int s) const { return get_turn(at + s * sizeof(Turn<float>)); }
};

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
	__device__ void turn(SingleTurns turns, int move)
	{
		switch (move) { // 0, 1, 3 or 7
		case 0: return turn<0>(turns);
		case 1: return turn<1>(turns);
		case 3: return turn<3>(turns);
		default: return turn<7>(turns);
		}
	}

	// skip only moves the columns.
	__device__ void skip(int move)
	{
		switch (move) {
		case 0: return;
		case 1: return turn<1, false, false>({});
		case 3: return turn<3, false, false>({});
		default: return turn<7, false, false>({});
		}
	}

private:
	template <int MOVE> __device__ void turn(SingleTurns turns)
	{
		if (turns.swapped)
			turn<MOVE, true, true>(turns);
		else
			turn<MOVE, true, false>(turns);
	}

	template <int MOVE, bool ROTATE, bool SWAP> __device__ void turn(SingleTurns turns)
	{
#pragma unroll
		for (int s = 0; s < 8; s++) {
			const int other = s ^ MOVE;
			if (other < s)
				continue;
			const Turn<float> p = ROTATE ? turns.get(s) : Turn<float>{}, q = ROTATE ? turns.get(other) : Turn<float>{};
			const bool swap_p = SWAP && turns.swapped >> s & 1, swap_q = SWAP && turns.swapped >> other & 1;
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				const float y = ROTATE ? rotated(left[s][r], right[s][r], p, swap_p) : right[s][r];
				if (MOVE != 0)
					right[s][r] = ROTATE ? rotated(left[other][r], right[other][r], q, swap_q) : right[other][r];
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

	// rotated rotates a row of two columns, swapped before if they are to be. It returns the new y.
	static __device__ float rotated(float &left, float right, const Turn<float> &turn, bool swap)
	{
		const float x = swap ? right : left, y = swap ? left : right;
		const float u = __fmaf_rn(turn.b, x, y), v = __fmaf_rn(turn.d, y, x);
		left = __fmaf_rn(turn.a, u, x);
		return __fmaf_rn(turn.c, v, y);
	}
};
