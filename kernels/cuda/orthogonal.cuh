// What is done to R·T and T after the last sweep of a factor, by the block that has T in shared memory.
#pragma once

#include "group.cuh"
#include "fragment.cuh"
#include "known.cuh"
#include "sweep.cuh"

// parts_of returns Σᵢ(tᵢⱼ·before[i])² of column j of R·T, the warp's column lane mod 16. before has the norms
// of the columns that it is a combination of. Where columns have sign −1, no |tᵢⱼ| counts for more than 1.
template <int SIZE> __device__ inline double parts_of(const Problem &b, const State &state, const double *t)
{
	constexpr int ROWS = SIZE / 32;
	const double most = b.positive < b.k ? 1 : 1.0 / 0.0;
	const int lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16;
	double before[ROWS], sums[2];
#pragma unroll
	for (int r = 0; r < ROWS; r++)
		before[r] = state.before[lane + 32 * r];
#pragma unroll
	for (int half = 0; half < 2; half++) {
		double sum[8] = {};
#pragma unroll
		for (int s = 0; s < 8; s++)
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				const double x = fabs(t[lane + 32 * r + (j0 + 8 * half + s) * Group<SIZE>::LD]);
				const double part = fmin(x, most) * before[r];
				sum[s] = __fma_rn(part, part, sum[s]);
			}
		sums[half] = scatter_sum(sum);
	}
	return lane % 16 < 8 ? sums[0] : sums[1];
}

// cancel sets to zero the columns of R·T that are nothing but rounding errors: those whose squared norm is at
// most tol²·parts.
__device__ inline void cancel(const Problem &b, const State &state, double parts)
{
	const int k = (int)b.k, lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16;
	const double after = state.after[j0 + lane % 16];
	unsigned noise = __ballot_sync(0xffffffff, lane < 16 && j0 + lane < k && sqrt(after) <= b.tol * sqrt(parts));
	for (; noise; noise &= noise - 1) {
		const int j = j0 + __ffs(noise) - 1;
		for (int i = lane; i < k; i += 32)
			b.r[i + j * b.ldr] = 0;
	}
}

// trust says whether the products that note_products notes are known: puts their first elements, or 0.
__device__ inline void trust(const Problem &b, const State &state, double parts)
{
	const int k = (int)b.k, np = (int)b.g.np, lane = threadIdx.x % 32, j = threadIdx.x / 32 * 16 + lane % 16;
	const auto square = [&](int j) { return ldexp(state.after[j], -2 * (int)state.shift); };
	const bool long_enough = state.after[j] >= KNOWN_LENGTH * KNOWN_LENGTH * parts;
	const bool good = j >= k || (square(j) >= LEAST_TAKEN && long_enough);
	const bool p = __syncthreads_and(good || j >= np), q = __syncthreads_and(good || j < np);
	if (threadIdx.x != 0)
		return;
	if (np > 0)
		*b.gram_p = p ? square(0) : 0;
	if (np < k)
		*b.gram_q = q ? square(np) : 0;
}

// note_products notes the products of the columns of P, and of Q, of R·T, all but the first. The block that
// has R·T in shared memory calls it. A warp has sixteen columns.
template <int SIZE> __device__ inline void note_products(const Problem &b, const double *shared, int shift)
{
	constexpr int LD = Group<SIZE>::LD, TILES = KNOWN_WIDTH / 8 + 1; // of eight columns, the first from n0 on
	const int np = (int)b.g.np, lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16, g = lane / 4, t = lane % 4;
	const double scale = ldexp(1.0, -shift);
	for (int side = 0; side < 2; side++) {
		const int first = side ? np : 0, end = side ? (int)b.k : np, n0 = first / 8 * 8;
		if (j0 >= end || j0 + 16 <= first)
			continue;
		double h[TILES][4] = {}; // h[n][2e+i]: of columns n0 + 8n + 2t + i and j0 + 8e + g
#pragma unroll 1
		for (int l = t; l < SIZE; l += 4) {
			const double *const row = shared + l, x[2] = {row[(j0 + g) * LD], row[(j0 + 8 + g) * LD]};
#pragma unroll
			for (int n = 0; n < TILES; n++)
				add_product(h[n], x, row[min(n0 + 8 * n + g, SIZE) * LD]); // column SIZE is zero
		}
		double *const to = side ? b.gram_q : b.gram_p;
		const i64 ld = side ? b.ld_gram_q : b.ld_gram_p;
#pragma unroll
		for (int n = 0; n < TILES; n++)
#pragma unroll
			for (int m = 0; m < 4; m++) {
				const int i = n0 + 8 * n + 2 * t + m % 2 - first, j = j0 + m / 2 * 8 + g - first;
				if (i >= 0 && i < end - first && j >= 0 && j < end - first && i + j > 0)
					to[i + j * ld] = h[n][m] * scale * scale;
			}
	}
}

// A sum of products of which the parts that are multiples of 2⁻⁴⁰ are summed for themselves, which is exact
// as long as they are below 2¹¹. So none is lost against a large one.
struct SplitSum {
	double high = 0, low = 0;

