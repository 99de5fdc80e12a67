// The Householder QR factorization of a panel of up to 32 columns, pivoted or in their order, with the
// rounding errors followed where that is wanted. Package internal/dense tells what is done and why (panel.go,
// noise.go).
//
// Every block owns a slice of the rows. A warp does one column of it. Two meetings of the blocks make a step:
// one for the norms of what is left of the columns, by which all blocks choose the same pivot, and one for
// the products of its reflector with the other columns. Columns stay in their slots: only their numbers are
// swapped.
//
// Lane l of a warp has the rows l, l+32, … of the slice, always. So a warp that goes over its column again
// needs no barrier.

#include "pivot.cuh"

// hypotenuse is hypot, faster for ordinary numbers.
__device__ inline double hypotenuse(double x, double y)
{
	const double sum = __fma_rn(x, x, y * y);
	return sum > LEAST && sum < MOST ? sqrt(sum) : hypot(x, y);
}

// length returns the norm of some samples.
__device__ inline double length(const double *x)
{
	double sum = 0, most = 0;
	for (int i = 0; i < SAMPLES; i++) {
		sum = __fma_rn(x[i], x[i], sum);
		most = fmax(most, fabs(x[i]));
	}
	if (sum > LEAST && sum < MOST)
		return sqrt(sum);
	const int e = exponent(most);
	sum = 0;
	for (int i = 0; i < SAMPLES; i++) {
		const double y = ldexp(x[i], -e);
		sum = __fma_rn(y, y, sum);
	}
	return ldexp(sqrt(sum), e);
}

// begin fills the state and, if it is to be nearby, the slice.
__device__ void Worker::begin()
{
	for (int i = thread; i < COLUMNS * COLUMNS; i += THREADS)
		s.t[i / COLUMNS][i % COLUMNS] = 0;
	for (int i = thread; i < COLUMNS * WIDTH; i += THREADS)
		s.samples[i / WIDTH][i % WIDTH] = f.bounds ? f.found->samples[i / WIDTH][i % WIDTH] : 0;
	if (thread < VECTORS) {
		s.scale[thread] = 1;
		s.exponent[thread] = s.bare[thread] = 0;
	}
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
			if (exists(c)) {
				const double *from = c < ERRORS ? f.a + c * f.lda : (double *)(f.found + 1) + (c - ERRORS) * f.m;
				rows(0, [&](i64 i, i64 row) { slice.vector(c)[i] = from[row]; });
			}
	__syncthreads();
	resize();
}

// resize finds the lengths of the samples. It ends with a barrier.
__device__ void Worker::resize()
{
	if (f.bounds == 0)
		return;
	const int groups = (int)f.bounds + 1;
	if (thread < f.n * groups)
		s.size[thread / groups][thread % groups] = length(s.samples[thread / groups] + thread % groups * SAMPLES);
	__syncthreads();
}

// squares sums the squares of all vectors below row j, scaled, and counts the blocks in which an element of a
// column is more than its noise: sums[VECTORS + c]. It puts row j, which the first block has, into top.
__device__ void Worker::squares(int j)
{
	const double *top = grid.half() + 2 * VECTORS * gridDim.x; // what the first block publishes
	for (int c = warp; c < VECTORS; c += WARPS) {
		const double *x = slice.vector(c), scale = s.scale[c];
		const bool judged = c < ERRORS && f.reach > 0 && !taken(c);
		double sum = 0;
		bool more = false;
		if (exists(c))
			rows(j, [&](i64 i, i64 row) {
				const double e = x[i], y = scale * e;
				if (row == j)
					grid.publish(2 * VECTORS + c, e);
				else if (!taken(c))
					sum = __fma_rn(y, y, sum);
				for (int b = 0; judged && b < f.bounds; b++)
					more |= fabs(e) > slice.vector(ERRORS + b)[i] * s.size[c][b];
			});
		sum = warp_sum(sum);
		more = __any_sync(0xffffffff, more);
		if (lane == 0) {
			grid.publish(c, sum);
			grid.publish(VECTORS + c, more);
		}
	}
	grid.combine(s.sums, f.reach > 0 ? 2 * VECTORS : VECTORS, add);
	if (thread < VECTORS)
		s.top[thread] = exists(thread) && j < f.m ? __ldcg(top + thread * gridDim.x) : 0;
}

// rescale chooses new scales for the vectors whose sums of squares are not good.
__device__ void Worker::rescale(int j)
{
	const bool bad = thread < VECTORS && !(s.sums[thread] >= LEAST && s.sums[thread] <= MOST);
	for (int c = warp; c < VECTORS; c += WARPS) {
		double most = 0;
		if (exists(c) && !taken(c))
			rows(j + 1, [&](i64 i, i64) { most = fmax(most, fabs(slice.vector(c)[i])); });
		most = warp_max(most);
		if (lane == 0)
			grid.publish(c, most);
	}
	grid.combine(s.sums, VECTORS, larger);
	if (bad) {
		s.bare[thread] = s.sums[thread] == 0;
		s.exponent[thread] = max(exponent(s.sums[thread]), -LARGEST_SCALE);
		s.scale[thread] = ldexp(1.0, -s.exponent[thread]);
	}
	__syncthreads();
}

