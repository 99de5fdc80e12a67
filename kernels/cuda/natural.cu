// The Householder QR factorization of a panel whose columns stay in their order.
//
// Every block owns a slice of the rows, and keeps it in registers: warp w has the columns w, w+16, …, lane l
// the rows l, l+32, …. The blocks meet once for each column. In the meeting for column j they add up the
// products of what is left of it below row j, y, with every column: with those behind it, from which the
// reflector takes them; with the reflectors before it, for T; and with itself. Row j, which the first block
// has, is told beside. So all blocks know the reflector v = y/(α − β), and its products with all columns.
// While they apply it they form the products for the next column.
//
// y is scaled by a power of two that follows from the largest element of the column. If it turns out that the
// rest of the column has become much smaller, it is scaled again, and the blocks meet twice more.

#include "gram_panel.cuh"

constexpr int NATURAL_THREADS = 512, NATURAL_WARPS = NATURAL_THREADS / 32;

// What is left of a scaled column is scaled again if its square is not between them. The products of tiny
// elements must not be lost.
constexpr double SMALL_SQUARE = 0x1p-60, LARGE_SQUARE = 0x1p60;

// Natural are the arguments. The host has the same struct (natural.go).
struct Natural {
	double *a, *y, *t, *r;
	i64 m, n, lda, ldy, ldt, ldr; // m ≥ n; r may be the first rows of a
	i64 rows; // of a slice, n at least
	Letter *box;
	i64 meeting; // number of the first one
	i64 products; // 64 columns are factored by products where that serves
};

