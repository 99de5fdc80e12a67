// The Cholesky factorization of Gram matrices, H = RᵀR, [Nov15, §4.1]. Orders up to `block` are factored
// by one block of threads in shared memory; larger ones block-row by block-row, the rest being updated by
// the Gram kernels between.

#include "fragment.cuh"

constexpr int PANEL = 8; // columns that are factored at a time
constexpr int THREADS = 512;

constexpr double SMALLEST = 0x1p-900; // least squared norm that a Gram matrix is trusted with

// factor_panel does what is left to do on columns c … c+PANEL−1 of the lower triangular factor l: every
// thread that has a row c + thread factors the block on the diagonal for itself, and then solves for its row.
__device__ inline void factor_panel(double *l, int ld, int n, int c)
{
	const int i = c + threadIdx.x, width = min(PANEL, n - c);
	const bool busy = i - (int)threadIdx.x % 32 < n;
	double x[PANEL], d[PANEL][PANEL];
	if (busy) {
#pragma unroll
		for (int j = 0; j < PANEL; j++) {
			x[j] = j < width && i < n ? l[i + (c + j) * ld] : 0;
#pragma unroll
			for (int m = j; m < PANEL; m++)
				d[m][j] = m < width ? l[c + m + (c + j) * ld] : m == j;
		}
#pragma unroll
		for (int j = 0; j < PANEL; j++) {
			// not finite, and found later, if the matrix is not positive definite
			const double inverse = rsqrt(d[j][j]);
			x[j] *= inverse;
#pragma unroll
			for (int m = j + 1; m < PANEL; m++)
				d[m][j] *= inverse;
#pragma unroll
			for (int m = j + 1; m < PANEL; m++) {
				x[m] = __fma_rn(-x[j], d[m][j], x[m]);
#pragma unroll
				for (int o = m; o < PANEL; o++)
					d[o][m] = __fma_rn(-d[o][j], d[m][j], d[o][m]);
			}
		}
	}
	__syncthreads(); // all have read the block
	if (busy && i < n)
#pragma unroll
		for (int j = 0; j < PANEL; j++)
			if (j < width && c + j <= i)
				l[i + (c + j) * ld] = x[j];
}

// update_panel subtracts from columns c … c+PANEL−1, lower triangle, what the columns left of them have in
// the product. A warp does 16 rows at a time, with four sums of their own.
__device__ inline void update_panel(double *l, int ld, int n, int c)
{
	const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
	for (int i = c + threadIdx.x / 32 * 16; i < n; i += THREADS / 2) {
		double sum[4][4] = {};
		for (int p = 0; p < c; p += 16)
#pragma unroll
			for (int h = 0; h < 4; h++) {
				if (p + 4 * h >= c)
					break;
				const double *const at = l + (p + 4 * h + t) * ld + g, x[2] = {at[i], at[i + 8]};
				add_product(sum[h], x, at[c]);
			}
#pragma unroll
		for (int m = 0; m < 4; m++) {
			const int row = i + g + m / 2 * 8;
			if (row < n)
				l[row + (c + 2 * t + m % 2) * ld] -= (sum[0][m] + sum[1][m]) + (sum[2][m] + sum[3][m]);
		}
	}
}

// orthogonal tells whether no cosine of an angle between two columns with the Gram matrix R exceeds b.screen.
// diagonal is that of R. A warp takes every 16th column, until it finds one. All threads call it, and all get
// the answer.
__device__ inline bool orthogonal(const Problem &b, const double *diagonal)
{
	bool ok = true;
	for (i64 j = threadIdx.x / 32; ok && j < b.k; j += THREADS / 32) {
		const double most = b.screen * sqrt(diagonal[j]);
		for (i64 i = threadIdx.x % 32; ok && i < j; i += 32)
			ok = fabs(b.r[i + j * b.ldr]) <= most * sqrt(diagonal[i]);
	}
	return __syncthreads_and(ok);
}

