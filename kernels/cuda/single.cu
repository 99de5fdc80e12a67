// What a batch of float32 has besides its panels: the norms of its columns, and the matrix that V is
// multiplied by.

#include "common.cuh"

// before returns where the norm of column j of [P Q] is.
__device__ inline double *before(const SingleProblem &b, i64 j)
{
	return j < b.g.np ? b.norms_p + j : b.norms_q + (j - b.g.np);
}

// single_factors sets Factors to Norms. Grid (problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256) single_factors(const SingleProblem *problems)
{
	const SingleProblem &b = problems[blockIdx.x];
	for (i64 j = threadIdx.x; j < b.k; j += 256)
		b.factors[j] = *before(b, j);
}

// single_norms sets Norms to Factors in the problems that were changed. Grid (problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256) single_norms(const SingleProblem *problems)
{
	const SingleProblem &b = problems[blockIdx.x];
	if (b.tally->changed == 0)
		return;
	for (i64 j = threadIdx.x; j < b.k; j += 256)
		*before(b, j) = b.factors[j];
}

// single_weights puts D⁻¹·T·D' into weights, of order² elements for each problem, which V is multiplied by. A
// column that is zero has been left alone. One whose norm has fallen below the range has some norm. Grid
// (columns, problems), block 128 threads.
extern "C" __global__ void __launch_bounds__(128)
single_weights(const SingleProblem *problems, float *weights, i64 order)
{
	const SingleProblem &b = problems[blockIdx.y];
	const i64 j = blockIdx.x;
	if (b.tally->changed == 0 || b.scaled || j >= b.k)
		return;
	const double after = *before(b, j) == 0 ? 1 : fmax(b.factors[j], 0x1p-1022);
	float *const to = weights + (blockIdx.y * order + j) * order;
	for (i64 i = threadIdx.x; i < b.k; i += 128) {
		const double d = *before(b, i), t = b.t[i + j * b.ldt];
		to[i] = t == 0 ? 0 : (float)(t * ((d == 0 ? 1 : 1 / d) * after));
	}
}

// single_mark sets the flags of the columns of T, as mark_columns, order of them for G and as many for V.
// weights has what V is multiplied by, or is 0. Grid (problems), block 1024 threads: a warp takes every 32nd
// column.
extern "C" __global__ void __launch_bounds__(1024)
single_mark(const SingleProblem *problems, const float *weights, unsigned char *columns, i64 order)
{
	const SingleProblem &b = problems[blockIdx.x];
	if (b.tally->changed == 0)
		return;
	columns += 2 * blockIdx.x * order;
	const int lane = threadIdx.x % 32;
	for (i64 j = threadIdx.x / 32; j < b.k; j += 32) {
		bool zero = true;
		for (i64 i = lane; zero && i - lane < b.k; i += 32)
			zero = __all_sync(0xffffffff, i >= b.k || b.r[i + j * b.ldr] == 0);
		if (lane == 0) {
			const float own = b.t[j + j * b.ldt];
			const float other = weights && !b.scaled ? weights[(blockIdx.x * order + j) * order + j] : own;
			columns[j] = (own >= 0.5f ? NEAR : 0) | (zero ? ZERO : 0);
			columns[order + j] = other >= 0.5f ? NEAR : 0;
		}
	}
}