// measure finds the lengths of what is left of all vectors from row j on. It ends with a barrier.
__device__ void Worker::measure(int j)
{
	const int c = thread;
	const bool counts = c < VECTORS && exists(c) && !taken(c);
	for (bool again = false;; again = true) {
		squares(j);
		const bool good = !counts || s.bare[c] || (s.sums[c] >= LEAST && s.sums[c] <= MOST);
		if (again || !__syncthreads_or(!good))
			break;
		rescale(j);
	}
	if (counts) {
		const double rest = sqrt(s.sums[c]);
		const int before = s.exponent[c];
		s.length[c] = hypot(s.top[c], ldexp(rest, before));
		s.exponent[c] = max(exponent(s.length[c]), -LARGEST_SCALE); // what is left shrinks, mostly by little
		s.scale[c] = ldexp(1.0, -s.exponent[c]);
		s.rest[c] = ldexp(rest, before - s.exponent[c]);
		if (c >= ERRORS)
			s.from[c - ERRORS][j] = s.length[c];
	}
	__syncthreads();
}

// reflector makes the vector of the pivot's reflector, and zeroes what was dropped. It ends with a barrier.
// At the end of the range only the scaled column has all the digits that an orthogonal reflector needs.
__device__ void Worker::reflector(int j)
{
	const int p = s.pivot;
	if (thread == 0) {
		const double alpha = s.scale[p] * s.top[p], rest = s.rest[p];
		const double beta = rest == 0 ? alpha : -copysign(hypot(alpha, rest), alpha);
		s.tau[j] = rest == 0 ? 0 : (beta - alpha) / beta;
		s.head = alpha - beta;
		s.beta = ldexp(beta, s.exponent[p]);
		s.taken |= 1u << p;
	}
	if (thread < COLUMNS && (s.cleared >> thread & 1)) {
		s.top[thread] = 0;
		s.bare[thread] = 1;
	}
	for (int c = warp; c < f.n; c += WARPS)
		if (s.cleared >> c & 1)
			rows(j, [&](i64 i, i64) { slice.vector(c)[i] = 0; });
	__syncthreads();
	double *x = slice.vector(p);
	for (i64 i = thread; i < slice.rows; i += THREADS) {
		if (slice.first + i == j)
			x[i] = s.beta;
		if (slice.first + i > j)
			x[i] = s.tau[j] == 0 ? 0 : s.scale[p] * x[i] / s.head;
	}
	__syncthreads();
}

// project sums the products of the reflector's vector v with all columns below row j, and the squares of
// those with the errors of the rows from row j on, scaled. There, products below 2⁻⁵⁰⁰ times the length of
// the errors count as zero.
__device__ void Worker::project(int j)
{
	const double *v = slice.vector(s.pivot);
	for (int c = warp; c < VECTORS; c += WARPS) {
		const double *x = slice.vector(c), scale = s.scale[c];
		double sum = 0;
		if (exists(c) && c != s.pivot)
			rows(j, [&](i64 i, i64 row) {
				if (c < ERRORS) {
					sum = row == j ? sum : __fma_rn(v[i], x[i], sum);
				} else {
					const double y = row == j ? scale * x[i] : v[i] * (scale * x[i]);
					sum = __fma_rn(y, y, sum);
				}
			});
		sum = warp_sum(sum);
		if (lane == 0)
			grid.publish(c, sum);
	}
	grid.combine(s.sums, VECTORS, add);
}

// follow does to the errors what update does to the columns. It ends with a barrier.
__device__ void Worker::follow(int j)
{
	const int p = s.pivot, width = (int)(f.bounds + 1) * SAMPLES, c = thread / width;
	const double tau = s.tau[j], *v = slice.vector(p);
	if (c < f.n && !taken(c)) {
		const double left = s.top[c] - tau * (s.sums[c] + s.top[c]); // of row j
		s.samples[c][thread % width] -= left / s.beta * s.samples[p][thread % width];
	}
	if (thread < f.bounds && s.sums[ERRORS + thread] != 0)
		s.bare[ERRORS + thread] = 0;
	const int count = (int)slice.rows;
	for (int e = THREADS - 1 - thread; e < (int)f.bounds * count; e += THREADS) { // warps without samples first
		const int b = e < count ? 0 : e / count, i = e - b * count;
		const double all = ldexp(sqrt(s.sums[ERRORS + b]), s.exponent[ERRORS + b]);
		if (all == 0 || slice.first + i < j)
			continue;
		double &x = slice.vector(ERRORS + b)[i];
		const double u = slice.first + i == j ? 1 : v[i], share = u * x / all;
		x = hypotenuse((1 - tau * u * u) * x, tau * u * all * sqrt(fmax(0.0, 1 - share * share)));
	}
	__syncthreads();
	resize();
}

