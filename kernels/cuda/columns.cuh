// What a warp holds of a matrix in registers: sixteen columns, each of eight on the left to be paired with
// each of eight on the right. Lane l has the rows l, l+32, … of all. The element type E is double or float.
#pragma once

#include "common.cuh"

// scatter_sum returns in lane l the sum of x[l mod 8] over all lanes.
template <class E> __device__ inline E scatter_sum(const E x[8])
{
	const int lane = threadIdx.x % 32;
	E y[4], z[2];
#pragma unroll
	for (int i = 0; i < 4; i++)
		y[i] = (lane & 4 ? x[i + 4] : x[i]) + __shfl_xor_sync(0xffffffff, lane & 4 ? x[i] : x[i + 4], 4);
#pragma unroll
	for (int i = 0; i < 2; i++)
		z[i] = (lane & 2 ? y[i + 2] : y[i]) + __shfl_xor_sync(0xffffffff, lane & 2 ? y[i] : y[i + 2], 2);
	E sum = (lane & 1 ? z[1] : z[0]) + __shfl_xor_sync(0xffffffff, lane & 1 ? z[0] : z[1], 1);
	sum += __shfl_xor_sync(0xffffffff, sum, 8);
	return sum + __shfl_xor_sync(0xffffffff, sum, 16);
}

// What a rotation does to a row of two columns: x + a·(y + b·x), y + c·(x + d·y).
template <class E> struct alignas(16) Turn {
	E a, b, c, d;
};

// turn_of returns the turn by sin φ and tan(φ/2), both with the opposite sign where the columns are swapped
// before. kind is 𝔱 of kernels.Kind. The results are those of kernels.Turn.Rotate, swapped after.
__device__ inline Turn<double> turn_of(double sin, double tau, double kind)
{
	return {-kind * sin, tau, sin, -kind * tau};
}

// The rotations of a p-step, those of the warp's eight pairs, and a bit for each pair that is swapped before.
template <class E> struct Turns {
	const Turn<E> *turns; // in shared memory
	unsigned swapped;
};

// Columns of a matrix of order SIZE at most. In p-step t of a round pair s is left[s] and right[s⊕t].
template <class E, int SIZE> struct Columns {
	static constexpr int WARPS = SIZE / 16, ROWS = SIZE / 32;
	// In shared memory columns are LD elements apart; one of zeros comes after the last.
	static constexpr int LD = SIZE + 4, WORDS = (SIZE + 1) * LD;

	u64 lefts, rights; // numbers of the columns, a byte each; SIZE is that of no column
	E left[8][ROWS], right[8][ROWS];

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

	static __device__ void put(E *shared, u64 columns, const E (&x)[8][ROWS])
	{
#pragma unroll
		for (int s = 0; s < 8; s++) {
			const int j = number(columns, s);
			E *const to = shared + j * LD + threadIdx.x % 32;
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				if (j < SIZE)
					to[32 * r] = x[s][r];
		}
	}

	static __device__ void get(const E *shared, u64 columns, E (&x)[8][ROWS])
	{
#pragma unroll
		for (int s = 0; s < 8; s++) {
			const E *const from = shared + number(columns, s) * LD + threadIdx.x % 32;
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				x[s][r] = from[32 * r];
		}
	}

	// exchange brings other columns; those on the left mostly stay. Whoever has a column has put it in its
	// place before he fetches it again, so the block meets once.
	__device__ void exchange(E *shared, u64 new_lefts, u64 new_rights)
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

	// products returns in lane l the product of pair l mod 8 of p-step t.
	__device__ E products(int t) const
	{
		switch (t) { // registers cannot be chosen by a variable
		case 0: return products<0>();
		case 1: return products<1>();
		case 2: return products<2>();
		case 3: return products<3>();
		case 4: return products<4>();
		case 5: return products<5>();
		case 6: return products<6>();
		default: return products<7>();
		}
	}

	template <int T> __device__ E products() const
	{
		E sum[8];
#pragma unroll
		for (int s = 0; s < 8; s++)
			sum[s] = product(left[s], right[s ^ T]);
		return scatter_sum(sum);
	}

	// squares returns in lane l the squared norm of column l mod 8 of those on one side.
	static __device__ E squares(const E (&x)[8][ROWS])
	{
		E sum[8];
#pragma unroll
		for (int s = 0; s < 8; s++)
			sum[s] = product(x[s], x[s]);
		return scatter_sum(sum);
	}

	// product returns this lane's part of the product of two columns.
	static __device__ E product(const E (&x)[ROWS], const E (&y)[ROWS])
	{
		E sum = x[0] * y[0];
#pragma unroll
		for (int r = 1; r < ROWS; r++)
			sum = fused(x[r], y[r], sum);
		return sum;
	}

	// turn applies the rotations of p-step t.
	__device__ void turn(int t, const Turns<E> &turns)
	{
		switch (t) {
		case 0: return turn<0>(turns);
		case 1: return turn<1>(turns);
		case 2: return turn<2>(turns);
		case 3: return turn<3>(turns);
		case 4: return turn<4>(turns);
		case 5: return turn<5>(turns);
		case 6: return turn<6>(turns);
		default: return turn<7>(turns);
		}
	}

	template <int T> __device__ void turn(const Turns<E> &turns)
	{
		if (turns.swapped)
#pragma unroll
			for (int s = 0; s < 8; s++) {
				const bool swap = turns.swapped >> s & 1;
#pragma unroll
				for (int r = 0; r < ROWS; r++) {
					const E x = left[s][r], y = right[s ^ T][r];
					left[s][r] = swap ? y : x;
					right[s ^ T][r] = swap ? x : y;
				}
			}
#pragma unroll
		for (int s = 0; s < 8; s++) {
			const Turn<E> turn = turns.turns[s];
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				E &x = left[s][r], &y = right[s ^ T][r];
				const E u = fused(turn.b, x, y), v = fused(turn.d, y, x);
				x = fused(turn.a, u, x);
				y = fused(turn.c, v, y);
			}
		}
	}
};

// The squared norms of the columns of the pairs of a p-step, those of pair l mod 8 in lane l. They are taken
// anew in every round. Within a round each rotation says how it changes them; where a column becomes so short
// that this cancels, all are taken anew.
template <class E, int SIZE> struct Norms {
	E left, right;
	int step; // that the order of the columns on the right is that of

	__device__ void take(const Columns<E, SIZE> &c, int t)
	{
		left = c.squares(c.left);
		right = __shfl_xor_sync(0xffffffff, c.squares(c.right), t);
		step = t;
	}
	__device__ void go_to(int t)
	{
		right = __shfl_xor_sync(0xffffffff, right, step ^ t);
		step = t;
	}
	// change tells whether they must be taken anew.
	template <class R> __device__ bool change(const R &r)
	{
		const bool cancels = r.rotate && r.cancels(left, right);
		left = r.rotate ? r.pp : left;
		right = r.rotate ? r.qq : right;
		return __any_sync(0xffffffff, cancels);
	}
};
