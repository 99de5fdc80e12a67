// Tiles of products of columns, as sums over rows.
#pragma once

#include "tile.cuh"

constexpr int LD_CHUNK = GRAM_CHUNK + PAD; // of a column's chunk of rows in shared memory

// triangle returns the column of entry i of an upper triangle that is numbered column by column.
__device__ inline int triangle(int i)
{
	int column = 0;
	while ((column + 1) * (column + 2) / 2 <= i)
		column++;
	return column;
}

// What a tile of products is summed from. address tells where its columns begin, TILE on the left and then
// TILE on the right, 0 beyond the last; of those, `left` and `right` are there. A tile of the diagonal has
// the same columns on both sides. What lies `anywhere` may be read.
struct Sums {
	const double **address, *anywhere;
	int left, right, rows;
};

// What else is done with a chunk of rows of columns in shared memory, LD_CHUNK apart: nothing.
struct Nothing {
	__device__ void see(const double *) {}
};

// The square of the length of column threadIdx.x.
struct SquareSum {
	double even = 0, odd = 0;

	__device__ void see(const double *columns)
	{
		const double2 *const x = (const double2 *)(columns + threadIdx.x * LD_CHUNK);
#pragma unroll
		for (int l = 0; l < GRAM_CHUNK / 2; l++) {
			const double2 y = x[l];
			even = __fma_rn(y.x, y.x, even);
			odd = __fma_rn(y.y, y.y, odd);
		}
	}
};

// sum_rows forms a tile of products of columns, summed over some rows, and calls put(row, column, sum) for
// its elements. Tiles of the diagonal have a warp for each 32×32 tile of the upper triangle, the others one
// for each MANY of these, one below the other. SHORT: each GRAM_CHUNK rows are summed by themselves. `also`
// sees the chunks, too.
template <int TILE, int MANY, bool DIAGONAL, bool SHORT, Access ACCESS, class Put, class Also>
__device__ inline void sum_rows(const Sums &s, Put put, Also &also)
{
	static_assert(MANY == 1 || !DIAGONAL, "a warp has one tile of a triangle");
	constexpr int SIDE = TILE / 32, WARPS = DIAGONAL ? SIDE * (SIDE + 1) / 2 : SIDE * SIDE / MANY;
	constexpr int THREADS = 32 * WARPS;
	constexpr bool FEW = THREADS > 256; // registers: all copies are started before the products
	constexpr int COLUMNS = DIAGONAL ? TILE : 2 * TILE, PER_COLUMN = GRAM_CHUNK / 2; // copies for a column
	extern __shared__ __align__(16) double shared[]; // STAGES × COLUMNS × LD_CHUNK

	const int thread = threadIdx.x, warp = thread / 32, rows = s.rows;
	const int wj = DIAGONAL ? triangle(warp) : warp / (SIDE / MANY);
	const int wi = DIAGONAL ? warp - wj * (wj + 1) / 2 : warp % (SIDE / MANY) * MANY;
	const double **const address = s.address;
	const double *const anywhere = s.anywhere;
	// This thread copies two rows r of columns c, c + STEP, …
	constexpr int STEP = THREADS / PER_COLUMN;
	static_assert(THREADS % PER_COLUMN == 0, "a thread copies the same rows of all its columns");
	const int c = thread / PER_COLUMN, r = thread % PER_COLUMN * 2;
	double *const to = shared + c * LD_CHUNK + r;
	const unsigned at = (unsigned)__cvta_generic_to_shared(to);
	constexpr int COPIES = (COLUMNS + STEP - 1) / STEP, PARTS = MANY * GRAM_CHUNK / 4;
	auto load = [&](int chunk, int stage, int part) {
		const int row = chunk * GRAM_CHUNK + r, place = stage * COLUMNS * LD_CHUNK;
#pragma unroll
		for (int k = part * COPIES / PARTS; k < (part + 1) * COPIES / PARTS; k++) {
			const int n = k * STEP;
			if (COLUMNS % STEP != 0 && n + STEP > COLUMNS && c + n >= COLUMNS)
				break;
			const double *from = address[c + n];
			const int valid = ACCESS == WHOLE ? 2 : from ? clamp2(rows - row) : 0;
			fetch2<ACCESS>(to + place + n * LD_CHUNK, at + 8 * (place + n * LD_CHUNK), valid ? from + row : anywhere,
				       valid);
		}
	};
	auto idle = [&](int i) { return (wi + i) * 32 >= s.left || wj * 32 >= s.right; };
	Tile tile[MANY] = {};
	auto arrived = [](int, int) {};
	const int chunks = (rows + GRAM_CHUNK - 1) / GRAM_CHUNK;
	pipeline<PARTS>(chunks, load, arrived, [&](int, int stage, const Copies<decltype(load)> &copies) {
		also.see(shared + stage * COLUMNS * LD_CHUNK);
		const double *right = shared + (stage * COLUMNS + (DIAGONAL ? 0 : TILE) + wj * 32) * LD_CHUNK;
		auto start = [&](int from, int to) {
#pragma unroll
			for (int part = from; part < to; part++)
				copies.start(part);
		};
		if (FEW)
			start(0, PARTS);
#pragma unroll
		for (int i = 0; i < MANY; i++) {
			if (idle(i)) {
				if (!FEW)
					start(i * GRAM_CHUNK / 4, (i + 1) * GRAM_CHUNK / 4);
				continue;
			}
			const double *left = shared + (stage * COLUMNS + (wi + i) * 32) * LD_CHUNK;
			Tile part = {};
			Tile &sum = SHORT ? part : tile[i];
#pragma unroll
			for (int l = 0; l < GRAM_CHUNK; l += 4) {
				multiply_add<LD_CHUNK, 1, LD_CHUNK, 1>(sum, left + l, right + l);
				if (!FEW)
					copies.start((i * GRAM_CHUNK + l) / 4);
			}
			if (SHORT)
				tile[i].add(part);
		}
	});
#pragma unroll
	for (int i = 0; i < MANY; i++)
		if (!idle(i))
			each(tile[i], [=](int row, int column, double x) { put((wi + i) * 32 + row, wj * 32 + column, x); });
}

// sum_tile is sum_rows with the best way to copy; aligned: all columns begin at multiples of 16 bytes.
template <int TILE, int MANY, bool DIAGONAL, bool SHORT, class Put, class Also>
__device__ inline void sum_tile(const Sums &s, bool aligned, Put put, Also &&also)
{
	if (aligned && s.rows % GRAM_CHUNK == 0 && s.left == TILE && s.right == TILE)
		sum_rows<TILE, MANY, DIAGONAL, SHORT, WHOLE>(s, put, also);
	else if (aligned)
		sum_rows<TILE, MANY, DIAGONAL, SHORT, ALIGNED>(s, put, also);
	else
		sum_rows<TILE, MANY, DIAGONAL, SHORT, ODD>(s, put, also);
}

// into returns what puts the elements of a tile into TILE² numbers, column by column.
template <int TILE> __device__ inline auto into(double *out)
{
	return [=](int row, int column, double x) { out[row + column * TILE] = x; };
}