// update applies the reflector to the columns that are left.
__device__ void Worker::update(int j)
{
	const double *v = slice.vector(s.pivot);
	for (int c = warp; c < f.n; c += WARPS) {
		if (taken(c))
			continue;
		// the first row, the largest, is added to the sum of the others: see internal/dense
		const double t = s.tau[j] * (s.sums[c] + s.top[c]);
		if (t == 0)
			continue;
		double *x = slice.vector(c);
		rows(j, [&](i64 i, i64 row) { x[i] = row == j ? s.top[c] - t : __fma_rn(-t, v[i], x[i]); });
		if (lane == 0)
			s.bare[c] = 0;
	}
}

// form computes column j of T: −τ·T·(Yᵀ·y) above the diagonal, and τ on it. Yᵀ·y are the products of the
// reflector with the columns that were taken. The pivot's warp, which has no column to update, calls it.
__device__ void Worker::form(int j)
{
	double sum = 0;
	for (int l = 0; l < j; l++) {
		const int c = s.columns[l];
		sum += s.t[l][lane] * (s.sums[c] + s.top[c]);
	}
	if (lane <= j)
		s.t[j][lane] = lane == j ? s.tau[j] : -s.tau[j] * sum;
}

// finish writes what was found, with `count` columns taken.
__device__ void Worker::finish(int count)
{
	const int steps = (int)f.steps();
	__syncthreads();
	if (blockIdx.x == 0) { // which has the rows of R
		for (int e = thread; e < steps * steps; e += THREADS) {
			const int i = e % steps, k = e / steps;
			f.r[i + k * f.ldr] = i <= k && k < count ? slice.vector(s.columns[k])[i] : 0;
			f.t[i + k * f.ldt] = s.t[k][i];
		}
		if (f.found && thread < COLUMNS) {
			f.found->pivots[thread] = s.columns[thread];
			f.found->tau[thread] = s.tau[thread];
			for (int i = 0; i < 2; i++)
				f.found->noisy[thread][i] = thread < s.dropped ? s.noisy[thread][i] : 0;
			for (int i = 0; i < WIDTH; i++)
				f.found->samples[thread][i] = s.samples[thread][i];
		}
		if (f.found && thread <= count)
			for (int b = 0; b < f.bounds; b++)
				f.found->from[b][thread] = s.from[b][thread];
		if (f.found && thread == 0) {
			f.found->count = count;
			f.found->rank = s.rank;
			f.found->dropped = s.dropped;
		}
	}
	__syncthreads(); // Y may lie where the slice does
	for (int k = warp; k < steps; k += WARPS) {
		const double *x = slice.vector(s.columns[k]);
		rows(0, [&](i64 i, i64 row) {
			f.y[row + k * f.ldy] = k >= count || row < k ? 0 : row == k ? 1 : x[i];
		});
	}
	if (f.nearby)
		for (int b = warp; b < f.bounds; b += WARPS)
			rows(0, [&](i64 i, i64 row) {
				((double *)(f.found + 1))[b * f.m + row] = slice.vector(ERRORS + b)[i];
			});
}

// factor_panel factors min(m,n) columns, or as many as may be taken. Cooperative grid (slices of at least 32
// rows, the last one may have fewer), block 1024 threads. Shared bytes: STATE, and 8·rows·(n + bounds) if the
// slice is nearby. partial has 6·VECTORS·gridDim.x numbers.
extern "C" __global__ void __launch_bounds__(THREADS, 1) factor_panel(Factoring f)
{
	extern __shared__ double shared[];
	const i64 first = blockIdx.x * f.rows;
	Slice slice = {f.a + first, (double *)(f.found + 1) + first, f.lda, f.m, first, min(f.rows, f.m - first)};
	if (f.nearby) {
		slice.a = shared + STATE / sizeof(double);
		slice.errors = slice.a + f.n * f.rows;
		slice.lda = slice.lde = f.rows;
	}
	const int thread = threadIdx.x, steps = (int)f.steps();
	const Grid grid = {f.partial, f.met, 0, 3 * VECTORS};
	Worker w = {f, *(State *)shared, slice, grid, thread, thread % 32, thread / 32};
	w.begin();
	int j = 0;
	for (;; j++) {
		if (j < steps || f.bounds > 0)
			w.measure(j);
		if (j == steps)
			break;
		if (f.found == nullptr && thread == 0)
			w.s.pivot = j;
		if (f.found && w.warp == 0)
			w.choose(j);
		__syncthreads();
		if (w.s.pivot < 0)
			break;
		w.reflector(j);
		w.project(j);
		if (f.bounds > 0)
			w.follow(j);
		w.update(j);
		if (w.warp == w.s.pivot)
			w.form(j);
	}
	w.finish(j);
}
