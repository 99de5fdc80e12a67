// What moves the elements of panels, or multiplies each by a number. The element types E and F are double or
// float.

#include "common.cuh"

// each calls f(i, j) for the elements of an m×n panel. Grid (pieces of 256 rows; columns, at most 65535),
// block 256 threads.
template <class F> __device__ inline void each(i64 m, i64 n, F f)
{
	const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
	for (i64 j = blockIdx.y; i < m && j < n; j += gridDim.y)
		f(i, j);
}

template <class E, class F>
__device__ inline void convert(E *dst, i64 ldd, const F *src, i64 lds, i64 m, i64 n)
{
	each(m, n, [&](i64 i, i64 j) { dst[i + j * ldd] = (E)src[i + j * lds]; });
}

extern "C" __global__ void __launch_bounds__(256)
convert_64_64(double *dst, i64 ldd, const double *src, i64 lds, i64 m, i64 n)
{
	convert(dst, ldd, src, lds, m, n);
}

extern "C" __global__ void __launch_bounds__(256)
convert_64_32(double *dst, i64 ldd, const float *src, i64 lds, i64 m, i64 n)
{
	convert(dst, ldd, src, lds, m, n);
}

extern "C" __global__ void __launch_bounds__(256)
convert_32_64(float *dst, i64 ldd, const double *src, i64 lds, i64 m, i64 n)
{
	convert(dst, ldd, src, lds, m, n);
}

extern "C" __global__ void __launch_bounds__(256)
convert_32_32(float *dst, i64 ldd, const float *src, i64 lds, i64 m, i64 n)
{
	convert(dst, ldd, src, lds, m, n);
}

// transpose makes each panel of a list the transpose of one of another list. Grid (pieces of 32 rows of the
// longest to transpose; pieces of 32 columns of the widest; panels; both at most 65535), block 256 threads.
extern "C" __global__ void __launch_bounds__(256) transpose(const Member *dst, const Member *src, i64 count)
{
	__shared__ double tile[32][33];
	const int x = threadIdx.x % 32, y = threadIdx.x / 32;
	const i64 i0 = (i64)blockIdx.x * 32;
	for (i64 k = blockIdx.z; k < count; k += gridDim.z) {
		const Member from = src[k], to = dst[k];
		for (i64 j0 = (i64)blockIdx.y * 32; i0 < from.m && j0 < from.n; j0 += (i64)gridDim.y * 32) {
			for (int j = y; j < 32; j += 8)
				if (i0 + x < from.m && j0 + j < from.n)
					tile[j][x] = from.p[i0 + x + (j0 + j) * from.ld];
			__syncthreads();
			for (int i = y; i < 32; i += 8)
				if (i0 + i < from.m && j0 + x < from.n)
					to.p[j0 + x + (i0 + i) * to.ld] = tile[x][i];
			__syncthreads();
		}
	}
}

// gather_rows makes row i of the m×n panel dst row from[i] of src, or zero where that is negative. Grid and
// block as each.
extern "C" __global__ void __launch_bounds__(256)
gather_rows(double *dst, i64 ldd, const double *src, i64 lds, const i64 *from, i64 m, i64 n)
{
	each(m, n, [&](i64 i, i64 j) { dst[i + j * ldd] = from[i] < 0 ? 0 : src[from[i] + j * lds]; });
}

// move_columns copies column from[k] of src to column to[k] of dst, k < n, of m rows each. No list: column k.
// Grid and block as each.
template <class E, class F>
__device__ inline void move_columns(E *dst, i64 ldd, const i64 *to, const F *src, i64 lds, const i64 *from,
	i64 m, i64 n)
{
	each(m, n, [&](i64 i, i64 k) {
		dst[i + (to ? to[k] : k) * ldd] = (E)src[i + (from ? from[k] : k) * lds];
	});
}

extern "C" __global__ void __launch_bounds__(256)
move_columns_64_64(double *dst, i64 ldd, const i64 *to, const double *src, i64 lds, const i64 *from, i64 m,
	i64 n)
{
	move_columns(dst, ldd, to, src, lds, from, m, n);
}

extern "C" __global__ void __launch_bounds__(256)
move_columns_64_32(double *dst, i64 ldd, const i64 *to, const float *src, i64 lds, const i64 *from, i64 m,
	i64 n)
{
	move_columns(dst, ldd, to, src, lds, from, m, n);
}

extern "C" __global__ void __launch_bounds__(256)
move_columns_32_64(float *dst, i64 ldd, const i64 *to, const double *src, i64 lds, const i64 *from, i64 m,
	i64 n)
{
	move_columns(dst, ldd, to, src, lds, from, m, n);
}

