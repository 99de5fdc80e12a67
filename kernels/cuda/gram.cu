// Gram matrices, [Nov15, Alg. 4.1]: XᵀX for matrices X of many rows, as a sum over chunks of rows. One kernel
// forms the sums of the chunks, another adds them in order. Each element of the result is one sequence of
// operations that depends on its two columns and the number of rows alone.

#include "known.cuh"
#include "rows.cuh"

// What is formed, and from what.
enum Purpose {
	PIVOT, // R ← [P Q]ᵀ[P Q]
	// the rest of R ← the rest of R − XᵀX with X the rows j0 ≤ j < j1 of R right of column j1 (Cholesky)
	UPDATE,
	SIDES, // as PIVOT, where P and Q have up to 64 columns, and products of theirs may be known
};

// The matrix X, and how its rows are cut. across: columns of P begin at place 0, those of Q at place 64, and
// their products with each other are known.
struct Factor {
	Pivot x;
	i64 k, chunk;
	bool skip, across;

	// columns returns how many there are from a place on, `most` at most, in a block of columns.
	__device__ int columns(int place, int most) const
	{
		const i64 left = !across ? k - place
				 : place < KNOWN_WIDTH ? x.np - place
						       : k - x.np - (place - KNOWN_WIDTH);
		return (int)(left < most ? left : most);
	}
	// number returns the number of the column in a place, k or more for none.
	__device__ i64 number(const Problem &b, int place) const { return across ? place_across(b, place) : place; }
};

__device__ inline Factor factor(const Problem &b, int purpose, i64 j0, i64 j1)
{
	if (purpose != UPDATE)
		return {b.g, b.k, b.chunk, false, purpose == SIDES && known(b)};
	const i64 rest = b.k > j1 ? b.k - j1 : 0;
	double *x = b.r + j0 + j1 * b.ldr;
	return {{x, x, j1 - j0, rest, b.ldr, b.ldr}, rest, j1 - j0, !factored(b) || rest == 0, false};
}

// gram_tile forms tile (I, J) of a problem, summed over one chunk of its rows. It returns whether there is
// anything to be done.
template <int TILE, bool DIAGONAL, class Also>
__device__ inline bool gram_tile(const Problem &b, const Factor &f, int I, int J, double *partial, i64 tiles,
				 i64 chunks, Also &&also)
{
	const i64 first = blockIdx.y * f.chunk;
	const int rows = (int)(f.x.m < first + f.chunk ? f.x.m - first : f.chunk);
	const int left = f.columns(I * TILE, TILE), right = f.columns(J * TILE, TILE);
	if (f.skip || rows <= 0 || right <= 0)
		return false;
	__shared__ const double *address[2 * TILE];
	for (int i = threadIdx.x; i < (DIAGONAL ? 1 : 2) * TILE; i += blockDim.x) {
		const i64 j = f.number(b, i < TILE ? I * TILE + i : J * TILE + i - TILE);
		address[i] = j < f.k ? column(f.x, j) + first : 0;
	}
	__syncthreads();
	double *out = partial + ((blockIdx.z * tiles + J * (J + 1) / 2 + I) * chunks + blockIdx.y) * (TILE * TILE);
	const Sums s = {address, f.x.p, left, right, rows};
	sum_tile<TILE, 1, DIAGONAL, false>(s, even(f.x.p, f.x.ldp) && even(f.x.q, f.x.ldq), into<TILE>(out), also);
	return true;
}

// gram_diagonal and gram_other form the tiles on and beside the diagonal.
template <int TILE>
__device__ inline void gram_diagonal(const Problem *problems, double *partial, i64 tiles, i64 chunks,
				     int purpose, i64 j0, i64 j1)
{
	const Problem &b = problems[blockIdx.z];
	gram_tile<TILE, true>(b, factor(b, purpose, j0, j1), blockIdx.x, blockIdx.x, partial, tiles, chunks,
			      Nothing());
}

