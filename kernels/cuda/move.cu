// The identity, the norms of columns, and products with a few vectors. The element type E is double or float.

#include "common.cuh"

template <class E> __device__ inline void identity(E *p, i64 m, i64 n, i64 ld, i64 row0)
{
	for (i64 j = blockIdx.x; j < n; j += gridDim.x)
		for (i64 i = threadIdx.x; i < m; i += 256)
			p[i + j * ld] = i == j + row0;
}

// identity_64, identity_32 set the m×n panel p to zero, except ones where row = column + row0. Grid (columns,
// at most 65535), block 256 threads.
extern "C" __global__ void __launch_bounds__(256) identity_64(double *p, i64 m, i64 n, i64 ld, i64 row0)
{
	identity(p, m, n, ld, row0);
}

extern "C" __global__ void __launch_bounds__(256) identity_32(float *p, i64 m, i64 n, i64 ld, i64 row0)
{
	identity(p, m, n, ld, row0);
}

// exact_norm returns the norm of m numbers, [Nov15, App. A], as kernels.Norm2: the plain sum of squares
// where it is safe, else values below `low`, from `high` on and between are scaled and summed apart. All
// 256 threads of the block call it.
template <class E> __device__ inline double exact_norm(const E *a, i64 m, double *shared)
{
	const double infinity = 1.0 / 0.0, low = 0x1p-511;
	const double high = ldexp(1.0, (1022 - (m > 0 ? ilogb((double)m) + 1 : 0)) / 2);
	const auto add = [](double x, double y) { return x + y; };
	double largest = 0, smallest = infinity, odd = 0; // odd: NaN if there is one
	for (i64 i = threadIdx.x; i < m; i += 256) {
		const double x = fabs((double)a[i]);
		largest = fmax(largest, x);
		smallest = x > 0 ? fmin(smallest, x) : smallest;
		odd += x != x ? x : 0;
	}
	largest = block_reduce(largest, shared, [](double x, double y) { return fmax(x, y); });
	smallest = block_reduce(smallest, shared, [](double x, double y) { return fmin(x, y); });
	odd = block_reduce(odd, shared, add);

	const bool safe = smallest >= low && largest <= high;
	const int top = exponent(largest);
	double sum = 0;
	for (int bin = safe ? 1 : 0; bin < (safe ? 2 : 3); bin++) {
		const double from = safe || bin == 0 ? 0 : bin == 1 ? low : high;
		const double to = safe || bin == 2 ? infinity : bin == 0 ? low : high;
		const int shift = bin == 0 ? 600 : bin == 1 ? 0 : -600;
		const double scale = ldexp(1.0, shift);
		double part = 0;
		for (i64 i = threadIdx.x; i < m; i += 256) {
			const double x = fabs((double)a[i]), y = scale * x;
			if (x >= from && x < to)
				part = __fma_rn(y, y, part);
		}
		part = block_reduce(part, shared, add);
		if (safe) {
			sum = part;
		} else {
			part = ldexp(sqrt(part), -shift - top); // relative to 2^top
			sum = __fma_rn(part, part, sum);
		}
	}
	const double x = safe ? sqrt(sum) : ldexp(sqrt(sum), top);
	return odd != odd ? odd : largest == 0 || largest == infinity ? largest : x;
}

template <class E> __device__ inline void column_norms(const E *p, i64 m, i64 n, i64 ld, double *norms)
{
	__shared__ double shared[8];
	for (i64 j = blockIdx.x; j < n; j += gridDim.x) {
		const double x = exact_norm(p + j * ld, m, shared);
		if (threadIdx.x == 0)
			norms[j] = x;
	}
}

// column_norms_64, column_norms_32 put the norms of the columns of the m×n panel p into norms. Grid (columns,
// at most 65535), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
column_norms_64(const double *p, i64 m, i64 n, i64 ld, double *norms)
{
	column_norms(p, m, n, ld, norms);
}

extern "C" __global__ void __launch_bounds__(256)
column_norms_32(const float *p, i64 m, i64 n, i64 ld, double *norms)
{
	column_norms(p, m, n, ld, norms);
}

// lengths puts the norms of the columns of all panels of a list into norms. The plain sum of squares is taken
// if it is far from the ends of the range: most columns are read once. Grid (columns, panels; each at most
// 65535), block 256 threads.
extern "C" __global__ void __launch_bounds__(256) lengths(const Member *list, i64 count, double *norms)
{
	__shared__ double shared[8];
	for (i64 k = blockIdx.y; k < count; k += gridDim.y) {
		const Member p = list[k];
		for (i64 j = blockIdx.x; j < p.n; j += gridDim.x) {
			const double *a = p.p + j * p.ld;
			double sum = 0;
#pragma unroll 8
			for (i64 i = threadIdx.x; i < p.m; i += 256)
				sum = __fma_rn(a[i], a[i], sum);
			sum = block_reduce(sum, shared, [](double x, double y) { return x + y; });
			const double x = sum > 0x1p-900 && sum < 0x1p1000 ? sqrt(sum) : exact_norm(a, p.m, shared);
			if (threadIdx.x == 0)
				norms[p.first + j] = x;
		}
	}
}