extern "C" __global__ void __launch_bounds__(256)
move_columns_32_32(float *dst, i64 ldd, const i64 *to, const float *src, i64 lds, const i64 *from, i64 m,
	i64 n)
{
	move_columns(dst, ldd, to, src, lds, from, m, n);
}

// scale does x ← (x·rows[i])·columns[j] for the m×n panel p; no list: ones. Grid and block as each.
extern "C" __global__ void __launch_bounds__(256)
scale(double *p, i64 m, i64 n, i64 ld, const double *rows, const double *columns)
{
	each(m, n, [&](i64 i, i64 j) {
		const double x = rows ? p[i + j * ld] * rows[i] : p[i + j * ld];
		p[i + j * ld] = columns ? x * columns[j] : x;
	});
}

// divide does x ← (x/rows[i])/columns[j] for the m×n panel p; no list: ones. Grid and block as each.
extern "C" __global__ void __launch_bounds__(256)
divide(double *p, i64 m, i64 n, i64 ld, const double *rows, const double *columns)
{
	each(m, n, [&](i64 i, i64 j) {
		const double x = rows ? p[i + j * ld] / rows[i] : p[i + j * ld];
		p[i + j * ld] = columns ? x / columns[j] : x;
	});
}

// multiply_power does x ← 2ᵉ·x for the m×n panel p. Grid and block as each.
extern "C" __global__ void __launch_bounds__(256) multiply_power(double *p, i64 m, i64 n, i64 ld, i64 e)
{
	each(m, n, [&](i64 i, i64 j) { p[i + j * ld] = ldexp(p[i + j * ld], (int)e); });
}

// add does dst ← dst + src for m×n panels. Grid and block as each.
extern "C" __global__ void __launch_bounds__(256)
add(double *dst, i64 ldd, const double *src, i64 lds, i64 m, i64 n)
{
	each(m, n, [&](i64 i, i64 j) { dst[i + j * ldd] += src[i + j * lds]; });
}

// lower replaces the lower triangle of the n×n panel p: by zeroes, or by the mirror image of the upper one.
// Grid (pieces of 32 rows; pieces of 32 columns, at most 65535), block 256 threads.
template <class E> __device__ inline void lower(E *p, i64 n, i64 ld, bool mirror)
{
	__shared__ E tile[32][33];
	const int x = threadIdx.x % 32, y = threadIdx.x / 32;
	const i64 i0 = (i64)blockIdx.x * 32;
	for (i64 j0 = (i64)blockIdx.y * 32; j0 <= i0; j0 += (i64)gridDim.y * 32) { // tile (j0, i0) goes to (i0, j0)
		for (int i = y; i < 32; i += 8)
			tile[i][x] = mirror && i0 + i < n && j0 + x < n ? p[j0 + x + (i0 + i) * ld] : 0;
		__syncthreads();
		for (int j = y; j < 32; j += 8)
			if (i0 + x < n && j0 + j < i0 + x)
				p[i0 + x + (j0 + j) * ld] = tile[x][j];
		__syncthreads();
	}
}

extern "C" __global__ void __launch_bounds__(256) lower_64(double *p, i64 n, i64 ld, i64 mirror)
{
	lower(p, n, ld, mirror != 0);
}

extern "C" __global__ void __launch_bounds__(256) lower_32(float *p, i64 n, i64 ld, i64 mirror)
{
	lower(p, n, ld, mirror != 0);
}

// clear sets all panels of a list to zero. Grid (columns, panels; each at most 65535), block 64 threads.
extern "C" __global__ void __launch_bounds__(64) clear(const Member *list, i64 count)
{
	for (i64 k = blockIdx.y; k < count; k += gridDim.y) {
		const Member p = list[k];
		for (i64 j = blockIdx.x; j < p.n; j += gridDim.x)
			for (i64 i = threadIdx.x; i < p.m; i += 64)
				p.p[i + j * p.ld] = 0;
	}
}

// elements copies those of panel k of a list to out[start[k]…], column-major. Grid and block as clear.
extern "C" __global__ void __launch_bounds__(64)
elements(const Member *list, const i64 *start, i64 count, double *out)
{
	for (i64 k = blockIdx.y; k < count; k += gridDim.y) {
		const Member p = list[k];
		for (i64 j = blockIdx.x; j < p.n; j += gridDim.x)
			for (i64 i = threadIdx.x; i < p.m; i += 64)
				out[start[k] + i + j * p.m] = p.p[i + j * p.ld];
	}
}
