// What Cholesky of float32 does to the rest of a factor of order above 128, by ordinary multiply-adds. A
// block of 256 threads does a tile of 64×64 elements, a thread 4×4 of them. Each element is one sequence of
// operations that depends on its row and its column alone.

#include "common.cuh"

constexpr int TILE = 64, DEPTH = 16; // of a tile, and of the part of its operands that is in shared memory
constexpr int LD = TILE + 4;

// Operands are the part of two matrices that is in shared memory, row l of the inner dimension after row l−1.
struct Operands {
	float left[DEPTH][LD], right[DEPTH][LD];
};

// add adds the product of the operands to c. The thread has rows 4·(thread mod 16) … and columns
// 4·⌊thread/16⌋ …
__device__ inline void add(float (&c)[4][4], const Operands &s)
{
	const int i = threadIdx.x % 16 * 4, j = threadIdx.x / 16 * 4;
#pragma unroll
	for (int l = 0; l < DEPTH; l++) {
		const float4 x = *(const float4 *)&s.left[l][i], y = *(const float4 *)&s.right[l][j];
		const float a[4] = {x.x, x.y, x.z, x.w}, b[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
		for (int p = 0; p < 4; p++)
#pragma unroll
			for (int q = 0; q < 4; q++)
				c[p][q] = __fmaf_rn(a[p], b[q], c[p][q]);
	}
}

// load_inner puts elements l … l+DEPTH−1 of 64 columns into shared memory; element(l, j) gives one.
template <class F> __device__ inline void load_inner(float (&to)[DEPTH][LD], F element)
{
	for (int i = threadIdx.x; i < TILE * DEPTH; i += 256)
		to[i % DEPTH][i / DEPTH] = element(i % DEPTH, i / DEPTH);
}

// single_update does what is right of column j1 and below row j1 of R ← R − XᵀX, with X the rows j0 ≤ j < j1
// of R right of column j1. Grid (⌈(k−j1)/64⌉, ⌈(k−j1)/64⌉, problems), block 256 threads: the tiles above the
// diagonal and on it, and their mirror images.
extern "C" __global__ void __launch_bounds__(256)
single_update(const SingleProblem *problems, i64 j0, i64 j1)
{
	__shared__ __align__(16) Operands s;
	const SingleProblem &b = problems[blockIdx.z];
	const i64 k = b.k - j1, I = blockIdx.x * TILE, J = blockIdx.y * TILE;
	if (I > J || J >= k || !factored(b))
		return;
	float *const rest = b.r + j0 + j1 * b.ldr;
	const PivotOf<float> x = {rest, rest, j1 - j0, k, b.ldr, b.ldr};
	float c[4][4] = {};
	for (i64 l0 = 0; l0 < x.m; l0 += DEPTH) {
		const auto load = [&](float(&to)[DEPTH][LD], i64 from) {
			load_inner(to, [&](int l, int j) {
				return l0 + l < x.m && from + j < k ? column(x, from + j)[l0 + l] : 0;
			});
		};
		__syncthreads();
		load(s.left, I);
		load(s.right, J);
		__syncthreads();
		add(c, s);
	}
	float *const out = b.r + j1 * (b.ldr + 1);
#pragma unroll
	for (int e = 0; e < 16; e++) {
		const i64 i = I + threadIdx.x % 16 * 4 + e / 4, j = J + threadIdx.x / 16 * 4 + e % 4;
		if (i >= k || j >= k)
			continue;
		out[i + j * b.ldr] -= c[e / 4][e % 4];
		if (I != J)
			out[j + i * b.ldr] -= c[e / 4][e % 4];
	}
}