	__device__ void add(double x, double y)
	{
		const double split = 0x1.8p12, part = __dadd_rn(__fma_rn(x, y, split), -split);
		high += part;
		low += __fma_rn(x, y, -part);
	}
	// gather adds those of the four lanes 4g … 4g+3.
	__device__ void gather()
	{
		for (int distance = 1; distance <= 2; distance *= 2) {
			high += __shfl_xor_sync(0xffffffff, high, distance);
			low += __shfl_xor_sync(0xffffffff, low, distance);
		}
	}
	__device__ double minus(double x) const { return (high - x) + low; }
};

// orthogonalize does T ← T + T·E, a Newton–Schulz step, with E = (I − TᵀT)/2, or E = (I − J·TᵀJT)/2
// where columns have sign −1. It takes T from shared memory, Group<SIZE>::LD apart, and
// puts it where it belongs.
//
// The diagonal of TᵀT is a sum of squares that are mostly small and all positive. Were those lost that come
// after a large one, the columns of T would be too long.
//
// Where T is close to I, E = −(D + J·DᵀJ + J·DᵀJD)/2 is computed from D = T − I, which is exact. Where
// columns have sign −1, columns of T may be long, and elements of E above 2⁻²⁶ ≈ √ε are nothing but their
// rounding errors: 0 takes their place. A warp has sixteen columns of E in registers, as their transpose.
template <int SIZE> __device__ inline void orthogonalize(const Problem &b, double *t)
{
	constexpr int LD = Group<SIZE>::LD;
	const int k = (int)b.k, positive = (int)b.positive, lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16;
	const int g = lane / 4, t4 = lane % 4, own = threadIdx.x; // diagonal element
	const bool mixed = positive < k;
	auto sign = [=](int i) { return i >= positive ? -1.0 : 1.0; };
	const bool near = __syncthreads_and(own >= k || t[own * (LD + 1)] >= 0.5);
	if (near && own < k)
		t[own * (LD + 1)] -= 1;
	__syncthreads();
	double e[SIZE / 8][4] = {}; // e[n][2h+i]: element (8n + 2·t4 + i, j0 + 8h + g) of E
	SplitSum squares[2];	    // of columns j0 + 8h + g, the diagonal of TᵀJT
#pragma unroll 1
	for (int l = t4; l < SIZE; l += 4) {
		double x[2];
#pragma unroll
		for (int h = 0; h < 2; h++) {
			const double y = t[l + (j0 + 8 * h + g) * LD];
			x[h] = sign(l) * y;
			if (!near)
				squares[h].add(x[h], y);
		}
#pragma unroll
		for (int n = 0; n < SIZE / 8; n++)
			add_product(e[n], x, t[l + (8 * n + g) * LD]);
	}
	squares[0].gather();
	squares[1].gather();
#pragma unroll
	for (int n = 0; n < SIZE / 8; n++)
#pragma unroll
		for (int m = 0; m < 4; m++) {
			const int i = 8 * n + 2 * t4 + m % 2, j = j0 + m / 2 * 8 + g;
			double excess = e[n][m]; // of TᵀJT over J
			if (near)
				excess += sign(i) * t[i + j * LD] + sign(j) * t[j + i * LD];
			else if (i == j)
				excess = squares[m / 2].minus(sign(i));
			const double x = -0.5 * excess;
			e[n][m] = mixed && !(fabs(x) <= 0x1p-26) ? 0 : sign(i) * x;
		}
	__syncthreads();
	if (near && own < k)
		t[own * (LD + 1)] += 1;
	__syncthreads();
	// Columns 2·t4 + m of eight, in an order in which the lanes meet in few banks.
	const int swapped = t4 / 2;
	if (swapped)
#pragma unroll
		for (int n = 0; n < SIZE / 8; n++)
#pragma unroll
			for (int h = 0; h < 2; h++) {
				const double x = e[n][2 * h];
				e[n][2 * h] = e[n][2 * h + 1];
				e[n][2 * h + 1] = x;
			}
	double *const out = b.t;
	const i64 ldt = b.ldt;
#pragma unroll 1
	for (int i0 = 0; i0 < k; i0 += 16) {
		double sum[2][4] = {};
#pragma unroll
		for (int n = 0; n < SIZE / 8; n++)
#pragma unroll
			for (int m = 0; m < 2; m++) {
				const double *const from = t + i0 + g + (8 * n + 2 * t4 + (m ^ swapped)) * LD;
				const double x[2] = {from[0], from[8]};
#pragma unroll
				for (int h = 0; h < 2; h++)
					add_product(sum[h], x, e[n][2 * h + m]);
			}
#pragma unroll
		for (int h = 0; h < 2; h++)
#pragma unroll
			for (int m = 0; m < 4; m++) {
				const int i = i0 + g + m / 2 * 8, j = j0 + 8 * h + 2 * t4 + m % 2;
				if (i < k && j < k)
					out[i + j * ldt] = t[i + j * LD] + sum[h][m];
			}
	}
}
