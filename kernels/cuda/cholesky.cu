// The Cholesky factorization of Gram matrices, H = RᵀR, [Nov15, §4.1]. Orders up to `block` are factored
// by one block of threads in shared memory; larger ones block-row by block-row, the rest being updated by
// the Gram kernels between. The element type E is double or float.

#include "fragment.cuh"
#include "tf32.cuh"

constexpr int PANEL = 8; // columns that are factored at a time
constexpr int THREADS = 512;
constexpr int ORDER = 128; // of a block, at most

// Which Gram matrices are trusted: the least squared norm of a column, whether one of zeros is, and
// the unit roundoff. leading returns the leading dimension in shared memory, for so many rows that
// are a multiple of 16.
template <class E> struct Trust;
template <> struct Trust<double> {
	static constexpr double SMALLEST = LEAST_TAKEN, ROUNDOFF = EPSILON;
	static constexpr bool ZERO = false;
	static __device__ int leading(int rows) { return rows + PAD; }
};
template <> struct Trust<float> {
	static constexpr float SMALLEST = 0x1p-60f, ROUNDOFF = 0x1p-24f;
	static constexpr bool ZERO = true;
	static __device__ int leading(int rows) { return (rows + 31) / 32 * 32 + 8; }
};

// inverse_root is 1/√x, but for its last digit. It is not finite where x is not a positive normal number.
__device__ inline double inverse_root(double x)
{
	double y;
	asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
	const double e = __fma_rn(x, -(y * y), 1.0);
	return __fma_rn(__fma_rn(e, 0.375, 0.5), e * y, y);
}
__device__ inline float inverse_root(float x)
{
	const float y = rsqrtf(x);
	return __fmaf_rn(0.5f * y, __fmaf_rn(-x * y, y, 1), y);
}

// factor_panel does what is left to do on row i of columns c … c+PANEL−1 of the lower triangular factor l,
// and puts it in x: every thread factors the block on the diagonal for itself, and then solves for its row.
template <class E> __device__ inline void factor_panel(const E *l, int ld, int n, int c, int i, E (&x)[PANEL])
{
	const int width = min(PANEL, n - c);
	E d[PANEL][PANEL];
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
		const E inverse = inverse_root(d[j][j]);
		x[j] *= inverse;
#pragma unroll
		for (int m = j + 1; m < PANEL; m++)
			d[m][j] *= inverse;
#pragma unroll
		for (int m = j + 1; m < PANEL; m++) {
			x[m] = fused(-x[j], d[m][j], x[m]);
#pragma unroll
			for (int o = m; o < PANEL; o++)
				d[o][m] = fused(-d[o][j], d[m][j], d[o][m]);
		}
	}
}

// What is to be subtracted from PANEL columns of the lower triangle, from c on, and sixteen rows, from i on:
// what columns to the left have in the product. add sums that of columns p0 ≤ p < p1, multiples of PANEL; put
// subtracts it. A warp calls them.
template <class E> struct Update;

template <> struct Update<double> {
	double sum[4][4] = {};

	__device__ void add(const double *l, int ld, int n, int c, int i, int p0, int p1)
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, below = i + 8 < n ? i + 8 : i;
		for (int p = p0; p < p1; p += 16)
#pragma unroll
			for (int h = 0; h < 4; h++) {
				if (p + 4 * h >= p1)
					break;
				const double *const at = l + (p + 4 * h + t) * ld + g, x[2] = {at[i], at[below]};
				add_product(sum[h], x, at[c]);
			}
	}

	__device__ void put(double *l, int ld, int n, int c, int i) const
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
		for (int m = 0; m < 4; m++) {
			const int row = i + g + m / 2 * 8;
			if (row < n)
				l[row + (c + 2 * t + m % 2) * ld] -= (sum[0][m] + sum[1][m]) + (sum[2][m] + sum[3][m]);
		}
	}
};

template <> struct Update<float> {
	Sum sum;

	__device__ void add(const float *l, int ld, int n, int c, int i, int p0, int p1)
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, below = i + 8 < n ? i + 8 : i;
#pragma unroll 4
		for (int p = p0; p < p1; p += 8) {
			const float *const at = l + (p + t) * ld + g, *const next = at + 4 * ld;
			const float x[4] = {at[i], at[below], next[i], next[below]}, y[2] = {at[c], next[c]};
			sum.add(split(x), split(y));
		}
	}

	__device__ void put(float *l, int ld, int n, int c, int i) const
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
		for (int m = 0; m < 4; m++) {
			const int row = i + g + m / 2 * 8;
			if (row < n)
				l[row + (c + 2 * t + m % 2) * ld] -= sum.get(m);
		}
	}
};

