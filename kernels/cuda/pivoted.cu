// The Householder QR factorization of a panel of up to 32 columns with pivoting, and with the rounding errors
// followed where that is wanted. Package internal/dense tells what is done and why (panel.go, noise.go).
//
// Every block owns a slice of the rows. A warp does one column of it. Two meetings of the blocks make a step:
// one for the lengths of what is left of the columns, by which all blocks choose the same pivot, and one for
// the products of its reflector with the other columns. Columns stay in their slots: only their numbers are
// swapped.
//
// Lane l of a warp has the rows l, l+32, … of the slice, always. So a warp that goes over its column again
// needs no barrier. The pivot's column stays what it was until all other columns have had its reflector: v is
// made of it where it is needed. Then its own warp puts v in its place (settle).

#include "errors.cuh"
#include "pivot.cuh"

// begin fills the state and, if it is to be nearby, the slice.
__device__ void Worker::begin()
{
	double *const given = f.found->samples[0];
#pragma unroll 1
	for (int i = thread; i < COLUMNS * (COLUMNS + 1); i += THREADS)
		s.t[i / (COLUMNS + 1)][i % (COLUMNS + 1)] = 0;
#pragma unroll 1
	for (int i = thread; i < COLUMNS * WIDTH; i += THREADS)
		s.samples[i / WIDTH][i % WIDTH] = f.bounds ? given[i] : 0;
	if (thread < VECTORS)
		s.exponent[thread] = s.bare[thread] = 0;
	if (thread < COLUMNS) {
		s.columns[thread] = thread;
		s.tau[thread] = 0;
	}
	if (thread == 0) {
		s.taken = s.zeroed = s.cleared = 0;
		s.rank = s.dropped = 0;
	}
	if (f.nearby)
		for (int c = warp; c < VECTORS; c += WARPS)
			if (c < ERRORS ? c < n() : c - ERRORS < bounds()) {
				const double *from = c < ERRORS ? f.a + c * f.lda : (double *)(f.found + 1) + (c - ERRORS) * f.m;
				rows<1>(0, [&](int i) { slice.vector(c)[i] = from[slice.first + i]; });
			}
	__syncthreads();
	if (bounds() > 0 && warp < n())
		resize(warp);
	__syncthreads();
}

// more adds up sums of squares. A negative one, −0 too, says that there is an element that is more than noise.
__device__ inline double more(double x, double y)
{
	const u64 sign = 1ull << 63, marked = ((u64)__double_as_longlong(x) | (u64)__double_as_longlong(y)) & sign;
	return __longlong_as_double(__double_as_longlong(fabs(x) + fabs(y)) | (i64)marked);
}

// measure reads the sums of squares and row j, which advance has published, and tells whether this warp's
// column, or error of the rows, needs another scale.
__device__ void Worker::measure(int j, bool &column, bool &error)
{
	const int c = warp < n() ? warp : -1, left = c >= 0 && !taken(c) ? c : -1, b = warp < bounds() ? ERRORS + warp : -1;
	double x[2] = {};
	const double top = gather(left, b, j < f.m ? c : -1, more, x);
	const double alpha = left >= 0 ? scale(c) * top : 0, square = fabs(x[0]);
	column = left >= 0 && !s.bare[c] && !ordinary(__fma_rn(alpha, alpha, square));
	error = b >= 0 && !s.bare[b] && !ordinary(x[1]);
	if (lane == 0 && c >= 0) {
		s.top[c] = top;
		s.sums[c] = square;
		s.more[c] = signbit(x[0]);
	}
	if (lane == 0 && b >= 0)
		s.sums[b] = x[1];
}

// rescale chooses new scales for this warp's column, or error of the rows, by the largest element from row j
// on.
__device__ void Worker::rescale(int j, bool column, bool error)
{
	const int c = warp < n() ? warp : -1, b = warp < bounds() ? ERRORS + warp : -1;
	double most[2] = {};
	for (int k = 0; k < 2; k++) {
		const int vector = k == 0 ? c : b;
		if (vector < 0)
			continue;
		rows<1>(place(j), [&](int i) { most[k] = fmax(most[k], fabs(slice.vector(vector)[i])); });
		most[k] = warp_max(most[k]);
		if (lane == 0)
			grid.publish(vector, most[k]);
		most[k] = 0;
	}
	gather(c, b, -1, larger, most);
	__syncthreads();
	for (int k = 0; k < 2; k++)
		if (lane == 0 && (k == 0 ? column : error)) {
			const int vector = k == 0 ? c : b;
			s.bare[vector] = most[k] == 0;
			s.exponent[vector] = scaling(most[k]);
		}
	__syncthreads();
}

