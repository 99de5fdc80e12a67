// The largest elements of rows and columns.

#include "common.cuh"

// row_maxima puts max |xᵢⱼ|/columns[j] over the elements that are not zero, of row i and a chunk of columns,
// into element i of that chunk's column of out, which has m rows. No list: ones. Grid (pieces of 256 rows;
// chunks), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
row_maxima(const double *p, i64 m, i64 n, i64 ld, const double *columns, i64 chunk, double *out)
{
	const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
	if (i >= m)
		return;
	double most = 0;
	for (i64 j = blockIdx.y * chunk; j < min(n, (blockIdx.y + 1) * chunk); j++) {
		const double x = fabs(p[i + j * ld]);
		if (x != 0)
			most = fmax(most, columns ? x / columns[j] : x);
	}
	out[i + blockIdx.y * m] = most;
}

// column_maxima puts max |xᵢⱼ|/rows[i] over the elements that are not zero, of each column of the m×n panel
// p, into out. No list: ones. Grid (columns, at most 65535), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
column_maxima(const double *p, i64 m, i64 n, i64 ld, const double *rows, double *out)
{
	__shared__ double shared[8];
	for (i64 j = blockIdx.x; j < n; j += gridDim.x) {
		double most = 0;
		for (i64 i = threadIdx.x; i < m; i += 256) {
			const double x = fabs(p[i + j * ld]);
			if (x != 0)
				most = fmax(most, rows ? x / rows[i] : x);
		}
		most = block_reduce(most, shared, [](double x, double y) { return fmax(x, y); });
		if (threadIdx.x == 0)
			out[j] = most;
	}
}

// leads puts the first element of largest magnitude of each column of the m×n panel p into out, 0 for a
// column of zeros. Grid (columns, at most 65535), block 256 threads.
extern "C" __global__ void __launch_bounds__(256) leads(const double *p, i64 m, i64 n, i64 ld, double *out)
{
	__shared__ double shared[8];
	for (i64 j = blockIdx.x; j < n; j += gridDim.x) {
		const double *a = p + j * ld;
		double largest = 0, place = (double)m;
		for (i64 i = threadIdx.x; i < m; i += 256)
			if (fabs(a[i]) > largest) {
				largest = fabs(a[i]);
				place = (double)i;
			}
		const double most = block_reduce(largest, shared, [](double x, double y) { return fmax(x, y); });
		place = block_reduce(largest == most ? place : (double)m, shared,
				     [](double x, double y) { return fmin(x, y); });
		if (threadIdx.x == 0)
			out[j] = most > 0 ? a[(i64)place] : 0;
	}
}
