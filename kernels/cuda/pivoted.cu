// The Householder QR factorization of a panel of up to 32 columns with pivoting, the rounding errors followed
// where that is wanted. Package internal/dense tells what is done and why (panel.go, noise.go).
//
// Every block owns a slice of the rows. A warp does two columns of it. The blocks meet twice in each step:
// for the lengths of what is left of the columns, by which all blocks choose the same pivot, and for the
// products of its reflector with the other columns. Columns stay in their slots: only their numbers are
// swapped.
//
// Lane l of a warp has the rows l, l+32, … of the slice, always. So a warp that goes over its columns again
// needs no barrier. The pivot's column stays what it was until all other columns have had its reflector: v is
// made of it where it is needed. Then its own warp puts v in its place (settle).

#include "errors.cuh"
#include "pivot.cuh"

// begin fills the state and, if it is to be nearby, the slice.
__device__ void Worker::begin()
{
#pragma unroll 1
	for (int i = thread; i < COLUMNS * (COLUMNS + 1); i += blockDim.x)
		s.t[i / (COLUMNS + 1)][i % (COLUMNS + 1)] = 0;
#pragma unroll 1
	for (int i = thread; i < COLUMNS * WIDTH; i += blockDim.x)
		s.samples[i / WIDTH][i % WIDTH] =
			i / WIDTH < n() && i % WIDTH < width() ? f.samples[i % WIDTH + i / WIDTH * f.lds] : 0;
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
		for (int c = warp; c < VECTORS; c += blockDim.x / 32)
			if (c < ERRORS ? c < n() : c - ERRORS < bounds()) {
				const double *from = given(c);
				rows<1>(0, [&](int i) { slice.vector(c)[i] = from[i]; });
			}
	__syncthreads();
	for (int k = 0; k < 2 && bounds() > 0; k++)
		if (column(k) >= 0)
			resize(column(k));
	__syncthreads();
}

// more adds up sums of squares. A negative one, −0 too, says that some element is more than noise.
__device__ inline double more(double x, double y)
{
	const double sum = fabs(x) + fabs(y);
	return signbit(x) || signbit(y) ? -sum : sum;
}

// measure reads the sums of squares and row j, which advance has published, and tells whether what this lane
// speaks for needs another scale.
__device__ bool Worker::measure(int j)
{
	const auto left = [&](int c) { return !taken(c); };
	double top;
	const double sum = gather(left, j < f.m ? mine : -1, more, top), square = fabs(sum);
	if (bound >= 0) {
		if (lane == 0 && part == 0)
			s.sums[ERRORS + bound] = sum;
		return part == 0 && !s.bare[ERRORS + bound] && !ordinary(sum);
	}
	if (speaks()) {
		s.top[mine] = top;
		s.sums[mine] = square;
		s.more[mine] = signbit(sum);
	}
	if (mine < 0 || taken(mine) || s.bare[mine])
		return false;
	const double alpha = scale(mine) * top;
	return !ordinary(__fma_rn(alpha, alpha, square));
}

// rescale chooses new scales for what is bad, by the largest element from row j on. It ends with a barrier.
__device__ void Worker::rescale(int j, bool bad)
{
	double most[2] = {}, unused;
	for (int k = 0; k < 2; k++)
		if (column(k) >= 0)
			rows<1>(place(j), [&](int i) { most[k] = fmax(most[k], fabs(slice.vector(column(k))[i])); });
	if (bound >= 0)
		share(place(j), [&](int i) { most[0] = fmax(most[0], fabs(slice.vector(ERRORS + bound)[i])); });
	publish(warp_total(most, larger), true);
	const double largest = gather([](int) { return true; }, -1, larger, unused);
	const int vector = bound >= 0 ? ERRORS + bound : mine;
	__syncthreads();
	if (bad && (speaks() || lane == 0)) { // the errors have one lane
		s.bare[vector] = largest == 0;
		s.exponent[vector] = scaling(largest);
	}
	__syncthreads();
}

// settle puts reflector j into the place of its column.
__device__ void Worker::settle(int j)
{
	if (j < 0 || warp != s.columns[j] % COLUMN_WARPS)
		return;
	const int c = s.columns[j], p = place(j);
	double *x = slice.vector(c);
	const double factor = scale(c), inverse = s.inverse[j], beta = s.beta[j];
	rows<4>(p, [&](int i) { x[i] = i == p ? beta : inverse * (factor * x[i]); });
}

