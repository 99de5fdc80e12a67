// Gram matrices, [Nov15, Alg. 4.1]: XᵀX for matrices X of many rows, as a sum over chunks of rows. One kernel
// forms the sums of the chunks, another adds them in order. Each element of the result is one sequence of
// operations that depends on its two columns and the number of rows alone.

#include "rows.cuh"

// What is formed, and from what.
enum Purpose {
	PIVOT, // R ← [P Q]ᵀ[P Q]
	// the rest of R ← the rest of R − XᵀX with X the rows j0 ≤ j < j1 of R right of column j1 (Cholesky)
	UPDATE,
};

// The matrix X, and how its rows are cut.
struct Factor {
	Pivot x;
	i64 k, chunk;
	bool skip;
};

__device__ inline Factor factor(const Problem &b, int purpose, i64 j0, i64 j1)
{
	if (purpose == PIVOT)
		return {b.g, b.k, b.chunk, false};
	const i64 rest = b.k > j1 ? b.k - j1 : 0;
	double *x = b.r + j0 + j1 * b.ldr;
	return {{x, x, j1 - j0, rest, b.ldr, b.ldr}, rest, j1 - j0, !factored(b) || rest == 0};
}

// gram_tile forms one tile of a problem, summed over one chunk of its rows.
template <int TILE, bool DIAGONAL>
__device__ inline void gram_tile(const Problem *problems, double *partial, i64 tiles, i64 chunks, int purpose,
				 i64 j0, i64 j1)
{
	const int J = DIAGONAL ? blockIdx.x : triangle(blockIdx.x) + 1;
	const int I = DIAGONAL ? J : blockIdx.x - J * (J - 1) / 2;
	const Factor f = factor(problems[blockIdx.z], purpose, j0, j1);
	const i64 first = blockIdx.y * f.chunk;
	const int rows = (int)(f.x.m < first + f.chunk ? f.x.m - first : f.chunk);
	if (f.skip || rows <= 0 || J * TILE >= f.k)
		return;
	__shared__ const double *address[2 * TILE];
	for (int i = threadIdx.x; i < (DIAGONAL ? 1 : 2) * TILE; i += blockDim.x) {
		const int j = i < TILE ? I * TILE + i : J * TILE + i - TILE;
		address[i] = j < f.k ? column(f.x, j) + first : 0;
	}
	__syncthreads();
	double *out = partial + ((blockIdx.z * tiles + J * (J + 1) / 2 + I) * chunks + blockIdx.y) * (TILE * TILE);
	const int left = (int)f.k - I * TILE, right = (int)f.k - J * TILE;
	const Sums s = {address, f.x.p, min(left, TILE), min(right, TILE), rows};
	sum_tile<TILE, DIAGONAL, false>(s, even(f.x.p, f.x.ldp) && even(f.x.q, f.x.ldq), out);
}

// gram_add adds the sums of the chunks of a problem, in order, and puts the result where it belongs, both
// triangles. A block does the 32×32 elements at block-row I ≤ J, block-column J, and their mirror image.
template <int TILE>
__device__ inline void gram_add(const Problem *problems, const double *partial, i64 tiles, i64 chunks,
				int purpose, i64 j0, i64 j1)
{
	__shared__ double mirror[32][33];
	const Problem &b = problems[blockIdx.y];
	const Factor f = factor(b, purpose, j0, j1);
	const int J = triangle(blockIdx.x), I = blockIdx.x - J * (J + 1) / 2;
	if (f.skip || J * 32 >= f.k)
		return;
	const int TI = I * 32 / TILE, TJ = J * 32 / TILE;
	const double *from = partial + (blockIdx.y * tiles + TJ * (TJ + 1) / 2 + TI) * chunks * (TILE * TILE) +
			     I * 32 % TILE + J * 32 % TILE * TILE;
	const i64 n = (f.x.m + f.chunk - 1) / f.chunk;

	double *out = purpose == UPDATE ? b.r + j1 * (b.ldr + 1) : b.r;
	const i64 ld = b.ldr;
	const int x = threadIdx.x % 32;
	auto put = [&](i64 i, i64 j, double h) {
		if (i >= f.k || j >= f.k)
			return;
		out[i + j * ld] = purpose == UPDATE ? out[i + j * ld] - h : h;
	};
	double h[4] = {}; // elements (x,y), (x,y+8), …: many are read at a time
	const int first = threadIdx.x / 32;
#pragma unroll 4
	for (i64 c = 0; c < n; c++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			h[i] += from[c * TILE * TILE + x + (first + 8 * i) * TILE];
#pragma unroll
	for (int i = 0; i < 4; i++)
		mirror[first + 8 * i][x] = h[i];
	__syncthreads();
	for (int y = threadIdx.x / 32; y < 32; y += 8) {
		// Within a block of the diagonal the upper triangle counts.
		put(I * 32 + x, J * 32 + y, I == J && x > y ? mirror[x][y] : mirror[y][x]);
		if (I != J)
			put(J * 32 + x, I * 32 + y, mirror[x][y]);
	}
}

// gram_diagonal_64, gram_diagonal_128: grid (⌈k/TILE⌉, chunks of rows, problems), block 96 or 320 threads: a
// block forms the upper triangle of one tile of the diagonal. Shared bytes: 8·STAGES·TILE·LD_CHUNK.
// gram_other_64, gram_other_128: grid (pairs of different block-columns, chunks, problems), block 128 or 512
// threads: one tile beside the diagonal. Shared bytes: 16·STAGES·TILE·LD_CHUNK. partial has
// tiles·chunks·TILE² elements for each problem; j0 and j1 are for UPDATE.
extern "C" __global__ void __launch_bounds__(96)
gram_diagonal_64(const Problem *problems, double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0, i64 j1)
{
	gram_tile<64, true>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

extern "C" __global__ void __launch_bounds__(320, 2)
gram_diagonal_128(const Problem *problems, double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0,
		  i64 j1)
{
	gram_tile<128, true>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

extern "C" __global__ void __launch_bounds__(128)
gram_other_64(const Problem *problems, double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0, i64 j1)
{
	gram_tile<64, false>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

extern "C" __global__ void __launch_bounds__(512, 1)
gram_other_128(const Problem *problems, double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0, i64 j1)
{
	gram_tile<128, false>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

// gram_add_64, gram_add_128: grid (32×32 blocks of the upper triangle, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
gram_add_64(const Problem *problems, const double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0,
	    i64 j1)
{
	gram_add<64>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

extern "C" __global__ void __launch_bounds__(256)
gram_add_128(const Problem *problems, const double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0,
	     i64 j1)
{
	gram_add<128>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}
