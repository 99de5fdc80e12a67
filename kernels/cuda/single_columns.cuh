// What a warp holds of a matrix of float32 in registers: sixteen columns, each of eight on the left to be
// paired with each of eight on the right. Lane l has the rows l, l+32, … of all. In p-step t of a round pair
// s is left[s] and right[s]: the columns on the right change places from p-step to p-step. So one code does
// for all products, and little for the turns; it is small enough to be fetched in time.
#pragma once

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

// Columns of a matrix of order SIZE at most.
template <int SIZE> struct SingleColumns {
	static constexpr int WARPS = SIZE / 16, ROWS = SIZE / 32;
	// In shared memory columns are LD elements apart; one of zeros comes after the last.
	static constexpr int LD = SIZE + 4, WORDS = (SIZE + 1) * LD;

	u64 lefts, rights; // numbers of the columns, a byte each; SIZE is that of no column
	float left[8][ROWS], right[8][ROWS];

	// first returns the columns 16w … 16w+7 of warp w; the next eight are NEXT further on.
	static constexpr u64 NEXT = 0x0808080808080808ull;
	static __device__ u64 first() { return 0x0706050403020100ull + threadIdx.x / 32 * 0x1010101010101010ull; }

	static __device__ int number(u64 columns, int s) { return (int)(columns >> 8 * s & 0xff); }

	// begin gives warp w the columns 16w … 16w+15. element(i, j) is that of row i and column j.
	template <class F> __device__ void begin(F element)
	{
		const int lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16;
		lefts = first();
		rights = first() + NEXT;
#pragma unroll
		for (int s = 0; s < 8; s++)
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				left[s][r] = element(lane + 32 * r, j0 + s);
				right[s][r] = element(lane + 32 * r, j0 + 8 + s);
			}
	}

	// each calls f(row, column, element) for all elements; column is SIZE where there is none.
	template <class F> __device__ void each(F f)
	{
		const int lane = threadIdx.x % 32;
#pragma unroll
		for (int s = 0; s < 8; s++)
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				f(lane + 32 * r, number(lefts, s), left[s][r]);
				f(lane + 32 * r, number(rights, s), right[s][r]);
			}
	}

	static __device__ void put(float *shared, u64 columns, const float (&x)[8][ROWS])
	{
#pragma unroll
		for (int s = 0; s < 8; s++) {
			const int j = number(columns, s);
			float *const to = shared + j * LD + threadIdx.x % 32;
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				if (j < SIZE)
					to[32 * r] = x[s][r];
		}
	}

	static __device__ void get(const float *shared, u64 columns, float (&x)[8][ROWS])
	{
#pragma unroll
		for (int s = 0; s < 8; s++) {
			const float *const from = shared + number(columns, s) * LD + threadIdx.x % 32;
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				x[s][r] = from[32 * r];
		}
	}

	// exchange brings other columns; those on the left mostly stay. Whoever has a column has put it in its
	// place before he fetches it again, so the block meets once.
	__device__ void exchange(float *shared, u64 new_lefts, u64 new_rights)
	{
		const bool all = new_lefts != lefts;
		put(shared, rights, right);
		if (all)
			put(shared, lefts, left);
		__syncthreads();
		get(shared, new_rights, right);
		if (all)
			get(shared, new_lefts, left);
		lefts = new_lefts;
		rights = new_rights;
	}

	// squares returns in lane l the squared norm of column l mod 8 of those on one side.
	static __device__ float squares(const float (&x)[8][ROWS])
	{
		float sum[8];
#pragma unroll
		for (int s = 0; s < 8; s++)
			sum[s] = product(x[s], x[s]);
		return scatter_sum(sum);
	}

	// product returns this lane's part of the product of two columns.
	static __device__ float product(const float (&x)[ROWS], const float (&y)[ROWS])
	{
		float sum = x[0] * y[0];
#pragma unroll
		for (int r = 1; r < ROWS; r++)
			sum = fused(x[r], y[r], sum);
		return sum;
	}

	// What is done to the numbers of the columns on the right as they change places, from p-step t to the next:
	// number s comes to be number s⊕move, move being t⊕(t+1).
	__device__ static int move(int t, int steps) { return t + 1 < steps ? t ^ (t + 1) : 0; }

	// products returns in lane l the product of pair l mod 8.
	__device__ float products() const
	{
		float sum[8];
#pragma unroll
		for (int s = 0; s < 8; s++)
			sum[s] = product(left[s], right[s]);
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

// The squared lengths of the columns of the pairs of a p-step, those of pair l mod 8 in lane l. They are
// taken anew in every round. Within a round each rotation says how it changes them; where a column becomes so
// short that this cancels, all are taken anew.
template <int SIZE> struct Lengths {
	float left, right;

	__device__ void take(const SingleColumns<SIZE> &c)
	{
		left = c.squares(c.left);
		right = c.squares(c.right);
	}
	// move follows the columns on the right to other places.
	__device__ void move(int by) { right = __shfl_xor_sync(0xffffffff, right, by); }

	// change tells whether they must be taken anew.
	__device__ bool change(const SingleRotation &r)
	{
		const bool cancels = r.rotate && r.cancels(left, right);
		left = r.rotate ? r.pp : left;
		right = r.rotate ? r.qq : right;
		return __any_sync(0xffffffff, cancels);
	}
};
