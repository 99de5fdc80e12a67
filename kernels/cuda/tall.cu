// What is done to lists of tall panels: Gram matrices, as sums over pieces of the rows, and triangular
// solves. What becomes of a panel depends on its shape alone, not on the others.

#include "rows.cuh"

constexpr int SIDE = 64;    // of a tile of a Gram matrix; columns that are solved for at a time
constexpr int HALF = 32;    // of these, what a thread has in registers
constexpr int SOLVERS = 128; // threads of a block of solve, each with a row

// Tall is a panel A, and where AᵀA goes. The host has the same struct (tall.go).
struct Tall {
	const double *a;
	i64 m, n, lda;
	double *c;
	i64 ldc, piece;	 // rows that are summed by themselves
	double *partial; // SIDE² numbers for each tile of the upper triangle, a tile for each piece

	__device__ i64 pieces() const { return (m + piece - 1) / piece; }

	// tile returns where the tile at block-row I and block-column J is, of the first piece.
	__device__ double *tile(i64 I, i64 J) const
	{
		return partial + (J * (J + 1) / 2 + I) * pieces() * (SIDE * SIDE);
	}
};

// square forms one tile over one piece of the rows.
template <bool DIAGONAL> __device__ inline void square(const Tall *list)
{
	const int J = DIAGONAL ? blockIdx.x : triangle(blockIdx.x) + 1;
	const int I = DIAGONAL ? J : blockIdx.x - J * (J - 1) / 2;
	const Tall s = list[blockIdx.z];
	const i64 first = blockIdx.y * s.piece;
	if (first >= s.m || J * SIDE >= s.n)
		return;
	const int left = (int)min(s.n - I * SIDE, (i64)SIDE), right = (int)min(s.n - J * SIDE, (i64)SIDE);
	__shared__ const double *address[2 * SIDE];
	for (int i = threadIdx.x; i < (DIAGONAL ? 1 : 2) * SIDE; i += blockDim.x) {
		const int j = i < SIDE ? I * SIDE + i : J * SIDE + i - SIDE;
		address[i] = j < s.n ? s.a + first + j * s.lda : 0;
	}
	__syncthreads();
	const Sums sums = {address, s.a, left, right, (int)min(s.m - first, s.piece)};
	sum_tile<SIDE, 1, DIAGONAL, true>(sums, even(s.a, s.lda),
					  into<SIDE>(s.tile(I, J) + blockIdx.y * (SIDE * SIDE)), Nothing());
}

// square_diagonal: grid (⌈n/SIDE⌉, pieces, panels), block 96 threads: a tile of the diagonal. Shared bytes:
// 8·STAGES·SIDE·LD_CHUNK. square_other: grid (pairs of different block-columns, pieces, panels), block 128
// threads: one tile beside the diagonal. Shared bytes: 16·STAGES·SIDE·LD_CHUNK.
extern "C" __global__ void __launch_bounds__(96) square_diagonal(const Tall *list) { square<true>(list); }

extern "C" __global__ void __launch_bounds__(128) square_other(const Tall *list) { square<false>(list); }

// square_add adds the sums over the pieces, in a fixed order, into both triangles. A block does the 32×32
// elements at block-row I ≤ J, block-column J, and their mirror image. Grid (such blocks, panels), block 256
// threads.
extern "C" __global__ void __launch_bounds__(256) square_add(const Tall *list)
{
	__shared__ double mirror[32][33];
	const Tall s = list[blockIdx.y];
	const int J = triangle(blockIdx.x), I = blockIdx.x - J * (J + 1) / 2, x = threadIdx.x % 32;
	if (J * 32 >= s.n)
		return;
	const double *from = s.tile(I * 32 / SIDE, J * 32 / SIDE) + I * 32 % SIDE + J * 32 % SIDE * SIDE;
	const i64 pieces = s.pieces();
	for (int y = threadIdx.x / 32; y < 32; y += 8) {
		double sum[8] = {}; // terms of one sign are rounded less where they are added in parts
		for (i64 p = 0; p < pieces; p += 8)
#pragma unroll
			for (int q = 0; q < 8; q++)
				if (p + q < pieces)
					sum[q] += from[(p + q) * (SIDE * SIDE) + x + y * SIDE];
		mirror[y][x] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
	}
	__syncthreads();
	for (int y = threadIdx.x / 32; y < 32; y += 8) {
		const i64 i = I * 32 + x, j = J * 32 + y; // within a block of the diagonal the upper triangle counts
		if (i < s.n && j < s.n)
			s.c[i + j * s.ldc] = I == J && x > y ? mirror[x][y] : mirror[y][x];
		if (I != J && J * 32 + x < s.n && I * 32 + y < s.n)
			s.c[J * 32 + x + (I * 32 + y) * s.ldc] = mirror[x][y];
	}
}

// solve does X ← X·R⁻¹ for columns first … first+width−1 of all panels and the upper triangular matrix r of
// that order, width ≤ SIDE. A thread has a row, HALF columns at a time. Grid (pieces of SOLVERS rows of the
// longest panel; panels), block SOLVERS threads. Shared bytes: 8·(SIDE² + HALF·SOLVERS).
extern "C" __global__ void __launch_bounds__(SOLVERS)
solve(const Member *list, i64 first, i64 width, const double *r, i64 ldr)
{
	extern __shared__ __align__(16) double shared[];
	// r by rows, with the inverse of its diagonal; the first HALF columns of X
	double(*const factor)[SIDE] = (double(*)[SIDE])shared;
	double(*const solved)[SOLVERS] = (double(*)[SOLVERS])(shared + SIDE * SIDE);
	for (int e = threadIdx.x; e < SIDE * SIDE; e += SOLVERS) {
		const int i = e % SIDE, j = e / SIDE;
		const double x = j >= width ? i == j : i <= j ? r[i + j * ldr] : 0;
		factor[i][j] = i == j ? 1 / x : x;
	}
	__syncthreads();
	const Member p = list[blockIdx.y];
	const i64 row = (i64)blockIdx.x * SOLVERS + threadIdx.x;
	if (row >= p.m)
		return;
	for (int half = 0; half < width; half += HALF) {
		double *const at = p.p + row + (first + half) * p.ld;
		const double(*const t)[SIDE] = (const double(*)[SIDE]) & factor[0][half];
		double x[HALF];
#pragma unroll
		for (int k = 0; k < HALF; k++)
			x[k] = half + k < width ? at[k * p.ld] : 0;
		for (int j = 0; j < half; j++) {
			const double y = solved[j][threadIdx.x];
#pragma unroll
			for (int k = 0; k < HALF; k++)
				x[k] = __fma_rn(-y, t[j][k], x[k]);
		}
#pragma unroll
		for (int j = 0; j < HALF; j++) {
			x[j] *= t[half + j][j];
#pragma unroll
			for (int k = j + 1; k < HALF; k++)
				x[k] = __fma_rn(-x[j], t[half + j][k], x[k]);
		}
#pragma unroll
		for (int k = 0; k < HALF; k++) {
			if (half + k < width)
				at[k * p.ld] = x[k];
			if (half == 0)
				solved[k][threadIdx.x] = x[k];
		}
	}
}
