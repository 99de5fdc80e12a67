// What Cholesky of float32 does to the rest of a factor of order above 128.

#include "single_tile.cuh"

// single_update does what is right of column j1 and below row j1 of R ← R − XᵀX, with X the rows j0 ≤ j < j1
// of R right of column j1. Grid (⌈(k−j1)/64⌉, ⌈(k−j1)/64⌉, problems), block 256 threads: the tiles above the
// diagonal and on it, and their mirror images.
extern "C" __global__ void __launch_bounds__(256)
single_update(const SingleProblem *problems, i64 j0, i64 j1)
{
	__shared__ __align__(16) Operands s;
	const SingleProblem &b = problems[blockIdx.z];
	const i64 k = b.k - j1, I = blockIdx.x * TILE, J = blockIdx.y * TILE, ld = b.ldr;
	if (I > J || J >= k || !factored(b))
		return;
	const float *const x = b.r + j0 + j1 * ld;
	SingleTile tile = {};
	tile.add<ALONG>(
		s, j1 - j0, [=](i64 l, int i) { return l < j1 - j0 && I + i < k ? x[l + (I + i) * ld] : 0; },
		[=](i64 l, int j) { return l < j1 - j0 && J + j < k ? x[l + (J + j) * ld] : 0; });
	float *const out = b.r + j1 * (ld + 1);
	tile.each([=](int x, int y, float sum) {
		const i64 i = I + x, j = J + y;
		if (i >= k || j >= k)
			return;
		out[i + j * ld] -= sum;
		if (I != J)
			out[j + i * ld] -= sum;
	});
}
