// Gram matrices and products of float32 by ordinary multiply-adds, for any order and any GPU. A block of 256
// threads does a tile of 64×64 elements, a thread 4×4 of them. Each element is one sequence of operations
// that depends on its row and its column alone.

#include "common.cuh"

constexpr int TILE = 64, DEPTH = 16; // of a tile, and of the part of its operands that is in shared memory
constexpr int LD = TILE + 4;
constexpr int SUMMED = 256; // rows that are summed by themselves

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

// single_gram forms R ← [P Q]ᵀ[P Q]. If update ≠ 0 it does, for Cholesky, what is right of column j1 and
// below row j1 of R ← R − XᵀX, with X the rows j0 ≤ j < j1 of R right of column j1. Grid (⌈k/64⌉, ⌈k/64⌉,
// problems), block 256 threads: the tiles above the diagonal and on it, and their mirror images.
extern "C" __global__ void __launch_bounds__(256)
single_gram(const SingleProblem *problems, i64 update, i64 j0, i64 j1)
{
	__shared__ __align__(16) Operands s;
	const SingleProblem &b = problems[blockIdx.z];
	const i64 first = update ? j1 : 0, k = b.k - first, I = blockIdx.x * TILE, J = blockIdx.y * TILE;
	if (I > J || J >= k || (update && !factored(b)))
		return;
	float *const rest = b.r + j0 + j1 * b.ldr;
	const PivotOf<float> x = update ? PivotOf<float>{rest, rest, j1 - j0, k, b.ldr, b.ldr} : b.g;
	float sum[4][4] = {}, c[4][4] = {};
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
		if ((l0 + DEPTH) % SUMMED == 0 || l0 + DEPTH >= x.m)
#pragma unroll
			for (int e = 0; e < 16; e++) {
				sum[e / 4][e % 4] += c[e / 4][e % 4];
				c[e / 4][e % 4] = 0;
			}
	}
	float *const out = b.r + first * (b.ldr + 1);
	const auto put = [&](i64 i, i64 j, float h) {
		float *const to = out + i + j * b.ldr;
		*to = update ? *to - h : h;
	};
#pragma unroll
	for (int e = 0; e < 16; e++) {
		const i64 i = I + threadIdx.x % 16 * 4 + e / 4, j = J + threadIdx.x / 16 * 4 + e % 4;
		if (i >= k || j >= k)
			continue;
		put(i, j, sum[e / 4][e % 4]);
		if (I != J)
			put(j, i, sum[e / 4][e % 4]);
	}
}

// single_copy_rows copies rows first … first+count−1 of G, or of V if v ≠ 0, to work: matrices of count rows
// and `order` columns, one for each problem. Grid (columns, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_copy_rows(const SingleProblem *problems, i64 order, i64 v, i64 first, i64 count, float *work)
{
	const SingleProblem &b = problems[blockIdx.y];
	const PivotOf<float> &x = v ? b.v : b.g;
	if (b.tally->changed == 0 || blockIdx.x >= b.k)
		return;
	const float *from = column(x, blockIdx.x) + first;
	float *to = work + (blockIdx.y * order + blockIdx.x) * count;
	for (i64 i = threadIdx.x; i < count && first + i < x.m; i += 256)
		to[i] = from[i];
}

// single_multiply puts the products of these copies by T, or by the weights if there are any, in their place.
// Where a column is NEAR, the product is formed as x + x·(T − I), where T − I is exact. Grid (⌈count/64⌉,
// problems, ⌈order/64⌉), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_multiply(const SingleProblem *problems, const float *weights, const unsigned char *columns, i64 order,
		i64 v, i64 first, i64 count, const float *work)
{
	__shared__ __align__(16) Operands s;
	const SingleProblem &b = problems[blockIdx.y];
	const PivotOf<float> &out = v ? b.v : b.g;
	const i64 row = (i64)blockIdx.x * TILE, J = (i64)blockIdx.z * TILE, rows = min(count, out.m - first);
	if (b.tally->changed == 0 || row >= rows || J >= b.k)
		return;
	const bool weighed = v && weights && !b.scaled;
	const float *const t = weighed ? weights + blockIdx.y * order * order : b.t;
	const i64 ldt = weighed ? order : b.ldt;
	columns += (2 * blockIdx.y + (v ? 1 : 0)) * order;
	work += blockIdx.y * order * count;
	float c[4][4] = {};
	for (i64 l0 = 0; l0 < b.k; l0 += DEPTH) {
		__syncthreads();
		for (int i = threadIdx.x; i < TILE * DEPTH; i += 256) {
			const i64 r = row + i % TILE, l = l0 + i / TILE;
			s.left[i / TILE][i % TILE] = r < rows && l < b.k ? work[r + l * count] : 0;
		}
		load_inner(s.right, [&](int l, int j) {
			if (l0 + l >= b.k || J + j >= b.k)
				return 0.0f;
			const float x = t[l0 + l + (J + j) * ldt];
			return l0 + l == J + j && x >= 0.5f ? x - 1 : x;
		});
		__syncthreads();
		add(c, s);
	}
#pragma unroll
	for (int e = 0; e < 16; e++) {
		const i64 i = row + threadIdx.x % 16 * 4 + e / 4, j = J + threadIdx.x / 16 * 4 + e % 4;
		if (i >= rows || j >= b.k)
			continue;
		const float x = columns[j] & NEAR ? work[i + j * count] : 0;
		column(out, j)[first + i] = columns[j] & ZERO ? 0 : x + c[e / 4][e % 4];
	}
}