template <int TILE>
__device__ inline void gram_other(const Problem *problems, double *partial, i64 tiles, i64 chunks,
				  int purpose, i64 j0, i64 j1)
{
	const Problem &b = problems[blockIdx.z];
	const int J = triangle(blockIdx.x) + 1, I = blockIdx.x - J * (J - 1) / 2;
	gram_tile<TILE, false>(b, factor(b, purpose, j0, j1), I, J, partial, tiles, chunks, Nothing());
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
	if (f.skip || (f.across ? J * 32 >= 2 * KNOWN_WIDTH : J * 32 >= f.k))
		return;
	const int TI = I * 32 / TILE, TJ = J * 32 / TILE;
	const double *from = partial + (blockIdx.y * tiles + TJ * (TJ + 1) / 2 + TI) * chunks * (TILE * TILE) +
			     I * 32 % TILE + J * 32 % TILE * TILE;
	const i64 n = (f.x.m + f.chunk - 1) / f.chunk;

	double *out = purpose == UPDATE ? b.r + j1 * (b.ldr + 1) : b.r;
	const i64 ld = b.ldr;
	const int x = threadIdx.x % 32;
	auto put = [&](int place, int other, double h) {
		const i64 i = f.number(b, place), j = f.number(b, other);
		if (i >= f.k || j >= f.k)
			return;
		out[i + j * ld] = purpose == UPDATE ? out[i + j * ld] - h : h;
		double *const note = purpose == UPDATE || f.across ? 0 : noted(b, i, j);
		if (note)
			*note = h;
	};
	double h[4] = {}; // elements (x,y), (x,y+8), …: many are read at a time
	const int first = threadIdx.x / 32;
	const bool take = f.across && I * 32 / KNOWN_WIDTH == J * 32 / KNOWN_WIDTH; // what is known
#pragma unroll 4
	for (i64 c = 0; c < n; c++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			if (!take || (I == J && x == first + 8 * i))
				h[i] += from[c * TILE * TILE + x + (first + 8 * i) * TILE];
	if (take)
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const double *const known = noted(b, f.number(b, I * 32 + x), f.number(b, J * 32 + first + 8 * i));
			if (known && (I != J || x != first + 8 * i))
				h[i] = *known;
		}
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
	in_turn();
	gram_diagonal<64>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

extern "C" __global__ void __launch_bounds__(320, 2)
gram_diagonal_128(const Problem *problems, double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0,
		  i64 j1)
{
	in_turn();
	gram_diagonal<128>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

extern "C" __global__ void __launch_bounds__(128)
gram_other_64(const Problem *problems, double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0, i64 j1)
{
	in_turn();
	gram_other<64>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

extern "C" __global__ void __launch_bounds__(512, 1)
gram_other_128(const Problem *problems, double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0, i64 j1)
{
	in_turn();
	gram_other<128>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

// gram_sides: grid (3, chunks, problems), block and shared bytes as gram_other_64: SIDES, the tile of P with
// Q, and those of P and of Q. Where they are known these end at once, and the first one forms their diagonals
// too: what is known of these has a rounding error of each rotation since. Two columns of nearly the same
// norm, whose rotation is large, would be left with a cosine of that size.
extern "C" __global__ void __launch_bounds__(128)
gram_sides(const Problem *problems, double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0, i64 j1)
{
	in_turn();
	const Problem &b = problems[blockIdx.z];
	const Factor f = factor(b, (int)purpose, j0, j1);
	if (!f.across) {
		gram_tile<64, false>(b, f, blockIdx.x == 2, blockIdx.x != 1, partial, tiles, chunks, Nothing());
		return;
	}
	SquareSum square;
	if (blockIdx.x > 0 || !gram_tile<64, false>(b, f, 0, 1, partial, tiles, chunks, square))
		return;
	const int side = threadIdx.x / 64, j = threadIdx.x % 64; // tile 0 is that of P, tile 2 that of Q
	partial[((blockIdx.z * tiles + 2 * side) * chunks + blockIdx.y) * 64 * 64 + j * (64 + 1)] =
		square.even + square.odd;
}

// gram_add_64, gram_add_128: grid (32×32 blocks of the upper triangle, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
gram_add_64(const Problem *problems, const double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0,
	    i64 j1)
{
	in_turn();
	gram_add<64>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}

extern "C" __global__ void __launch_bounds__(256)
gram_add_128(const Problem *problems, const double *partial, i64 tiles, i64 chunks, i64 purpose, i64 j0,
	     i64 j1)
{
	in_turn();
	gram_add<128>(problems, partial, tiles, chunks, (int)purpose, j0, j1);
}