// project zeroes what was dropped, and sums the products of reflector j with all columns below row j, and the
// squares of those with the errors of the rows from row j on, scaled. There, products below 2⁻⁵⁰⁰ times the
// length of the errors count as zero. It ends with a barrier.
__device__ void Worker::project(int j)
{
	const int p = place(j), pivot = s.pivot;
	settle(j - 1);
	for (int k = 0; k < 2; k++)
		if (column(k) >= 0 && (s.cleared >> column(k) & 1))
			rows<1>(p, [&](int i) { slice.vector(column(k))[i] = 0; });
	const double *x = slice.vector(pivot), factor = scale(pivot), inverse = s.inverse[j];
	double sums[2] = {}, unused;
	if (bound >= 0) {
		const double *y = slice.vector(ERRORS + bound), size = scale(ERRORS + bound);
		share(p, [&](int i) {
			const double e = size * y[i], z = i == p ? e : inverse * (factor * x[i]) * e;
			sums[0] = __fma_rn(z, z, sums[0]);
		});
	} else if (column(0) >= 0) {
		const double *y[2] = {slice.vector(column(0)), slice.vector(max(column(0), column(1)))};
		rows<4>(p + 1, [&](int i) {
			const double v = inverse * (factor * x[i]);
			for (int k = 0; k < 2; k++)
				sums[k] = __fma_rn(v, y[k][i], sums[k]);
		});
	}
	publish(warp_total(sums, add), mine != pivot);
	if (thread == 0)
		s.over = 1 / s.beta[j];
	const double sum = gather([&](int c) { return c != pivot; }, -1, add, unused);
	if (speaks())
		s.products[mine] = sum + s.top[mine]; // the first row, the largest, is added to the others
	if (bound >= 0 && part == 0 && lane == 0)
		s.products[ERRORS + bound] = sum;
	__syncthreads();
}

// advance applies reflector j−1, and publishes the sums of squares of what is left, and row j. none: there is
// no reflector.
__device__ void Worker::advance(int j, bool none)
{
	double sum = bound >= 0 ? spread(j, none) : 0;
	if (bounds() > 0 && !none) {
		follow(j - 1, column(0));
		follow(j - 1, column(1));
		if (f.reach > 0)
			__syncthreads(); // the errors of the rows are read
	}
	if (warp < COLUMN_WARPS)
		sum = change(j, none);
	publish(sum, mine >= 0 && !taken(mine));
}

// change does to the warp's columns what advance does. It returns the sum of the squares below row j of the
// column for which the lane speaks, marked for `more`. Of the last pivot's column, which is not settled yet,
// it publishes what will be there, also where there is no reflector to be applied since scales were chosen
// again.
__device__ double Worker::change(int j, bool none)
{
	if (column(0) < 0)
		return 0;
	const bool unsettled = j > 0;
	const int p = place(j - 1), next = place(j), pivot = unsettled ? s.pivot : column(0);
	const double *x = slice.vector(pivot), factor = scale(pivot), inverse = unsettled ? s.inverse[j - 1] : 0;
	double *y[2], t[2], size[2], sums[2] = {};
#pragma unroll
	for (int k = 0; k < 2; k++) {
		const int c = max(column(0), column(k));
		y[k] = slice.vector(c);
		t[k] = none || column(k) < 0 || taken(c) ? 0 : s.tau[j - 1] * s.products[c];
		size[k] = scale(c);
		if (t[k] != 0 && lane == 0)
			s.bare[c] = 0;
	}
	rows<4>(none ? next : p, [&](int i) {
		const double v = i == p ? 1 : inverse * (factor * x[i]);
#pragma unroll
		for (int k = 0; k < 2; k++) {
			const double e = __fma_rn(-t[k], v, y[k][i]), z = i > next ? size[k] * e : 0;
			if (t[k] != 0)
				y[k][i] = e;
			sums[k] = __fma_rn(z, z, sums[k]);
		}
	});
	if (next >= 0 && next < slice.rows && lane == next % 32)
		for (int k = 0; k < 2; k++)
			if (column(k) >= 0)
				grid.write(grid.single(column(k)), unsettled && column(k) == pivot
									   ? inverse * (factor * y[k][next])
									   : y[k][next]);
	double above[2] = {};
#pragma unroll 1
	for (int b = 0; b < bounds() && f.reach > 0; b++)
		for (int k = 0; k < 2; k++)
			if (column(k) >= 0)
				rows<1>(next, [&](int i) {
					if (fabs(y[k][i]) > slice.vector(ERRORS + b)[i] * s.size[column(k)][b])
						above[k] = 1;
				});
	const double sum = warp_total(sums, add);
	return f.reach > 0 && warp_total(above, larger) > 0 ? -sum : sum;
}