// Block is a block at work on 16·S columns, 32·R rows at a time. FAR: the slice is longer, and stays in the
// panel.
template <int S, int R, bool FAR> struct Block {
	static constexpr int COLUMNS = NATURAL_WARPS * S, ROWS = 32 * R;

	struct State {
		double sums[2][COLUMNS], top[2][COLUMNS]; // of the last two meetings
		double v[ROWS], y[ROWS]; // the reflector, and what is left of the column behind it, scaled
		double next[ROWS]; // the column behind it as it was before the reflector
		double t[COLUMNS][COLUMNS + 1]; // T, of the last block
		int exponent[COLUMNS]; // a column is scaled by 2⁻ᵉ
		Reflector h; // the present one
	};

	const Natural &f;
	State &s;
	Grid grid;
	i64 first, rows; // of the slice
	int thread, lane, warp;
	int last; // of sums and top
	int n; // columns
	double sum, top; // product of column j with that for which this lane speaks, and its element of row j
	double a[S][R];

	__device__ int column(int slot) const { return slot * NATURAL_WARPS + warp; }
	__device__ double *element(double *p, i64 ld, int c, i64 i) const { return p + first + i + c * ld; }

	// load and store move rows of the slice, from row `from` of it on.
	__device__ void load(i64 from)
	{
#pragma unroll
		for (int k = 0; k < S; k++)
#pragma unroll
			for (int r = 0; r < R; r++) {
				const i64 i = from + lane + 32 * r;
				a[k][r] = i < rows && column(k) < n ? *element(f.a, f.lda, column(k), i) : 0;
			}
	}

	__device__ void store(i64 from)
	{
#pragma unroll
		for (int k = 0; k < S; k++)
#pragma unroll
			for (int r = 0; r < R; r++) {
				const i64 i = from + lane + 32 * r;
				if (i < rows && column(k) < n)
					*element(f.a, f.lda, column(k), i) = a[k][r];
			}
	}

	// chunks calls act(from) for each piece of the slice that is in registers at a time.
	template <class F> __device__ void chunks(F act)
	{
		for (i64 from = 0; from == 0 || (FAR && from < rows); from += ROWS) {
			if (FAR)
				load(from);
			act(from);
		}
	}

	// tell writes column c to where the next reflector's threads look for it.
	__device__ void tell(int c)
	{
#pragma unroll
		for (int k = 0; k < S; k++)
			if (!FAR && column(k) == c)
#pragma unroll
				for (int r = 0; r < R; r++)
					s.next[lane + 32 * r] = a[k][r];
	}

	// A lane speaks for one of its warp's columns.
	__device__ int slot() const { return lane / (32 / S); }
	__device__ bool speaks() const { return lane % (32 / S) == 0 && column(slot()) < n; }

	// combine combines what the blocks have published of this warp's columns, as warp_total does. row: it reads
	// row j too.
	template <class F> __device__ double combine(F how, bool row)
	{
		double x[S] = {};
		const int mine = column(slot());
		top = grid.gather(
			x, [&](int k) { return column(k) < n ? column(k) : -1; }, row && mine < n ? mine : -1, how);
		grid.meeting++;
		__syncwarp();
		return warp_total(x, how);
	}

	__device__ void begin()
	{
		double most[S] = {};
		if (!FAR)
			load(0);
		chunks([&](i64) {
#pragma unroll
			for (int k = 0; k < S; k++)
#pragma unroll
				for (int r = 0; r < R; r++)
					most[k] = fmax(most[k], fabs(a[k][r]));
		});
		tell(0);
		const double x = warp_total(most, larger);
		if (speaks())
			grid.publish(column(slot()), x);
#pragma unroll 1
		for (int i = thread; i < COLUMNS * (COLUMNS + 1); i += NATURAL_THREADS)
			s.t[i / (COLUMNS + 1)][i % (COLUMNS + 1)] = 0;
		for (int i = thread; i < ROWS; i += NATURAL_THREADS)
			s.y[i] = 0;
		const double largest = combine(larger, false);
		if (speaks())
			s.exponent[column(slot())] = scaling(largest);
		__syncthreads();
	}

	// product returns that of the reflector's vector with a column, `sum` below the first row.
	__device__ double product(const Reflector &h, double sum, double top) const
	{
		return __fma_rn(sum, h.inverse, top); // the first row, the largest, is added to the others
	}

	// apply applies reflector j−1 to all columns, and publishes the products of column j with them. none:
	// there is no reflector.
	__device__ void apply(int j, bool none)
	{
		Reflector h = {0, 0, 0};
		double t = 0, scale = 1, before = 1; // of column j: what the reflector takes from it
		if (thread < ROWS) {
			if (!none) {
				before = power(-s.exponent[j - 1]);
				h = reflector(before * s.top[last][j - 1], before * s.sums[last][j - 1]);
				h.beta *= power(s.exponent[j - 1]);
			}
			if (j < n) {
				if (!none) // otherwise there may be no products yet, but what other kernels have left there
					t = h.tau * product(h, s.sums[last][j], s.top[last][j]);
				scale = power(-s.exponent[j]);
			}
			if (thread == 0)
				s.h = h;
		}
		double sums[S] = {};
		chunks([&](i64 from) {
#pragma unroll 1
			for (int i = thread; i < ROWS; i += NATURAL_THREADS) {
				const i64 row = first + from + i;
				const bool in = from + i < rows;
				double v = 0, y = 0;
				if (!none && in && row >= j - 1) {
					const double x = FAR ? before * *element(f.a, f.lda, j - 1, from + i) : s.y[i];
					v = row == j - 1 ? 1 : h.inverse * x;
				}
				if (j < n && in && row > j) {
					const double x = FAR ? *element(f.a, f.lda, j, from + i) : s.next[i];
					y = scale * __fma_rn(-t, v, x);
				}
				s.v[i] = v;
				s.y[i] = y;
			}
			__syncthreads();
			turn(j, none, from, sums);
			if (FAR) {
				store(from);
				__syncthreads();
			}
		});
		const double x = warp_total(sums, add);
		if (j < n && speaks())
			grid.publish(column(slot()), x);
		tell(j + 1);
	}

	// turn does what apply does to the rows in registers.
	__device__ void turn(int j, bool none, i64 from, double (&sums)[S])
	{
		const Reflector h = s.h;
		const int mine = column(slot());
		const double all = !none && mine >= j && mine < n ? h.tau * product(h, sum, top) : 0;
		double t[S];
#pragma unroll
		for (int k = 0; k < S; k++)
			t[k] = __shfl_sync(0xffffffff, all, k * (32 / S));
		if (!none && (j - 1) % NATURAL_WARPS == warp) {
#pragma unroll
			for (int r = 0; r < R; r++) {
				const i64 row = first + from + lane + 32 * r;
#pragma unroll
				for (int k = 0; k < S; k++)
					if (column(k) == j - 1 && row >= j - 1)
						a[k][r] = row == j - 1 ? h.beta : s.v[lane + 32 * r];
			}
		}
#pragma unroll
		for (int r = 0; r < R; r++) {
			const double v = s.v[lane + 32 * r], y = s.y[lane + 32 * r];
#pragma unroll
			for (int k = 0; k < S; k++) {
				a[k][r] = __fma_rn(-t[k], v, a[k][r]);
				sums[k] = __fma_rn(a[k][r], y, sums[k]);
			}
		}
		if (first + from > 0 || j == n)
			return;
#pragma unroll
		for (int r = 0; r < 2; r++) // row j is among the first 64
#pragma unroll
			for (int k = 0; k < S; k++)
				if (lane + 32 * r == j && column(k) < n)
					grid.write(grid.single(column(k)), a[k][r]);
	}

	// form computes column j of T: −τ·T·(Yᵀ·v) above the diagonal, and τ on it.
	__device__ void form(int j)
	{
		const Reflector h = s.h;
		const int i = thread / 8;
		double sum = 0;
#pragma unroll 1
		for (int l = thread % 8; l < j; l += 8)
			if (i < j)
				sum = __fma_rn(s.t[i][l], product(h, s.sums[last][l], s.top[last][l]), sum);
		for (int distance = 4; distance > 0; distance /= 2)
			sum += __shfl_xor_sync(0xffffffff, sum, distance);
		if (thread % 8 == 0 && i <= j)
			s.t[i][j] = i == j ? h.tau : -h.tau * sum;
	}

	// rescale scales what is left of column j by its largest element.
	__device__ void rescale(int j)
	{
		double most[S] = {};
		chunks([&](i64 from) {
#pragma unroll
			for (int k = 0; k < S; k++)
#pragma unroll
				for (int r = 0; r < R; r++)
					if (first + from + lane + 32 * r >= j)
						most[k] = fmax(most[k], fabs(a[k][r]));
		});
		tell(j);
		const double x = warp_total(most, larger);
		if (speaks())
			grid.publish(column(slot()), x);
		const double largest = combine(larger, false);
		__syncthreads(); // all warps have found the old scale to be wrong
		if (speaks() && column(slot()) == j)
			s.exponent[j] = scaling(largest);
		__syncthreads();
	}

	// finish writes Y, R and T.
	__device__ void finish()
	{
		chunks([&](i64 from) {
#pragma unroll
			for (int k = 0; k < S; k++)
#pragma unroll
				for (int r = 0; r < R; r++) {
					const i64 i = from + lane + 32 * r, row = first + i;
					const int c = column(k);
					if (i >= rows || c >= n)
						continue;
					*element(f.y, f.ldy, c, i) = row < c ? 0 : row == c ? 1 : a[k][r];
					if (row < n)
						f.r[row + c * f.ldr] = row <= c ? a[k][r] : 0;
					else if (f.r == f.a)
						*element(f.a, f.lda, c, i) = 0;
				}
		});
		__syncthreads();
		if (blockIdx.x == gridDim.x - 1)
#pragma unroll 1
			for (int e = thread; e < n * n; e += NATURAL_THREADS)
				f.t[e % n + e / n * f.ldt] = s.t[e % n][e / n];
	}

	__device__ void run()
	{
		begin();
		bool none = true, again = false; // there is no reflector to be applied; column j was scaled again
		for (int j = 0;;) {
			apply(j, none);
			if (!none && blockIdx.x == gridDim.x - 1)
				form(j - 1);
			if (j == n)
				break;
			last ^= 1;
			sum = combine(add, true);
			if (speaks()) {
				s.sums[last][column(slot())] = sum;
				s.top[last][column(slot())] = top;
			}
			__syncthreads();
			const double scale = power(-s.exponent[j]), alpha = scale * s.top[last][j];
			const double square = __fma_rn(alpha, alpha, scale * s.sums[last][j]);
			if (again || (square >= SMALL_SQUARE && square <= LARGE_SQUARE)) {
				none = again = false;
				j++;
			} else {
				rescale(j);
				none = again = true;
			}
		}
		finish();
	}
};

