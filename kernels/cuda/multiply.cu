// Postmultiplication, [Nov15, Alg. 4.2]: [P Q] ← [P Q]·T in place. Each element is one sequence of operations
// over the columns. Where the diagonal element of a column of T is at least 1/2, the product is formed as
// x + x·(T − I), where T − I is exact. In the late sweeps there is then one rounding of the size of x,
// instead of one in each term.

#include "tile.cuh"

constexpr int ROWS = 64;	  // of a block
constexpr int LD_ROWS = ROWS + PAD;   // of a chunk of columns of x in shared memory
constexpr int LD_INNER = CHUNK + PAD; // of a chunk of rows of t

// What a column of T asks for.
enum Column { NEAR = 1, ZERO = 2 };

// A product X·T of which a block does ROWS rows, into the columns of out.
struct Product {
	Pivot x, out; // the same memory, or not overlapping
	const double *t;
	i64 ldt, k;
	const unsigned char *columns; // flags of the columns, 0: all are NEAR, with the identity already taken out
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
	const int rows = (int)(a.x.m - row < ROWS ? a.x.m - row : ROWS), k = (int)a.k;
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
	auto load = [&](int chunk, int stage) {
		const int l = chunk * CHUNK, place = stage * STAGE;
#pragma unroll
		for (int c = 0; c < CHUNK; c += X_COLUMNS) {
			const int n = ACCESS == WHOLE ? 2 : l + xc + c < k ? clamp2(rows - xr) : 0, to = place + c * LD_ROWS;
			fetch2<ACCESS>(x_to + to, x_at + 8 * to, n ? x(l + xc + c) + xr : anywhere, n);
		}
#pragma unroll
		for (int c = 0; c < COLUMNS; c += T_COLUMNS) {
			const int n = ACCESS == WHOLE ? 2 : j0 + tc + c < k ? clamp2(k - l - tr) : 0, to = place + c * LD_INNER;
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
	const bool idle = j0 + wj >= k || wi >= rows;
	// the rows of this thread are first, first+8, …
	const int g = thread % 32 / 4, t4 = thread % 4, first = wi + g;
	unsigned near = 0, zero = 0; // bit 2j+e: of column j0 + wj + 8j + 2·t4 + e
#pragma unroll
	for (int i = 0; i < 8; i++) {
		const int c = j0 + wj + 8 * (i / 2) + 2 * t4 + i % 2;
		const unsigned flags = c >= k ? 0 : columns ? columns[c] : NEAR;
		near |= (flags & NEAR ? 1u : 0u) << i;
		zero |= (flags & ZERO ? 1u : 0u) << i;
	}
	Tile tile = {};
	pipeline((k + CHUNK - 1) / CHUNK, load, arrived, [&](int, int stage) {
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
	// All elements of x are read, as many as possible at a time, before the first is overwritten.
#pragma unroll
	for (int half = 0; half < 2; half++) {
		double old[4][4];
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const int bit = 4 * half + i, c = j0 + wj + 8 * (bit / 2) + 2 * t4 + bit % 2;
			const bool add = near >> bit & 1;
			const double *from = x(add ? c : 0) + first;
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
	const Pivot out = {a.out.p + row, a.out.q + row, rows, a.out.np, a.out.ldp, a.out.ldq};
#pragma unroll
	for (int bit = 0; bit < 8; bit++) {
		const int c = j0 + wj + 8 * (bit / 2) + 2 * t4 + bit % 2;
		if (c >= k)
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
	if (aligned && row + ROWS <= a.x.m && j0 + COLUMNS <= a.k && a.k % CHUNK == 0)
		product_rows<COLUMN_WARPS, WHOLE>(a, row, j0);
	else if (aligned)
		product_rows<COLUMN_WARPS, ALIGNED>(a, row, j0);
	else
		product_rows<COLUMN_WARPS, ODD>(a, row, j0);
}

// multiply: the block's part of [P Q] ← [P Q]·T for G and, if row_tiles > 0, V: blocks
// x < row_tiles do G, the others V.
template <int COLUMN_WARPS>
__device__ inline void multiply(const Problem *problems, const unsigned char *columns, i64 order,
				i64 row_tiles)
{
	const Problem &b = problems[blockIdx.y];
	const bool v = blockIdx.x >= row_tiles;
	const Pivot &x = v ? b.v : b.g;
	const i64 row = (blockIdx.x - (v ? row_tiles : 0)) * ROWS;
	if (b.tally->changed == 0 || row >= x.m)
		return;
	const unsigned char *flags = columns + (2 * blockIdx.y + v) * order;
	product_tile<COLUMN_WARPS>({x, x, b.t, b.ldt, b.k, flags}, row, 0);
}

// multiply_64, multiply_128, multiply_256: grid (row tiles of G, then of V, problems), block 128, 256 or 512
// threads, for orders k up to 64, 128, 256. columns has 2·order flags for each problem, for G and V. Shared
// bytes: 8·STAGES·(CHUNK·LD_ROWS + columns·LD_INNER).
extern "C" __global__ void __launch_bounds__(128)
multiply_64(const Problem *problems, const unsigned char *columns, i64 order, i64 row_tiles)
{
	multiply<2>(problems, columns, order, row_tiles);
}

extern "C" __global__ void __launch_bounds__(256, 2)
multiply_128(const Problem *problems, const unsigned char *columns, i64 order, i64 row_tiles)
{
	multiply<4>(problems, columns, order, row_tiles);
}

extern "C" __global__ void __launch_bounds__(512, 1)
multiply_256(const Problem *problems, const unsigned char *columns, i64 order, i64 row_tiles)
{
	multiply<8>(problems, columns, order, row_tiles);
}

// multiply_large: the same for any order, rows first … first+count−1 of G, or of V if v ≠ 0, from copies in
// work: matrices of count rows and leading dimension ld, order columns apart for each problem. Grid (row
// tiles, problems, ⌈order/128⌉), block 256 threads.
extern "C" __global__ void __launch_bounds__(256, 2)
multiply_large(const Problem *problems, const unsigned char *columns, i64 order, i64 v, i64 first, i64 count,
	       double *work, i64 ld)
{
	const Problem &b = problems[blockIdx.y];
	Pivot out = v ? b.v : b.g;
	const i64 row = blockIdx.x * ROWS, j0 = blockIdx.z * 128;
	out.m = out.m < first ? 0 : out.m - first < count ? out.m - first : count;
	if (b.tally->changed == 0 || row >= out.m || j0 >= b.k)
		return;
	out.p += first;
	out.q += first;
	double *copy = work + blockIdx.y * ld * order;
	const Pivot x = {copy, copy, out.m, b.k, ld, ld};
	product_tile<4>({x, out, b.t, b.ldt, b.k, columns + (2 * blockIdx.y + v) * order}, row, j0);
}

// copy_rows: the copies for multiply_large. Grid (columns, problems), block 256 threads.
extern "C" __global__ void
copy_rows(const Problem *problems, i64 order, i64 v, i64 first, i64 count, double *work, i64 ld)
{
	const Problem &b = problems[blockIdx.y];
	const Pivot &x = v ? b.v : b.g;
	if (b.tally->changed == 0 || blockIdx.x >= b.k)
		return;
	const double *from = column(x, blockIdx.x) + first;
	double *to = work + (blockIdx.y * order + blockIdx.x) * ld;
	for (i64 i = threadIdx.x; i < count && first + i < x.m; i += blockDim.x)
		to[i] = from[i];
}

// newton_schulz does T ← T + T·E for the problems with Changed ≠ 0, E of order² elements for each problem.
// Grid (row tiles, problems), block 256 threads, k ≤ 128. Shared bytes as multiply_128.
extern "C" __global__ void __launch_bounds__(256, 2)
newton_schulz(const Problem *problems, const double *departures, i64 order)
{
	const Problem &b = problems[blockIdx.y];
	const i64 row = blockIdx.x * ROWS;
	if (b.tally->changed == 0 || row >= b.k)
		return;
	const Pivot t = {b.t, b.t, b.k, b.k, b.ldt, b.ldt};
	product_tile<4>({t, t, departures + blockIdx.y * order * order, order, b.k, 0}, row, 0);
}

// mark_columns sets the flags of the columns of T: NEAR if its diagonal element is at least 1/2, ZERO for G
// if the column of R is zero. Grid (problems), block 1024 threads: a warp takes every 32nd column.
extern "C" __global__ void __launch_bounds__(1024)
mark_columns(const Problem *problems, unsigned char *columns, i64 order)
{
	const Problem &b = problems[blockIdx.x];
	if (b.tally->changed == 0)
		return;
	columns += 2 * blockIdx.x * order;
	const int lane = threadIdx.x % 32;
	for (i64 j = threadIdx.x / 32; j < b.k; j += 32) {
		bool zero = true;
		for (i64 i = lane; zero && i - lane < b.k; i += 32)
			zero = __all_sync(0xffffffff, i >= b.k || b.r[i + j * b.ldr] == 0);
		if (lane == 0) {
			const unsigned char close = b.t[j + j * b.ldt] >= 0.5 ? NEAR : 0;
			columns[j] = close | (zero ? ZERO : 0);
			columns[order + j] = close;
		}
	}
}