// factor_columns factors the lower triangle of l, of order n ≤ ORDER. Four warps factor a panel, a thread to
// each row, while eight others sum what the panels before it have to do with the next one. All four read the
// block on the diagonal. So its rows are put last; for the next panel they are not needed.
template <class E> __device__ inline void factor_columns(E *l, int ld, int n)
{
	const int thread = threadIdx.x, row = thread - THREADS / 2;
	for (int c = 0; c < n; c += PANEL) {
		const int i = c + thread, next = c + PANEL, first = next + row / 32 * 16;
		const bool factors = i - thread % 32 < n, updates = row >= 0 && first < n;
		E x[PANEL];
		Update<E> update;
		auto put = [&](bool now) {
			if (factors && i < n && now)
#pragma unroll
				for (int j = 0; j < PANEL; j++)
					if (c + j <= i && c + j < n)
						l[i + (c + j) * ld] = x[j];
		};
		__syncthreads();
		if (factors) {
			factor_panel(l, ld, n, c, i, x);
			put(thread >= PANEL);
		} else if (updates) {
			update.add(l, ld, n, next, first, 0, c);
		}
		__syncthreads();
		put(thread < PANEL);
		if (updates) {
			update.add(l, ld, n, next, first, c, next);
			update.put(l, ld, n, next, first);
		}
	}
	__syncthreads();
}

// What a thread has seen of the cosines of the angles between columns.
template <class E> struct Cosines {
	E limit, largest = 0;
	bool within = true; // none that counts is above the limit, and all are numbers

	// see looks at the product of two columns, which is compared with the limit where it counts.
	__device__ void see(E h, E scale, E other, bool counts)
	{
		const E cosine = fabs(h) * scale * other;
		largest = cosine > largest ? cosine : largest; // which stays where that is not a number
		within = within && (cosine <= limit || !counts);
	}
};

// measure notes the diagonal of R, and 1/√h_jj of each element, 0 where h_jj is not known well enough. It
// tells whether R is to be trusted. All threads call it, and all get the answer.
template <class E> __device__ inline bool measure(const ProblemOf<E> &b, E *diagonal, E *scales)
{
	bool ok = true;
	for (i64 j = threadIdx.x; j < b.k; j += THREADS) {
		const E h = b.r[j + j * b.ldr];
		const bool known = h >= Trust<E>::SMALLEST && h < (E)(1.0 / 0.0);
		diagonal[j] = h;
		scales[j] = known ? inverse_root(h) : 0;
		ok = ok && (known || (Trust<E>::ZERO && h == 0));
	}
	return __syncthreads_and(ok);
}

// begin_tally sets the tally by what all threads have seen, and whether R is to be trusted. It returns
// whether there is a factor to be formed. All threads call it.
template <class E> __device__ inline bool begin_tally(Tally *tally, bool trusted, const Cosines<E> &seen)
{
	constexpr int WARPS = THREADS / 32;
	__shared__ E largest[WARPS];
	const E most = warp_max(seen.largest);
	if (threadIdx.x % 32 == 0)
		largest[threadIdx.x / 32] = most;
	const bool inactive = __syncthreads_and(seen.within) && trusted;
	if (threadIdx.x == THREADS - 1) { // of a warp that has little to do now
		E cosine = 0;
		for (int w = 0; w < WARPS; w++)
			cosine = fmax(cosine, largest[w]);
		*tally = {};
		tally->broken = !trusted;
		tally->inactive = inactive;
		tally->cosine = fmin(cosine, (E)1);
	}
	return trusted && !inactive;
}