// cholesky_block factors rows and columns j0 … j1−1 of R in place, upper triangular, zero below the diagonal,
// and sets the tally: to zero when j0 = 0, Inactive = 1 instead where the columns are orthogonal, Broken = 1
// where the factorization breaks down. Grid (problems), block 512 threads. diagonal has `order` elements for
// each problem, which keep the diagonal of H from the block with j0 = 0 on. Shared bytes: 8·w·(w + PAD), w
// being j1 − j0, rounded up to a multiple of 16.
extern "C" __global__ void __launch_bounds__(THREADS)
cholesky_block(const Problem *problems, i64 j0, i64 j1, double *diagonal, i64 order)
{
	extern __shared__ double l[]; // element (i,j) of the lower triangular factor at i + j·ld
	const Problem &b = problems[blockIdx.x];
	const int n = (int)(min(b.k, j1) - j0), ld = (int)(j1 - j0 + 15) / 16 * 16 + PAD;
	diagonal += blockIdx.x * order;
	bool ok = true;
	if (j0 == 0) {
		for (i64 j = threadIdx.x; j < b.k; j += THREADS) {
			const double h = b.r[j + j * b.ldr];
			diagonal[j] = h;
			ok = ok && h >= SMALLEST && h < 1.0 / 0.0;
		}
		ok = __syncthreads_and(ok);
		const bool inactive = ok && orthogonal(b, diagonal);
		if (threadIdx.x == 0) {
			*b.tally = {};
			b.tally->broken = !ok;
			b.tally->inactive = inactive;
		}
		ok = ok && !inactive;
	} else {
		ok = factored(b);
	}
	if (!ok || n <= 0)
		return;
	double *r = b.r + j0 * (b.ldr + 1);
	const i64 ldr = b.ldr;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll 4
	for (int j = warp; j < n; j += THREADS / 32)
#pragma unroll
		for (int i = lane; i < 128; i += 32)
			if (i >= j && i < n)
				l[i + j * ld] = r[i + j * ldr];
	for (int c = 0; c < n; c += PANEL) {
		__syncthreads();
		if (c > 0)
			update_panel(l, ld, n, c);
		__syncthreads();
		factor_panel(l, ld, n, c);
	}
	__syncthreads();
	for (int j = threadIdx.x; j < n; j += THREADS) {
		const double x = l[j + j * ld];
		ok = ok && x * x > b.k * EPSILON * diagonal[j0 + j];
	}
	ok = __syncthreads_and(ok);
	if (threadIdx.x == 0 && !ok)
		b.tally->broken = 1;
	// A warp puts 8 rows of 4 columns at a time, which meet in few banks.
	for (int j = 4 * warp + lane / 8; j < n; j += THREADS / 8)
#pragma unroll 4
		for (int i = lane % 8; i < n; i += 8)
			r[i + j * ldr] = i <= j ? l[j + i * ld] : 0;
}

// cholesky_row puts rows j0 … j1−1 of R right of column j1: X with R₀ᵀX = H, R₀ the triangular block of these
// rows; and zeroes below R₀. Grid (⌈order/16⌉, problems), block 256 threads, j1 − j0 = N = 64 or 128: half a
// warp does a column, lane l its rows l, l+16, … Shared bytes: 8·N·(N + 1).
template <int N>
__device__ inline void solve_row(const Problem *problems, i64 j0, i64 j1)
{
	constexpr int LD = N + 1, ROWS = N / 16;
	extern __shared__ double l[]; // R₀ᵀ, element (i,j) at i + j·LD
	const Problem &b = problems[blockIdx.y];
	const i64 col = j1 + blockIdx.x * 16 + threadIdx.x / 16;
	if (!factored(b) || j1 + (i64)blockIdx.x * 16 >= b.k)
		return;
	const double *block = b.r + j0 * (b.ldr + 1);
	for (int i = threadIdx.x; i < N * N; i += 256)
		l[i / N + i % N * LD] = block[i % N + i / N * b.ldr];
	__syncthreads();
	const int lane = threadIdx.x % 16;
	const bool valid = col < b.k;
	double *x = b.r + j0 + (valid ? col : j1) * b.ldr, y[ROWS];
#pragma unroll
	for (int s = 0; s < ROWS; s++)
		y[s] = x[16 * s + lane];
#pragma unroll
	for (int s = 0; s < ROWS; s++)
		for (int o = 0; o < 16; o++) {
			const int j = 16 * s + o; // y[s] of lane o is element j
			const double z = __shfl_sync(0xffffffff, y[s], o, 16) / l[j + j * LD];
			if (lane == o)
				y[s] = z;
#pragma unroll
			for (int m = s; m < ROWS; m++)
				if (16 * m + lane > j)
					y[m] = __fma_rn(-l[16 * m + lane + j * LD], z, y[m]);
		}
	if (!valid)
		return;
#pragma unroll
	for (int s = 0; s < ROWS; s++) {
		x[16 * s + lane] = y[s];
		b.r[col + (j0 + 16 * s + lane) * b.ldr] = 0;
	}
}

extern "C" __global__ void __launch_bounds__(256) cholesky_row_64(const Problem *problems, i64 j0, i64 j1)
{
	solve_row<64>(problems, j0, j1);
}
extern "C" __global__ void __launch_bounds__(256) cholesky_row_128(const Problem *problems, i64 j0, i64 j1)
{
	solve_row<128>(problems, j0, j1);
}
