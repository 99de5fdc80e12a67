// Products with a matrix of few columns, of which a block of threads does some rows.
#pragma once

#include "tile.cuh"

constexpr int ROWS = 64;	  // of a block
constexpr int LD_ROWS = ROWS + PAD;   // of a chunk of columns of x in shared memory
constexpr int LD_INNER = CHUNK + PAD; // of a chunk of rows of t

// A product X·T of which a block does ROWS rows, into the columns of out. To those that are NEAR it is added:
// they have the columns of X, of which the product takes the identity out of T.
struct Product {
	Pivot x, out; // the same memory, or not overlapping
	const double *t;
	i64 ldt, k, n; // of T, k×n
	const unsigned char *columns; // flags of the columns, 0: all are NEAR, and the identity is not in T
};

// product_rows multiplies rows row … row+ROWS−1 of x by columns j0 … j0+32·COLUMN_WARPS−1 of t. If x and out
// are the same, these must be all columns.
template <int COLUMN_WARPS, Access ACCESS>
__device__ inline void product_rows(const Product &a, i64 row, int j0)
{
	constexpr int COLUMNS = 32 * COLUMN_WARPS, THREADS = 64 * COLUMN_WARPS;
	constexpr int STAGE = CHUNK * LD_ROWS + COLUMNS * LD_INNER;
	extern __shared__ __align__(16) double shared[]; // STAGES × STAGE: CHUNK columns of x, CHUNK rows of t

	const int thread = threadIdx.x, warp = thread / 32, wi = warp % 2 * 32, wj = warp / 2 * 32;
	const int rows = (int)(a.x.m - row < ROWS ? a.x.m - row : ROWS), k = (int)a.k, count = (int)a.n;
	const unsigned char *columns = a.columns;
	const double *const anywhere = a.t;
	// Column c of x begins at p + c·ldp up to column np, at q + c·ldq from there on.
	const int np = (int)a.x.np, ldp = (int)a.x.ldp, ldq = (int)a.x.ldq, ldt = (int)a.ldt;
	const double *const p = a.x.p + row, *const q = a.x.q + row - a.x.np * a.x.ldq;
	auto x = [=](int c) { return c < np ? p + (i64)c * ldp : q + (i64)c * ldq; };

	// This thread copies rows xr, xr + 1 of columns xc, xc + X_COLUMNS, … of a chunk of x, and rows tr, tr + 1
	// of columns tc, tc + T_COLUMNS, … of t.
	constexpr int X_COLUMNS = THREADS / (ROWS / 2), T_COLUMNS = THREADS / (CHUNK / 2);
	const int xc = thread / (ROWS / 2);
	const int xr = thread % (ROWS / 2) * 2;
	const int tc = thread / (CHUNK / 2);
	const int tr = thread % (CHUNK / 2) * 2;
	double *const x_to = shared + xc * LD_ROWS + xr, *const t_to = shared + CHUNK * LD_ROWS + tc * LD_INNER + tr;
	const unsigned x_at = (unsigned)__cvta_generic_to_shared(x_to);
	const unsigned t_at = (unsigned)__cvta_generic_to_shared(t_to);
	const double *const t = a.t + (i64)(j0 + tc) * ldt + tr;
	auto load = [&](int chunk, int stage, int) {
		const int l = chunk * CHUNK, place = stage * STAGE;
#pragma unroll
		for (int c = 0; c < CHUNK; c += X_COLUMNS) {
			const int n = ACCESS == WHOLE ? 2 : l + xc + c < k ? clamp2(rows - xr) : 0, to = place + c * LD_ROWS;
			fetch2<ACCESS>(x_to + to, x_at + 8 * to, n ? x(l + xc + c) + xr : anywhere, n);
		}
#pragma unroll
		for (int c = 0; c < COLUMNS; c += T_COLUMNS) {
			const int n = ACCESS == WHOLE ? 2 : j0 + tc + c < count ? clamp2(k - l - tr) : 0;
			const int to = place + c * LD_INNER;
			fetch2<ACCESS>(t_to + to, t_at + 8 * to, n ? t + (i64)c * ldt + l : anywhere, n);
		}
	};
	auto arrived = [&](int chunk, int stage) { // takes the identity out of t
		const int l = chunk * CHUNK - j0; // the column of the tile that the chunk's first diagonal element is in
		if (!columns || l < 0 || l >= COLUMNS)
			return;
		const int c = l / T_COLUMNS * T_COLUMNS + tc, above = c - l - tr; // T_COLUMNS is a multiple of CHUNK
		if (above == 0 || above == 1) {
			double &y = shared[stage * STAGE + CHUNK * LD_ROWS + c * LD_INNER + tr + above];
			if (y >= 0.5)
				y -= 1;
		}
	};
	const bool idle = j0 + wj >= count || wi >= rows;
	// the rows of this thread are first, first+8, …
	const int g = thread % 32 / 4, t4 = thread % 4, first = wi + g;
	unsigned near = 0, zero = 0; // bit 2j+e: of column j0 + wj + 8j + 2·t4 + e
#pragma unroll
	for (int i = 0; i < 8; i++) {
		const int c = j0 + wj + 8 * (i / 2) + 2 * t4 + i % 2;
		const unsigned flags = c >= count ? 0 : columns ? columns[c] : NEAR;
		near |= (flags & NEAR ? 1u : 0u) << i;
		zero |= (flags & ZERO ? 1u : 0u) << i;
	}
	Tile tile = {};
	const int chunks = (k + CHUNK - 1) / CHUNK;
	pipeline<1>(chunks, load, arrived, [&](int, int stage, const Copies<decltype(load)> &copies) {
		copies.start(0);
		if (idle)
			return;
		const double *left = shared + stage * STAGE + wi;
		const double *right = shared + stage * STAGE + CHUNK * LD_ROWS + wj * LD_INNER;
#pragma unroll
		for (int l = 0; l < CHUNK; l += 4)
			multiply_add<1, LD_ROWS, LD_INNER, 1>(tile, left + l * LD_ROWS, right + l);
	});
	if (idle)
		return;
	const Pivot out = {a.out.p + row, a.out.q + row, rows, a.out.np, a.out.ldp, a.out.ldq};
	// As many elements as possible are read at a time, before the first is overwritten.
#pragma unroll
	for (int half = 0; half < 2; half++) {
		double old[4][4];
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const int bit = 4 * half + i, c = j0 + wj + 8 * (bit / 2) + 2 * t4 + bit % 2;
			const bool add = near >> bit & 1;
			const double *from = column(out, add ? c : 0) + first;
#pragma unroll
			for (int h = 0; h < 4; h++)
				old[i][h] = add && first + 8 * h < rows ? from[8 * h] : 0;
		}
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int h = 0; h < 4; h++) {
				const int bit = 4 * half + i;
				double &y = tile.c[h / 2][bit / 2][h % 2 * 2 + bit % 2];
				y = zero >> bit & 1 ? 0 : y + old[i][h];
			}
	}
#pragma unroll
	for (int bit = 0; bit < 8; bit++) {
		const int c = j0 + wj + 8 * (bit / 2) + 2 * t4 + bit % 2;
		if (c >= count)
			continue;
		double *to = column(out, c) + first;
#pragma unroll
		for (int h = 0; h < 4; h++)
			if (first + 8 * h < rows)
				to[8 * h] = tile.c[h / 2][bit / 2][h % 2 * 2 + bit % 2];
	}
}

template <int COLUMN_WARPS>
__device__ inline void product_tile(const Product &a, i64 row, int j0)
{
	constexpr int COLUMNS = 32 * COLUMN_WARPS;
	const bool aligned = even(a.x.p + row, a.x.ldp) && even(a.x.q + row, a.x.ldq) && even(a.t, a.ldt);
	if (aligned && row + ROWS <= a.x.m && j0 + COLUMNS <= a.n && a.k % CHUNK == 0)
		product_rows<COLUMN_WARPS, WHOLE>(a, row, j0);
	else if (aligned)
		product_rows<COLUMN_WARPS, ALIGNED>(a, row, j0);
	else
		product_rows<COLUMN_WARPS, ODD>(a, row, j0);
}