// settle puts reflector j into the place of its column.
__device__ void Worker::settle(int j)
{
	if (j < 0 || warp != s.columns[j])
		return;
	double *x = slice.vector(warp);
	const int p = place(j);
	const double factor = scale(warp), inverse = s.inverse[j], beta = s.beta[j];
	rows<4>(p, [&](int i) { x[i] = i == p ? beta : i > p ? inverse * (factor * x[i]) : x[i]; });
}

// project zeroes what was dropped, and sums the products of reflector j with all columns below row j, and the
// squares of those with the errors of the rows from row j on, scaled. There, products below 2⁻⁵⁰⁰ times the
// length of the errors count as zero. It ends with a barrier.
__device__ void Worker::project(int j)
{
	const int c = warp, p = place(j), b = ERRORS + warp;
	const bool column = c < n() && c != s.pivot, error = warp < bounds();
	settle(j - 1);
	if (s.cleared >> c & 1)
		rows<1>(p, [&](int i) { slice.vector(c)[i] = 0; });
	const double *x = slice.vector(s.pivot), factor = scale(s.pivot), inverse = s.inverse[j];
	double sums[2] = {};
	if (column) {
		const double *y = slice.vector(c);
		rows<4>(p + 1, [&](int i) { sums[0] = __fma_rn(inverse * (factor * x[i]), y[i], sums[0]); });
		sums[0] = warp_sum(sums[0]);
		if (lane == 0)
			grid.publish(c, sums[0]);
	}
	if (error) {
		const double *y = slice.vector(b), size = scale(b);
		rows<4>(p, [&](int i) {
			const double e = size * y[i], z = i == p ? e : inverse * (factor * x[i]) * e;
			sums[1] = __fma_rn(z, z, sums[1]);
		});
		sums[1] = warp_sum(sums[1]);
		if (lane == 0)
			grid.publish(b, sums[1]);
	}
	sums[0] = sums[1] = 0;
	gather(column ? c : -1, error ? b : -1, -1, add, sums);
	if (lane == 0 && column)
		s.products[c] = sums[0] + s.top[c]; // the first row, the largest, is added to the others: see internal/dense
	if (lane == 0 && error)
		s.products[b] = sums[1];
	if (thread == 0)
		s.over = 1 / s.beta[j];
	__syncthreads();
}

// advance applies reflector j−1, and publishes the sums of squares of what is left, and row j. none: there is
// no reflector.
__device__ void Worker::advance(int j, bool none)
{
	const int c = warp, p = place(j - 1), next = place(j);
	if (warp < bounds()) {
		const double sum = warp_sum(spread(j, warp, none));
		if (lane == 0)
			grid.publish(ERRORS + warp, sum);
	}
	if (bounds() > 0 && !none) {
		follow(j - 1, c);
		if (f.reach > 0)
			__syncthreads(); // the errors of the rows are read
	}
	if (c >= n())
		return;
	double *y = slice.vector(c);
	if (taken(c)) {
		if (next >= 0 && next < slice.rows && lane == next % 32)
			grid.write(grid.single(c), c == s.columns[j - 1] ? s.inverse[j - 1] * (scale(c) * y[next]) : y[next]);
		return;
	}
	const double t = none ? 0 : s.tau[j - 1] * s.products[c], size = scale(c);
	const int pivot = t == 0 ? c : s.pivot;
	const double *x = slice.vector(pivot), factor = scale(pivot), inverse = t == 0 ? 0 : s.inverse[j - 1];
	double sum = 0;
	bool above = false;
	rows<4>(t == 0 ? next : p, [&](int i) {
		double e = y[i];
		if (t != 0)
			y[i] = e = i == p ? e - t : __fma_rn(-t, inverse * (factor * x[i]), e);
		if (i == next)
			grid.write(grid.single(c), e);
		const double z = i > next ? size * e : 0;
		sum = __fma_rn(z, z, sum);
	});
#pragma unroll 1
	for (int b = 0; b < bounds() && f.reach > 0; b++)
		rows<2>(next, [&](int i) { above |= fabs(y[i]) > slice.vector(ERRORS + b)[i] * s.size[c][b]; });
	sum = warp_sum(sum);
	above = __any_sync(0xffffffff, above);
	if (lane == 0) {
		grid.publish(c, above ? -sum : sum);
		if (t != 0)
			s.bare[c] = 0;
	}
}

