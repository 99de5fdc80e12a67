// Postmultiplication, [Nov15, Alg. 4.2]: [P Q] ← [P Q]·T in place. Each element is one sequence of operations
// over the columns. Where the diagonal element of a column of T is at least 1/2, the product is formed as
// x + x·(T − I), where T − I is exact. In the late sweeps there is then one rounding of the size of x,
// instead of one in each term.

#include "product.cuh"

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
	product_tile<COLUMN_WARPS>({x, x, b.t, b.ldt, b.k, b.k, flags}, row, 0);
}

// multiply_64, multiply_128, multiply_256: grid (row tiles of G, then of V, problems), block 128, 256 or 512
// threads, for orders k up to 64, 128, 256. columns has 2·order flags for each problem, for G and V. Shared
// bytes: 8·STAGES·(CHUNK·LD_ROWS + columns·LD_INNER).
extern "C" __global__ void __launch_bounds__(128)
multiply_64(const Problem *problems, const unsigned char *columns, i64 order, i64 row_tiles)
{
	in_turn();
	multiply<2>(problems, columns, order, row_tiles);
}

extern "C" __global__ void __launch_bounds__(256, 2)
multiply_128(const Problem *problems, const unsigned char *columns, i64 order, i64 row_tiles)
{
	in_turn();
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
	product_tile<4>({x, out, b.t, b.ldt, b.k, b.k, columns + (2 * blockIdx.y + v) * order}, row, j0);
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

// mark_columns sets the flags of the columns of T: NEAR if its diagonal element is at least 1/2, ZERO for G
// if the column of R is zero. Grid (problems), block 1024 threads: a warp takes every 32nd column.
extern "C" __global__ void __launch_bounds__(1024)
mark_columns(const Problem *problems, unsigned char *columns, i64 order)
{
	in_turn();
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
