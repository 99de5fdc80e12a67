// A round of up to eight p-steps: sixteen columns, eight on the left to be paired with each of eight on the
// right. A warp has them to itself, in shared memory. It rotates their Gram matrix, p-step by p-step, and
// then multiplies the columns by the product of the rotations (docs/decisions/038-rounds-by-products.md).
#pragma once

#include "fragment.cuh"
#include "rotation.cuh"
#include "round.cuh"
#include "turn.cuh"

using Mix = MixOf<double>;

// Sixteen columns of a matrix of order SIZE at most in shared memory. In p-step t of a round pair s is column
// lefts[s] and column rights[s⊕t].
template <int SIZE> struct Group {
	static constexpr int ROWS = SIZE / 32;
	// Columns are LD elements apart; one of zeros comes after the last.
	static constexpr int LD = SIZE + PAD, WORDS = (SIZE + 1) * LD;

	double *shared;
	u64 lefts, rights; // numbers of the columns; SIZE is that of no column

	__device__ double *column(u64 columns, int s) const { return shared + number(columns, s) * LD; }

	// turn applies the rotations of p-step 0. swapped has a bit for each pair that is swapped before.
	__device__ void turn(const Turn<double> *turns, unsigned swapped) const
	{
#pragma unroll 2
		for (int s = 0; s < 8; s++) {
			if (number(lefts, s) == SIZE)
				continue;
			double *const x = column(lefts, s) + threadIdx.x % 32, *const y = column(rights, s) + threadIdx.x % 32;
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				rotate(x[32 * r], y[32 * r], turns[s], swapped >> s & 1);
		}
	}

	// multiply multiplies the columns, sixteen rows at a time. Those rows are taken in an order in which the
	// lanes meet in few banks.
	__device__ void multiply(const ProductOf<double> &by) const
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
		const double *from[4];
#pragma unroll
		for (int i = 0; i < 4; i++)
			from[i] = column(i < 2 ? lefts : rights, i % 2 * 4 + t) + g + g / 4 * 4;
		const int place = 2 * t + t / 2 * 4;
		double *const left = column(lefts, g) + place, *const right = column(rights, g) + place;
		const bool put_left = number(lefts, g) < SIZE, put_right = number(rights, g) < SIZE;
#pragma unroll
		for (int row = 0; row < SIZE; row += 32) {
			double x[4][4], sum[4][4] = {};
#pragma unroll
			for (int n = 0; n < 4; n++)
#pragma unroll
				for (int i = 0; i < 4; i++)
					x[n][i] = from[i][row + n / 2 * 16 + n % 2 * 4];
			__syncwarp();
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const double y[2] = {by.left[i], by.right[i]};
#pragma unroll
				for (int n = 0; n < 4; n++)
					add_product(sum[n], y, x[n][i]);
			}
#pragma unroll
			for (int n = 0; n < 4; n++) {
				const int at = row + n / 2 * 16 + n % 2 * 4;
				if (put_left)
					*(double2 *)(left + at) = {sum[n][0], sum[n][1]};
				if (put_right)
					*(double2 *)(right + at) = {sum[n][2], sum[n][3]};
			}
		}
		__syncwarp();
	}
};

// The products of sixteen columns of float64, and how they come about.
struct Products : ProductsOf<double> {
	// take sums the products.
	template <int SIZE> __device__ void take(const Group<SIZE> &c)
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
		const double *const left = c.column(c.lefts, g) + t, *const right = c.column(c.rights, g) + t;
		double a[2][4] = {}, b[2][4] = {};
#pragma unroll
		for (int row = 0; row < SIZE; row += 4) {
			const double x[2] = {left[row], right[row]};
			add_product(a[row / 4 % 2], x, x[0]);
			add_product(b[row / 4 % 2], x, x[1]);
		}
#pragma unroll
		for (int e = 0; e < 2; e++) {
			ll[e] = a[0][e] + a[1][e];
			rl[e] = a[0][2 + e] + a[1][2 + e];
			lr[e] = b[0][e] + b[1][e];
			rr[e] = b[0][2 + e] + b[1][2 + e];
		}
		step = 0;
	}

	// take_pairs sums only those within the pairs of p-step 0, as a rotation of that pair alone wants them.
	template <int SIZE> __device__ void take_pairs(const Group<SIZE> &c)
	{
		const int lane = threadIdx.x % 32;
		double pp[8], pq[8], qq[8];
#pragma unroll
		for (int s = 0; s < 8; s++) {
			const double *const x = c.column(c.lefts, s) + lane, *const y = c.column(c.rights, s) + lane;
			pp[s] = x[0] * x[0];
			pq[s] = x[0] * y[0];
			qq[s] = y[0] * y[0];
#pragma unroll
			for (int r = 32; r < SIZE; r += 32) {
				pp[s] = __fma_rn(x[r], x[r], pp[s]);
				pq[s] = __fma_rn(x[r], y[r], pq[s]);
				qq[s] = __fma_rn(y[r], y[r], qq[s]);
			}
		}
		ll[0] = ll[1] = __shfl_sync(0xffffffff, scatter_sum(pp), lane / 4);
		lr[0] = lr[1] = __shfl_sync(0xffffffff, scatter_sum(pq), lane / 4);
		rr[0] = rr[1] = __shfl_sync(0xffffffff, scatter_sum(qq), lane / 4);
		step = 0;
	}

	// ordinary tells whether all squared norms are between two bounds, or zero.
	__device__ bool ordinary(double least, double most) const
	{
		const int lane = threadIdx.x % 32, odd = lane / 4 & 1;
		const double left = odd ? ll[1] : ll[0], right = odd ? rr[1] : rr[0];
		const bool ok = (left == 0 || (left >= least && left <= most)) &&
				(right == 0 || (right >= least && right <= most));
		return __all_sync(0xffffffff, ok || lane != owner(lane / 4));
	}

	__device__ void scale(double by)
	{
#pragma unroll
		for (int e = 0; e < 2; e++) {
			ll[e] *= by;
			lr[e] *= by;
			rl[e] *= by;
			rr[e] *= by;
		}
	}
};