// cholesky_block factors rows and columns j0 … j1−1 of R in place, upper triangular, zero below the diagonal,
// and sets the tally: with j0 = 0 to zero and the largest cosine, and Inactive = 1 where the columns are
// orthogonal; Broken = 1 where the factorization breaks down. diagonal has 2·order elements for each
// problem, which keep the diagonal of H from the block with j0 = 0 on, and what its cosines are formed with.
template <class E>
__device__ inline void factor_block(const ProblemOf<E> *problems, i64 j0, i64 j1, E *diagonal, i64 order)
{
	extern __shared__ __align__(16) unsigned char memory[];
	E *const l = (E *)memory; // element (i,j) of the lower triangular factor at i + j·ld
	const ProblemOf<E> &b = problems[blockIdx.x];
	const int n = (int)(min(b.k, j1) - j0), ld = Trust<E>::leading((int)(j1 - j0 + 15) / 16 * 16);
	diagonal += blockIdx.x * 2 * order;
	const E *const scales = diagonal + order;
	const bool first = j0 == 0;
	bool ok = first ? measure(b, diagonal, diagonal + order) : n > 0 && factored(b);
	if (!ok && !first)
		return;
	E *r = b.r + j0 * (b.ldr + 1);
	const i64 ldr = b.ldr;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, left = (int)b.left;
	const auto counts = [=](i64 i, i64 j) { return left < 0 || (j < left && i >= left); }; // for i > j
	Cosines<E> seen = {(E)b.screen};
	if (n <= 0) {
		begin_tally(b.tally, ok, seen);
		return;
	}
	E h[ORDER * 32 / THREADS][ORDER / 32], scale[ORDER / 32];
#pragma unroll
	for (int s = 0; s < ORDER * 32 / THREADS; s++)
#pragma unroll
		for (int m = 0; m < ORDER / 32; m++) // all at once, where there is none another one
			h[s][m] = r[min(lane + 32 * m, n - 1) + min(warp + s * THREADS / 32, n - 1) * ldr];
#pragma unroll
	for (int m = 0; m < ORDER / 32; m++)
		scale[m] = first ? scales[min(lane + 32 * m, n - 1)] : 0;
#pragma unroll
	for (int s = 0; s < ORDER * 32 / THREADS; s++) {
		const int j = warp + s * THREADS / 32;
		const E own = first ? scales[min(j, n - 1)] : 0;
#pragma unroll
		for (int m = 0; m < ORDER / 32; m++) {
			const int i = lane + 32 * m;
			if (i >= j && i < n)
				l[i + j * ld] = h[s][m];
			if (first && 32 * m + 31 > j) // the warp has some below the diagonal
				seen.see(i > j && i < n ? h[s][m] : 0, scale[m], own, counts(i, j));
		}
	}
	if (first) {
		for (i64 j = warp; n < b.k && j < b.k; j += THREADS / 32) // what is not in shared memory
			for (i64 i = max((i64)n, j + 1) + lane; i < b.k; i += 32)
				seen.see(r[i + j * ldr], scales[i], scales[j], counts(i, j));
		if (!begin_tally(b.tally, ok, seen))
			return;
	}
	if (Trust<E>::ZERO) { // 1 instead, for a while
		__syncthreads();
		for (int j = threadIdx.x; j < n; j += THREADS)
			if (diagonal[j0 + j] == 0)
				l[j + j * ld] = 1;
	}
	factor_columns(l, ld, n);
	for (int j = threadIdx.x; j < n; j += THREADS) {
		const E x = l[j + j * ld], h = diagonal[j0 + j];
		if (Trust<E>::ZERO && h == 0)
			l[j + j * ld] = 0;
		else
			ok = ok && x * x > b.k * Trust<E>::ROUNDOFF * h;
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

// cholesky_block, single_cholesky_block: grid (problems), block 512 threads. Shared bytes: w columns of the
// leading dimension, w being j1 − j0, rounded up to a multiple of 16.
extern "C" __global__ void __launch_bounds__(THREADS)
cholesky_block(const Problem *problems, i64 j0, i64 j1, double *diagonal, i64 order)
{
	in_turn();
	factor_block(problems, j0, j1, diagonal, order);
}

extern "C" __global__ void __launch_bounds__(THREADS)
single_cholesky_block(const SingleProblem *problems, i64 j0, i64 j1, float *diagonal, i64 order)
{
	in_turn();
	factor_block(problems, j0, j1, diagonal, order);
}

// cholesky_row puts rows j0 … j1−1 of R right of column j1: X with R₀ᵀX = H, R₀ the triangular block of these
// rows; and zeroes below R₀. Grid (⌈order/16⌉, problems), block 256 threads, j1 − j0 = N = 64 or 128: half a
// warp does a column, lane l its rows l, l+16, … Shared: N·(N + 1) elements.
template <int N, class E>
__device__ inline void solve_row(const ProblemOf<E> *problems, i64 j0, i64 j1)
{
	constexpr int LD = N + 1, ROWS = N / 16;
	extern __shared__ __align__(16) unsigned char memory[];
	E *const l = (E *)memory; // R₀ᵀ, element (i,j) at i + j·LD
	const ProblemOf<E> &b = problems[blockIdx.y];
	const i64 col = j1 + blockIdx.x * 16 + threadIdx.x / 16;
	if (!factored(b) || j1 + (i64)blockIdx.x * 16 >= b.k)
		return;
	const E *block = b.r + j0 * (b.ldr + 1);
	for (int i = threadIdx.x; i < N * N; i += 256)
		l[i / N + i % N * LD] = block[i % N + i / N * b.ldr];
	__syncthreads();
	const int lane = threadIdx.x % 16;
	const bool valid = col < b.k;
	E *x = b.r + j0 + (valid ? col : j1) * b.ldr, y[ROWS];
#pragma unroll
	for (int s = 0; s < ROWS; s++)
		y[s] = x[16 * s + lane];
#pragma unroll
	for (int s = 0; s < ROWS; s++)
		for (int o = 0; o < 16; o++) {
			const int j = 16 * s + o; // y[s] of lane o is element j
			const E d = l[j + j * LD], top = __shfl_sync(0xffffffff, y[s], o, 16);
			const E z = Trust<E>::ZERO && d == 0 ? 0 : top / d;
			if (lane == o)
				y[s] = z;
#pragma unroll
			for (int m = s; m < ROWS; m++)
				if (16 * m + lane > j)
					y[m] = fused(-l[16 * m + lane + j * LD], z, y[m]);
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
extern "C" __global__ void __launch_bounds__(256)
single_cholesky_row_64(const SingleProblem *problems, i64 j0, i64 j1)
{
	solve_row<64>(problems, j0, j1);
}
extern "C" __global__ void __launch_bounds__(256)
single_cholesky_row_128(const SingleProblem *problems, i64 j0, i64 j1)
{
	solve_row<128>(problems, j0, j1);
}
