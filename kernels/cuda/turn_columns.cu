// Columns times small square matrices, in place: A ← A·Q for a list. A warp has some rows of all columns of A
// in registers, as the tensor cores have them, before it writes the first. So A is read once and written
// once. What becomes of a panel depends on it and its Q alone, not on the others.

#include "fragment.cuh"

constexpr int WARPS = 4; // of a block

// Turned is an m×k panel A and the k×k matrix Q. The host has the same struct (turncolumns.go).
struct Turned {
	double *a;
	i64 m, k, lda;
	const double *q;
	i64 ldq;
};

// turn_columns does panel blockIdx.x of a list, of which all have at most ORDER columns. A warp does TILES
// times 16 rows. COLUMNS columns of Q are in shared memory at a time.
template <int ORDER, int TILES> __device__ inline void turn_columns(const Turned *list)
{
	constexpr int STEPS = ORDER / 4, WIDE = 3 - TILES; // WIDE times 8 columns of the product at a time
	constexpr int ROWS = 16 * TILES * WARPS, COLUMNS = ORDER > 64 ? 32 : ORDER, LD = ORDER + PAD;
	__shared__ double square[COLUMNS * LD];
	const Turned s = list[blockIdx.x];
	const int k = (int)s.k, steps = (k + 3) / 4, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	const int g = lane / 4, t = lane % 4;
	bool there = false; // all of Q
	for (i64 row = (i64)blockIdx.y * ROWS; row < s.m; row += (i64)gridDim.y * ROWS) {
		const i64 first = row + warp * (16 * TILES) + g; // the rows of this thread are first, first + 8, …
		const int rows = (int)min(s.m - first, (i64)ROWS); // those from first on; none if it is not positive
		double *const a = s.a + first;
		double x[STEPS][TILES][2];
#pragma unroll
		for (int l = 0; l < STEPS; l++)
#pragma unroll
			for (int i = 0; i < TILES; i++)
#pragma unroll
				for (int h = 0; h < 2; h++) {
					const int r = 16 * i + 8 * h, c = 4 * l + t;
					x[l][i][h] = r < rows && c < k ? a[r + c * s.lda] : 0;
				}
		for (int j0 = 0; j0 < k; j0 += COLUMNS) {
			const int columns = min(k - j0, COLUMNS);
			if (!there) { // from rows and columns of zeros to whole steps and tiles
				const int tiled = (columns + 8 * WIDE - 1) / (8 * WIDE) * (8 * WIDE);
				__syncthreads();
				for (int j = warp; j < tiled; j += WARPS)
					for (int i = lane; i < 4 * steps; i += 32)
						square[j * LD + i] = i < k && j < columns ? s.q[i + (j0 + j) * s.ldq] : 0;
				__syncthreads();
				there = k <= COLUMNS;
			}
			for (int j = 0; j < columns; j += 8 * WIDE) {
				const double *const q = square + (j + g) * LD + t;
				double y[WIDE][TILES][4] = {};
#pragma unroll
				for (int l = 0; l < STEPS; l++) {
					if (l >= steps)
						break;
#pragma unroll
					for (int w = 0; w < WIDE; w++) {
						const double b = q[8 * w * LD + 4 * l];
#pragma unroll
						for (int i = 0; i < TILES; i++)
							add_product(y[w][i], x[l][i], b);
					}
				}
#pragma unroll
				for (int w = 0; w < WIDE; w++)
#pragma unroll
					for (int e = 0; e < 2; e++) {
						const int c = j + 8 * w + 2 * t + e;
						double *const to = a + (j0 + c) * s.lda;
#pragma unroll
						for (int i = 0; i < TILES; i++)
#pragma unroll
							for (int h = 0; h < 2; h++)
								if (c < columns && 16 * i + 8 * h < rows)
									to[16 * i + 8 * h] = y[w][i][2 * h + e];
					}
			}
		}
	}
}

// turn_columns_16, …: grid (panels, ⌈rows of the longest/(16·TILES·WARPS)⌉ or fewer), block 32·WARPS threads.
extern "C" __global__ void __launch_bounds__(128) turn_columns_16(const Turned *list)
{
	turn_columns<16, 2>(list);
}

extern "C" __global__ void __launch_bounds__(128) turn_columns_32(const Turned *list)
{
	turn_columns<32, 2>(list);
}

extern "C" __global__ void __launch_bounds__(128) turn_columns_64(const Turned *list)
{
	turn_columns<64, 1>(list);
}

extern "C" __global__ void __launch_bounds__(128) turn_columns_128(const Turned *list)
{
	turn_columns<128, 1>(list);
}