// form computes column j of T: −τ·T·(Yᵀ·v) above the diagonal, and τ on it. Yᵀ·v are the products of the
// reflector with the columns that were taken. A warp does one element.
__device__ void Worker::form(int j)
{
	const double sum = warp_sum(lane < j ? s.t[lane][warp] * s.products[s.columns[lane]] : 0);
	if (lane == 0)
		s.t[j][warp] = warp < j ? -s.tau[j] * sum : warp == j ? s.tau[j] : 0;
}

// finish writes what was found, with `count` columns taken.
__device__ void Worker::finish(int count)
{
	settle(count - 1);
	__syncthreads();
	if (last())
#pragma unroll 1
		for (int e = thread; e < steps() * steps(); e += THREADS)
			f.t[e % steps() + e / steps() * f.ldt] = s.t[e / steps()][e % steps()];
	if (blockIdx.x == 0) { // which has the rows of R
		Found &found = *f.found;
#pragma unroll 1
		for (int e = thread; e < steps() * COLUMNS; e += THREADS) {
			const int i = e % COLUMNS, k = e / COLUMNS;
			found.r[e] = i <= k && k < count ? slice.vector(s.columns[k])[i] : 0;
		}
#pragma unroll 1
		for (int i = thread; i < COLUMNS * WIDTH; i += THREADS)
			found.samples[i / WIDTH][i % WIDTH] = s.samples[i / WIDTH][i % WIDTH];
		if (thread < COLUMNS) {
			found.pivots[thread] = s.columns[thread];
			found.tau[thread] = s.tau[thread];
			for (int i = 0; i < 2; i++)
				found.noisy[thread][i] = thread < s.dropped ? s.noisy[thread][i] : 0;
		}
#pragma unroll 1
		for (int b = 0; b < bounds() && thread <= count; b++)
			found.from[b][thread] = s.from[b][thread];
		if (thread == 0) {
			found.count = count;
			found.rank = s.rank;
			found.dropped = s.dropped;
		}
	}
	if (warp < steps()) {
		const double *x = slice.vector(s.columns[warp]);
		double *y = f.y + slice.first + warp * f.ldy;
		const int p = place(warp);
		rows<1>(0, [&](int i) { y[i] = warp >= count || i < p ? 0 : i == p ? 1 : x[i]; });
	}
	if (f.nearby && warp < bounds()) {
		double *to = (double *)(f.found + 1) + warp * f.m + slice.first;
		rows<1>(0, [&](int i) { to[i] = slice.vector(ERRORS + warp)[i]; });
	}
}

// factor_pivoted factors min(m,n) columns, or as many as may be taken. Cooperative grid (slices of at least 32
// rows, the last one may have fewer), block 1024 threads. Shared bytes: STATE, and 8·rows·(n + bounds) if the
// slice is nearby.
extern "C" __global__ void __launch_bounds__(THREADS, 1) factor_pivoted(Factoring f)
{
	extern __shared__ double shared[];
	const i64 first = blockIdx.x * f.rows;
	Slice slice = {f.a + first, (double *)(f.found + 1) + first, f.lda, f.m, first, (int)min(f.rows, f.m - first)};
	if (f.nearby) {
		slice.a = shared + STATE / sizeof(double);
		slice.errors = slice.a + f.n * f.rows;
		slice.lda = slice.lde = f.rows;
	}
	const int thread = threadIdx.x;
	const Grid grid = {f.box, (unsigned)f.meeting, VECTORS, COLUMNS};
	Worker w = {f, *(State *)shared, slice, grid, thread, thread % 32, thread / 32};
	w.begin();
	int j = 0;
	bool none = true, again = false; // there is no reflector yet; the scales were chosen again
	for (;;) {
		w.advance(j, none);
		if (!none && w.last())
			w.form(j - 1);
		if (j == w.steps() && f.bounds == 0)
			break;
		bool column, error;
		w.measure(j, column, error);
		if (__syncthreads_or(column || error) && !again) {
			w.rescale(j, column, error);
			none = again = true;
			continue;
		}
		if (w.warp == 0)
			w.choose(j);
		__syncthreads();
		if (w.s.pivot < 0)
			break;
		w.project(j++);
		none = again = false;
	}
	w.finish(j);
}