template <int S, int R, bool FAR> __device__ void factor_natural(const Natural &f)
{
	using B = Block<S, R, FAR>;
	__shared__ typename B::State s;
	const i64 first = blockIdx.x * f.rows;
	Grid grid = {f.box, (unsigned)f.meeting, B::COLUMNS, B::COLUMNS};
	const int thread = threadIdx.x;
	if constexpr (B::COLUMNS == SIDE)
		if (f.products) {
			using Products = GramPanel<R / 2>;
			extern __shared__ __align__(16) double shared[];
			Products p = {*(typename Products::State *)shared, {grid, f.box + 2 * grid.size(), thread}, first,
				      (int)min(f.rows, f.m - first), thread, thread % 32, thread / 32};
			if (p.factor(f))
				return;
			grid.meeting = p.totals.grid.meeting;
		}
	B b = {f, s, grid, first, min(f.rows, f.m - first), thread, thread % 32, thread / 32, 0, (int)f.n};
	b.run();
}

// natural_C_R factors up to C columns. Cooperative grid (slices of R rows), block 512 threads. Shared bytes,
// where f.products is not 0: sizeof GramPanel<R/64>::State; then n = 64.
extern "C" __global__ void __launch_bounds__(NATURAL_THREADS, 1) natural_64_64(Natural f)
{
	factor_natural<4, 2, false>(f);
}

extern "C" __global__ void __launch_bounds__(NATURAL_THREADS, 1) natural_64_128(Natural f)
{
	factor_natural<4, 4, false>(f);
}

extern "C" __global__ void __launch_bounds__(NATURAL_THREADS, 1) natural_32_512(Natural f)
{
	factor_natural<2, 16, false>(f);
}

extern "C" __global__ void __launch_bounds__(NATURAL_THREADS, 1) natural_16_1024(Natural f)
{
	factor_natural<1, 32, false>(f);
}

// natural_far factors up to 16 columns. Its slices may have any number of rows.
extern "C" __global__ void __launch_bounds__(NATURAL_THREADS, 1) natural_far(Natural f)
{
	factor_natural<1, 8, true>(f);
}