// form computes column j of T: −τ·T·(Yᵀ·v) above the diagonal, and τ on it. Yᵀ·v are the products of the
// reflector with the columns that were taken. A warp does some of its elements.
__device__ void Worker::form(int j)
{
#pragma unroll 1
	for (int i = warp; i <= j; i += blockDim.x / 32) {
		const double sum = warp_sum(lane < j ? s.t[lane][i] * s.products[s.columns[lane]] : 0);
		if (lane == 0)
			s.t[j][i] = i < j ? -s.tau[j] * sum : s.tau[j];
	}
}

// finish writes what was found, with `count` columns taken.
__device__ void Worker::finish(int count)
{
	settle(count - 1);
	__syncthreads();
	if (last())
#pragma unroll 1
		for (int e = thread; e < steps() * steps(); e += blockDim.x)
			f.t[e % steps() + e / steps() * f.ldt] = s.t[e / steps()][e % steps()];
	if (blockIdx.x == 0) { // which has the rows of R
		Found &found = *f.found;
#pragma unroll 1
		for (int e = thread; e < steps() * COLUMNS; e += blockDim.x) {
			const int i = e % COLUMNS, k = e / COLUMNS;
			const double x = i <= k && k < count ? slice.vector(s.columns[k])[i] : 0;
			found.r[e] = x;
			if (i < steps())
				f.r[i + k * f.ldr] = x;
		}
#pragma unroll 1
		for (int i = thread; i < COLUMNS * WIDTH; i += blockDim.x) {
			const int k = i / WIDTH, e = i % WIDTH;
			const double x = s.samples[s.columns[k]][e];
			found.samples[k][e] = x;
			if (k < steps() && e < width())
				f.ratios[e + k * f.ldq] = k < count ? __ddiv_rn(x, s.beta[k]) : 0;
		}
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
	for (int k = warp; k < steps(); k += blockDim.x / 32) {
		const double *x = slice.vector(s.columns[k]);
		double *y = f.y + slice.first + k * f.ldy;
		const int p = place(k);
		rows<1>(0, [&](int i) { y[i] = k >= count || i < p ? 0 : i == p ? 1 : x[i]; });
	}
	if (f.nearby && bound >= 0)
		share(0, [&](int i) { given(ERRORS + bound)[i] = slice.vector(ERRORS + bound)[i]; });
}

// factor_pivoted factors min(m,n) columns, or as many as may be taken. Cooperative grid (slices of 32 rows at
// least; the last one may have fewer), block 512 threads, and 64 for each bound. Shared bytes: STATE, and
// 8·rows·(n + bounds) if the slice is nearby.
extern "C" __global__ void __launch_bounds__(THREADS, 1) factor_pivoted(Factoring f)
{
	extern __shared__ double shared[];
	const i64 first = blockIdx.x * f.rows;
	const int rows = (int)min(f.rows, f.m - first);
	Slice slice = {f.a + first, f.errors + first, f.lda, f.lde, first, rows};
	if (f.nearby) {
		slice.a = shared + STATE / sizeof(double);
		slice.errors = slice.a + f.n * f.rows;
		slice.lda = slice.lde = f.rows;
	}
	const int thread = threadIdx.x, warp = thread / 32, c = warp + thread % 32 / 16 * COLUMN_WARPS;
	const int mine = warp < COLUMN_WARPS && c < f.n ? c : -1;
	const int bound = warp < COLUMN_WARPS ? -1 : (warp - COLUMN_WARPS) / PARTS;
	const Grid grid = {f.box, (unsigned)f.meeting, QUANTITIES, COLUMNS};
	Worker w = {f, *(State *)shared, slice, grid, thread, thread % 32, warp, mine, bound, warp % PARTS};
	w.begin();
	int j = 0;
	bool none = true, again = false; // there is no reflector yet; the scales were chosen again
	for (;;) {
		const bool done = j == w.steps() && f.bounds == 0; // nothing is left to be known
		if (!done)
			w.advance(j, none);
		if (!none && w.last())
			w.form(j - 1);
		if (done)
			break;
		const bool bad = w.measure(j);
		if (__syncthreads_or(bad) && !again) {
			w.rescale(j, bad);
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