constexpr int VECTORS = 4; // that a product takes at a time

// product_transposed puts pᵀ·x into y, for the m×n panel p and `count` vectors x of length m, one after the
// other as those of y are. Grid (columns, at most 65535), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
product_transposed(const double *p, i64 m, i64 n, i64 ld, const double *x, double *y, i64 count)
{
	__shared__ double shared[8];
	for (i64 j = blockIdx.x; j < n; j += gridDim.x) {
		const double *a = p + j * ld;
		for (i64 v = 0; v < count; v += VECTORS) {
			const double *at[VECTORS];
			double sum[VECTORS] = {};
#pragma unroll
			for (int s = 0; s < VECTORS; s++)
				at[s] = x + min(v + s, count - 1) * m;
#pragma unroll 4
			for (i64 i = threadIdx.x; i < m; i += 256) {
				const double e = a[i];
#pragma unroll
				for (int s = 0; s < VECTORS; s++)
					sum[s] = __fma_rn(e, at[s][i], sum[s]);
			}
#pragma unroll
			for (int s = 0; s < VECTORS; s++) {
				const double all = block_reduce(sum[s], shared, [](double u, double w) { return u + w; });
				if (threadIdx.x == 0 && v + s < count)
					y[j + (v + s) * n] = all;
			}
		}
	}
}

// add_pair adds x, in two parts, to high + low.
__device__ inline void add_pair(double &high, double &low, double x, double rest)
{
	const double sum = high + x, t = sum - high;
	low += ((high - (sum - t)) + (x - t)) + rest;
	high = sum;
}

// product puts p·x into y, for the m×n panel p and `count` vectors x of length n, one after the other as
// those of y are; y holds the high parts of the sums, in twice the working precision, and then the low ones.
// Where there are several pieces of the columns their sums follow one another in y, for product_add. A warp
// sums every eighth column. Grid (pieces of 32 rows, at most 65535; pieces of the columns), block 256
// threads.
extern "C" __global__ void __launch_bounds__(256)
product(const double *p, i64 m, i64 n, i64 ld, const double *x, double *y, i64 count)
{
	__shared__ double sums[8][VECTORS][2][32];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const i64 first = n * blockIdx.y / gridDim.y, last = n * (blockIdx.y + 1) / gridDim.y;
	y += 2 * m * count * blockIdx.y;
	for (i64 i0 = (i64)blockIdx.x * 32; i0 < m; i0 += (i64)gridDim.x * 32)
		for (i64 v = 0; v < count; v += VECTORS) {
			const double *const a = p + min(i0 + lane, m - 1), *at[VECTORS];
			double high[VECTORS] = {}, low[VECTORS] = {};
#pragma unroll
			for (int s = 0; s < VECTORS; s++)
				at[s] = x + min(v + s, count - 1) * n;
#pragma unroll 4
			for (i64 j = first + warp; j < last; j += 8) {
				const double e = a[j * ld];
#pragma unroll
				for (int s = 0; s < VECTORS; s++) {
					const double f = at[s][j], u = e * f;
					add_pair(high[s], low[s], u, __fma_rn(e, f, -u));
				}
			}
#pragma unroll
			for (int s = 0; s < VECTORS; s++) {
				sums[warp][s][0][lane] = high[s];
				sums[warp][s][1][lane] = low[s];
			}
			__syncthreads();
			if (warp < VECTORS && v + warp < count && i0 + lane < m) {
				double h = 0, l = 0;
				for (int w = 0; w < 8; w++)
					add_pair(h, l, sums[w][warp][0][lane], sums[w][warp][1][lane]);
				y[i0 + lane + (v + warp) * m] = h;
				y[i0 + lane + (v + warp + count) * m] = l;
			}
			__syncthreads();
		}
}

// product_add adds the sums that product leaves, of so many pieces of the columns, to those of all columns.
// Each has `all` numbers, high parts and low ones. Grid (blocks of 256 numbers), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
product_add(const double *sums, i64 pieces, i64 all, double *y)
{
	const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
	if (i >= all)
		return;
	double high = 0, low = 0;
	for (i64 k = 0; k < pieces; k++)
		add_pair(high, low, sums[2 * k * all + i], sums[(2 * k + 1) * all + i]);
	y[i] = high;
	y[all + i] = low;
}
