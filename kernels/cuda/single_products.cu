// Postmultiplication of float32 without tensor cores, from copies of rows, for any order and any GPU; and
// what all ways have in common but single_multiply_64 and _128. See single_multiply.cu.

#include "single_weights.cuh"

// single_weights makes W itself, `order` columns of leading dimension order, and then a number for each
// column as in an image. Grid (⌈order/8⌉, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_weights(const SingleProblem *problems, float *weights, i64 order, i64 v)
{
	const SingleProblem &b = problems[blockIdx.y];
	const int j = blockIdx.x * 8 + threadIdx.x / 32;
	if (b.tally->changed == 0 || j >= order)
		return;
	float *const w = weights + blockIdx.y * order * (order + 1);
	prepare(b, v, 0, (int)order, j, [&](int i, float x, bool near) {
		w[i + j * order] = x;
		if (i == j)
			w[order * order + j] = near;
	});
}

// single_norms does so where G is multiplied by blocks or without tensor cores. Grid (problems), block 256
// threads.
extern "C" __global__ void __launch_bounds__(256) single_norms(const SingleProblem *problems)
{
	if (problems[blockIdx.x].tally->changed != 0)
		replace_norms(problems[blockIdx.x]);
}
// single_copy copies rows first … first+count−1 of G, or of V if v ≠ 0, to work: matrices of count rows and
// `order` columns apart for each problem. Grid (columns, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_copy(const SingleProblem *problems, i64 order, i64 v, i64 first, i64 count, float *work)
{
	const SingleProblem &b = problems[blockIdx.y];
	const PivotOf<float> &x = v ? b.v : b.g;
	if (b.tally->changed == 0 || blockIdx.x >= b.k)
		return;
	const float *const from = column(x, blockIdx.x) + first;
	float *const to = work + (blockIdx.y * order + blockIdx.x) * count;
	for (i64 i = threadIdx.x; i < count && first + i < x.m; i += 256)
		to[i] = from[i];
}

// single_product multiplies those rows by W, without tensor cores. Grid (tiles of 64 rows, problems,
// ⌈order/64⌉), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_product(const SingleProblem *problems, i64 order, i64 v, i64 first, i64 count, const float *work,
	       const float *weights)
{
	__shared__ float x[16][65], y[16][65];
	const SingleProblem &b = problems[blockIdx.y];
	const PivotOf<float> &out = v ? b.v : b.g;
	const i64 row = blockIdx.x * 64, j0 = blockIdx.z * 64;
	if (b.tally->changed == 0)
		return;
	if (first + row >= out.m || j0 >= b.k)
		return;
	const float *const copy = work + blockIdx.y * order * count;
	const float *const w = weights + blockIdx.y * order * (order + 1);
	const int r = threadIdx.x % 16, c = threadIdx.x / 16;
	float sum[4][4] = {};
	for (i64 l = 0; l < b.k; l += 16) {
		__syncthreads();
		for (int e = threadIdx.x; e < 16 * 64; e += 256) {
			const i64 i = row + e % 64, ix = l + e / 64, iy = l + e % 16, j = j0 + e / 16;
			x[e / 64][e % 64] = i < count && first + i < out.m && ix < b.k ? copy[i + ix * count] : 0;
			y[e % 16][e / 16] = iy < b.k && j < b.k ? w[iy + j * order] : 0;
		}
		__syncthreads();
#pragma unroll 4
		for (int s = 0; s < 16; s++)
#pragma unroll
			for (int m = 0; m < 4; m++)
#pragma unroll
				for (int n = 0; n < 4; n++)
					sum[m][n] = __fmaf_rn(x[s][r + 16 * m], y[s][c + 16 * n], sum[m][n]);
	}
#pragma unroll
	for (int n = 0; n < 4; n++) {
		const i64 j = j0 + c + 16 * n;
#pragma unroll
		for (int m = 0; m < 4; m++) {
			const i64 i = row + r + 16 * m;
			if (j < b.k && i < count && first + i < out.m)
				column(out, j)[first + i] = sum[m][n] + (w[order * order + j] != 0 ? copy[i + j * count] : 0);
		}
	}
}
