// Postmultiplication of float32 without tensor cores, from copies of rows, for any order and any GPU; and
// what all ways have in common but single_multiply_64 and _128. See single_multiply.cu.

#include "single_tile.cuh"
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
	__shared__ __align__(16) Operands s;
	const SingleProblem &b = problems[blockIdx.y];
	const PivotOf<float> &out = v ? b.v : b.g;
	const i64 row = blockIdx.x * 64, j0 = blockIdx.z * 64;
	if (b.tally->changed == 0 || first + row >= out.m || j0 >= b.k)
		return;
	const float *const copy = work + blockIdx.y * order * count;
	const float *const w = weights + blockIdx.y * order * (order + 1);
	const i64 k = b.k, rows = min(count, out.m - first);
	SingleTile tile = {};
	tile.add<ACROSS>(
		s, k, [=](i64 l, int i) { return row + i < rows && l < k ? copy[row + i + l * count] : 0; },
		[=](i64 l, int j) { return l < k && j0 + j < k ? w[l + (j0 + j) * order] : 0; });
	tile.each([&](int x, int y, float sum) {
		const i64 i = row + x, j = j0 + y;
		if (j < k && i < rows)
			column(out, j)[first + i] = sum + (w[order * order + j] != 0 ? copy[i + j * count] : 0);
	});
}
