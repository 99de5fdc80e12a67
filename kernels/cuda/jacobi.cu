// The pointwise one-sided Jacobi method on the factors of a batch, [Nov15, §4.3], for orders k ≤ 128.
//
// A launch runs one sweep, k − 1 p-steps or so. The host has put the pairs of every p-step into slots,
// PER_WARP to a warp, such that for some p-steps, a round, what a warp works on stays its own; the block
// meets at the end of a round (rounds.go).
//
// R lies in the shared memory of one block, the factor's. T, whose rows do not depend on each other,
// is worked on by other blocks, each with some of its rows: the factor's block writes down the
// rotations of every p-step and publishes them every WINDOW p-steps or so, and the others follow.
// Blocks take their roles in the order in which they start, factors first, so a block that waits for a
// factor knows that it is running.
//
// The kernels for columns of both signs (SIGNED) also take problems whose columns all have sign +1,
// and give them the same bits.

#include "rotation.cuh"
#include "sweep.cuh"

// lanes_sum returns the sum over the lanes of a pair, the same bits on all.
__device__ inline double lanes_sum(double x)
{
	for (int distance = LANES / 2; distance > 0; distance /= 2)
		x += __shfl_xor_sync(0xffffffff, x, distance);
	return x;
}

// load_factor copies R, scaled, to shared memory, columns of LD rows, zero beyond row k, and returns the
// shift. Before the first sweep it chooses the shift and notes the norms of the columns.
template <int LD, int THREADS>
__device__ inline int load_factor(const Problem &b, State &state, double *r, i64 sweep)
{
	__shared__ double largest[THREADS / 32];
	const int k = (int)b.k, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int shift = (int)state.shift;
	if (sweep == 0) {
		double most = 0;
		for (int j = warp; j < k; j += THREADS / 32)
			for (int i = lane; i < k; i += 32)
				most = fmax(most, fabs(b.r[i + j * b.ldr]));
		most = warp_max(most);
		if (lane == 0)
			largest[warp] = most;
		__syncthreads();
		for (int w = 0; w < THREADS / 32; w++)
			most = fmax(most, largest[w]);
		shift = min(TOP - exponent(most), 1000);
	}
	const double scale = ldexp(1.0, shift), *const from = b.r;
	const i64 ldr = b.ldr;
#pragma unroll 8
	for (int i = threadIdx.x; i < LD * k; i += THREADS) {
		const int row = i % LD, col = i / LD;
		r[i] = row < k ? scale * from[row + col * ldr] : 0;
	}
	__syncthreads();
	if (sweep == 0) {
		for (int j = warp; j < k; j += THREADS / 32) {
			double sum = 0;
			for (int i = lane; i < k; i += 32)
				sum = __fma_rn(r[i + j * LD], r[i + j * LD], sum);
			sum = warp_sum(sum);
			if (lane == 0)
				state.before[j] = sqrt(sum);
		}
		__syncthreads();
	}
	return shift;
}

// What a lane has of a column: every second double2 of its own from `even` on, the others from `odd` on.
struct Part {
	double2 *even, *odd;
	__device__ double2 &operator[](int i) const { return (i % 2 ? odd : even)[i * LANES]; }
};

// part returns what a lane has of a column: rows 2l, 2l+1, then 2·LANES further on, and so on. Every second
// group of lanes has its double2s in the order 1, 0, 3, 2, …, so that two groups never meet in a bank.
__device__ inline Part part(double *column, int lane, int group)
{
	double2 *x = (double2 *)column + lane;
	return group % 2 ? Part{x + LANES, x - LANES} : Part{x, x};
}

// A dot product in four chains. Its sum does not change if the terms come in the order 1, 0, 3, 2, …
struct Chains {
	double2 c[2];
	__device__ void add(int i, double2 x, double2 y)
	{
		c[i % 2] = {__fma_rn(x.x, y.x, c[i % 2].x), __fma_rn(x.y, y.y, c[i % 2].y)};
	}
	__device__ double sum() const { return lanes_sum((c[0].x + c[0].y) + (c[1].x + c[1].y)); }
};

// factor_role runs the sweep on R. LANES lanes share a pair and keep its two columns in registers from the
// dot products to the rotation.
template <int SIZE, bool SIGNED>
__device__ inline void factor_role(const Sweep &a, i64 problem, double *r)
{
	constexpr int LD = SIZE, SLOTS = SIZE / 2, THREADS = SLOTS * LANES, V = LD / (2 * LANES);
	__shared__ int rotations, proper, open, idle, degenerate;
	const Problem &b = a.problems[problem];
	State &state = a.states[problem];
	if (skipped(b) || (a.number > 0 && state.done < a.number))
		return;
	const int k = (int)b.k, thread = threadIdx.x, slot = thread / LANES, lane = thread % LANES;
	const int positive = (int)b.positive;
	const double tol = b.tol;
	if (thread == 0)
		rotations = proper = open = idle = degenerate = 0;
	const int shift = load_factor<LD, THREADS>(b, state, r, a.number);
	double2 *turns = a.turns + problem * a.steps * SLOTS;
	const int steps = (int)a.steps;
	int my_rotations = 0, my_proper = 0, my_open = 0, my_idle = 0, my_degenerate = 0;
	unsigned next = steps > 0 ? a.pairs[slot] : 0;
	int published = 0;
	for (int step = 0; step < steps; step++) {
		const int p = next & 0xff, q = next >> 8 & 0xff;
		const bool valid = q < k, meet = next & MEET;
		if (step + 1 < steps)
			next = a.pairs[(step + 1) * SLOTS + slot];
		const Part x = part(r + (valid ? p : SIZE) * LD, lane, slot),
				y = part(r + (valid ? q : SIZE) * LD, lane, slot);
		double2 u[V], w[V];
#pragma unroll
		for (int i = 0; i < V; i++) {
			u[i] = x[i];
			w[i] = y[i];
		}
		Chains pp = {}, qq = {}, pq = {};
#pragma unroll
		for (int i = 0; i < V; i++) {
			pp.add(i, u[i], u[i]);
			qq.add(i, w[i], w[i]);
			pq.add(i, u[i], w[i]);
		}
		const double hpp = pp.sum(), hqq = qq.sum(), hpq = pq.sum();
		const Signs signs = SIGNED ? signs_of(p, q, positive) : Signs{1, 1};
		const Rotation t = rotation<SIGNED>(valid ? hpp : 1, valid ? hqq : 1, valid ? hpq : 0, tol, signs);
		if (t.rotate) {
			const Part xd = t.swap ? y : x, yd = t.swap ? x : y;
#pragma unroll
			for (int i = 0; i < V; i++) {
				turn<SIGNED>(t.sin, t.tau, signs.kind, u[i].x, w[i].x);
				turn<SIGNED>(t.sin, t.tau, signs.kind, u[i].y, w[i].y);
				xd[i] = u[i];
				yd[i] = w[i];
			}
		}
		if (lane == 0) {
			// sin φ and tan(φ/2) have the same sign, except here if the columns are swapped.
			turns[step * SLOTS + slot] = {t.sin, t.swap ? -t.tau : t.tau};
			my_rotations += t.rotate;
			my_proper += t.proper;
			my_open += t.open;
			my_idle += t.idle;
			if (SIGNED)
				my_degenerate += t.degenerate;
		}
		if (!meet) {
			__syncwarp();
			continue;
		}
		__syncthreads();
		if (thread == 0 && (step + 1 - published >= WINDOW || step == steps - 1)) {
			published = step + 1;
			publish(&state.progress, a.epoch << 32 | (u64)published);
		}
	}
	if (lane == 0 && my_rotations) { // integers: the order does not matter
		atomicAdd(&rotations, my_rotations);
		atomicAdd(&proper, my_proper);
		atomicAdd(&open, my_open);
		atomicAdd(&idle, my_idle);
		if (SIGNED)
			atomicAdd(&degenerate, my_degenerate);
	}
	__syncthreads();
	if (rotations) {
		const double scale = ldexp(1.0, -shift);
		double *const out = b.r;
		const i64 ldr = b.ldr;
		for (int i = thread; i < LD * k; i += THREADS) {
			const int row = i % LD, col = i / LD;
			if (row < k)
				out[row + col * ldr] = scale * r[i];
		}
	}
	if (thread == 0) {
		b.tally->rotations += rotations;
		b.tally->proper += proper;
		b.tally->open += open;
		b.tally->idle += idle;
		if (SIGNED)
			b.tally->degenerate += degenerate;
		b.tally->changed = rotations > 0 || (a.number > 0 && b.tally->changed);
		state.shift = shift;
		state.done = rotations > 0 ? NEVER : a.number;
	}
}

// turns_role applies the rotations of the sweep to a slice of the rows of T, lane l to rows l,
// l+32, … of the slice.
template <int SIZE, bool SIGNED>
__device__ inline void turns_role(const Sweep &a, i64 problem, int slice, double *t)
{
	constexpr int SLOTS = SIZE / 2, WARPS = SLOTS / PER_WARP;
	constexpr int PAIRS = 2, ROWS = (SIZE + 31) / 32; // pairs, and rows of each, that a lane works on at a time
	const Problem &b = a.problems[problem];
	const State &state = a.states[problem];
	const int k = (int)b.k;
	const int rows = (k + (int)a.slices - 1) / (int)a.slices;
	const int first = slice * rows;
	const int n = min(rows, k - first);
	if (n <= 0 || skipped(b) || (a.number > 0 && *(volatile const i64 *)&state.done < a.number))
		return;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, steps = (int)a.steps, positive = (int)b.positive;
	double *const out = b.t + first;
	const i64 ldt = b.ldt;
	for (int j = warp; j < k; j += WARPS)
		for (int i = lane; i < n; i += 32)
			t[i + j * n] = a.number > 0 ? out[i + j * ldt] : first + i == j;
	const double2 *turns = a.turns + problem * a.steps * SLOTS;
	for (int start = 0; start < steps; start += WINDOW) {
		const int end = min(start + WINDOW, steps);
		if (threadIdx.x == 0)
			await(&state.progress, a.epoch << 32 | (u64)end);
		__syncthreads();
		// Lane l keeps the rotation of p-step start + l/PER_WARP in slot PER_WARP·warp + l mod PER_WARP.
		double2 mine = {0, 0};
		unsigned pair = ~0u;
		if (start + lane / PER_WARP < end) {
			const int at = (start + lane / PER_WARP) * SLOTS + PER_WARP * warp + lane % PER_WARP;
			mine = __ldcg(turns + at);
			pair = a.pairs[at];
		}
		for (int step = start; step < end; step++) {
			bool meet = true;
#pragma unroll
			for (int s = 0; s < PER_WARP; s += PAIRS) {
				double sin[PAIRS], tau[PAIRS], kind[PAIRS], u[PAIRS][ROWS], w[PAIRS][ROWS], *x[PAIRS], *y[PAIRS];
				bool go[PAIRS], swap[PAIRS];
#pragma unroll
				for (int i = 0; i < PAIRS; i++) {
					const int from = (step - start) * PER_WARP + s + i;
					const unsigned both = __shfl_sync(0xffffffff, pair, from);
					sin[i] = __shfl_sync(0xffffffff, mine.x, from);
					tau[i] = __shfl_sync(0xffffffff, mine.y, from);
					swap[i] = signbit(sin[i]) != signbit(tau[i]);
					tau[i] = copysign(tau[i], sin[i]);
					const int p = both & 0xff, q = both >> 8 & 0xff;
					meet = both & MEET;
					kind[i] = SIGNED ? signs_of(p, q, positive).kind : 1;
					go[i] = q < k && (sin[i] != 0 || swap[i]);
					x[i] = t + p * n + lane;
					y[i] = t + q * n + lane;
#pragma unroll
					for (int r = 0; r < ROWS; r++)
						if (go[i] && lane + 32 * r < n) {
							u[i][r] = x[i][32 * r];
							w[i][r] = y[i][32 * r];
						}
				}
#pragma unroll
				for (int i = 0; i < PAIRS; i++)
#pragma unroll
					for (int r = 0; r < ROWS; r++)
						if (go[i] && lane + 32 * r < n) {
							turn<SIGNED>(sin[i], tau[i], kind[i], u[i][r], w[i][r]);
							*((swap[i] ? y[i] : x[i]) + 32 * r) = u[i][r];
							*((swap[i] ? x[i] : y[i]) + 32 * r) = w[i][r];
						}
			}
			if (meet)
				__syncthreads();
			else
				__syncwarp();
		}
	}
	for (int j = warp; j < k; j += WARPS)
		for (int i = lane; i < n; i += 32)
			out[i + j * ldt] = t[i + j * n];
}

template <int SIZE, bool SIGNED>
__device__ inline void sweep(const Sweep &a)
{
	// SIZE columns of SIZE rows, and one that nobody writes, for slots without a pair
	extern __shared__ __align__(16) double shared[];
	__shared__ u64 ticket;
	if (threadIdx.x == 0)
		ticket = atomicAdd(a.ticket, 1ull) - a.tickets;
	__syncthreads();
	const i64 role = (i64)ticket;
	if (role < a.count)
		factor_role<SIZE, SIGNED>(a, role, shared);
	else
		turns_role<SIZE, SIGNED>(a, (role - a.count) % a.count, (int)((role - a.count) / a.count), shared);
}

// jacobi_16, jacobi_32, jacobi_64, jacobi_128: one sweep for factors of that order or smaller. Grid
// (count·(1 + slices)), block order/2·LANES threads. Shared bytes: 8·order·(order+1). T need not be set
// before the first sweep. jacobi_signed_16, …: the same for columns of both signs.
extern "C" __global__ void __launch_bounds__(8 * LANES) jacobi_16(Sweep a) { sweep<16, false>(a); }
extern "C" __global__ void __launch_bounds__(16 * LANES) jacobi_32(Sweep a) { sweep<32, false>(a); }
extern "C" __global__ void __launch_bounds__(32 * LANES) jacobi_64(Sweep a) { sweep<64, false>(a); }
extern "C" __global__ void __launch_bounds__(64 * LANES) jacobi_128(Sweep a) { sweep<128, false>(a); }
extern "C" __global__ void __launch_bounds__(8 * LANES) jacobi_signed_16(Sweep a) { sweep<16, true>(a); }
extern "C" __global__ void __launch_bounds__(16 * LANES) jacobi_signed_32(Sweep a) { sweep<32, true>(a); }
extern "C" __global__ void __launch_bounds__(32 * LANES) jacobi_signed_64(Sweep a) { sweep<64, true>(a); }
extern "C" __global__ void __launch_bounds__(64 * LANES) jacobi_signed_128(Sweep a) { sweep<128, true>(a); }

// jacobi_cancel sets to zero, if cancels is 1, the columns of R that are nothing but rounding errors:
// column j of R·T if its norm is at most tol·√Σᵢ(tᵢⱼ·before[i])². before has the norms of the columns
// that it is a combination of. Where columns have sign −1, no |tᵢⱼ| counts for more than 1.
// close[problem] tells whether every diagonal element of T is at least 1/2. Grid (problems), block 1024
// threads: a warp takes every 32nd column.
extern "C" __global__ void __launch_bounds__(1024)
jacobi_cancel(const Problem *problems, const State *states, i64 *close, i64 cancels)
{
	const Problem &b = problems[blockIdx.x];
	if (b.tally->changed == 0)
		return;
	const State &state = states[blockIdx.x];
	const double scale = ldexp(1.0, (int)state.shift), most = b.positive < b.k ? 1 : 1.0 / 0.0;
	const int k = (int)b.k, lane = threadIdx.x % 32;
	bool near = true;
	for (int j = threadIdx.x / 32; j < k; j += 32) {
		double sum = 0, square = 0;
#pragma unroll 4
		for (int i = lane; i < k; i += 32) {
			const double x = scale * b.r[i + j * b.ldr];
			const double t = fabs(b.t[i + j * b.ldt]);
			const double part = (t > most ? most : t) * state.before[i];
			sum = __fma_rn(part, part, sum);
			square = __fma_rn(x, x, square);
		}
		const bool null = sqrt(warp_sum(square)) <= b.tol * sqrt(warp_sum(sum));
		if (cancels && null)
			for (int i = lane; i < k; i += 32)
				b.r[i + j * b.ldr] = 0;
		near = near && b.t[j + j * b.ldt] >= 0.5;
	}
	const int all = __syncthreads_and(near);
	if (threadIdx.x == 0)
		close[blockIdx.x] = all;
}

// jacobi_departure replaces E in the order² elements of departures by (I − J·TᵀJT)/2 for each problem with a
// column of sign −1, computed from D = T − I as −(D + J·DᵀJ + J·DᵀJD)/2 where T is close to I. Columns of T
// may be long, and elements of E above 2⁻²⁶ ≈ √ε are nothing but their rounding errors: 0 takes their place.
// Grid (⌈order/32⌉, ⌈order/32⌉, problems), block 256 threads: 32×32 elements.
extern "C" __global__ void __launch_bounds__(256)
jacobi_departure(const Problem *problems, const i64 *close, double *departures, i64 order)
{
	__shared__ double left[32][33], right[32][33]; // 32 rows of columns of J·D and D, column by column
	const Problem &b = problems[blockIdx.z];
	const int k = (int)b.k, positive = (int)b.positive, i0 = blockIdx.x * 32, j0 = blockIdx.y * 32;
	if (b.tally->changed == 0 || positive == k || i0 >= k || j0 >= k)
		return;
	const int x = threadIdx.x % 32, y = threadIdx.x / 32; // this thread has elements (x, y), (x, y + 8), …
	const double one = close[blockIdx.z] ? 1 : 0;
	auto sign = [=](int i) { return i < positive ? 1.0 : -1.0; };
	auto d = [&](int i, int j) { return i < k && j < k ? b.t[i + j * b.ldt] - (i == j ? one : 0) : 0; };
	double sum[4] = {};
	for (int l = 0; l < k; l += 32) {
		for (int c = y; c < 32; c += 8) {
			left[c][x] = sign(l + x) * d(l + x, i0 + c);
			right[c][x] = d(l + x, j0 + c);
		}
		__syncthreads();
		for (int r = 0; r < 32; r++)
			for (int n = 0; n < 4; n++)
				sum[n] = __fma_rn(left[x][r], right[y + 8 * n][r], sum[n]);
		__syncthreads();
	}
	double *const e = departures + blockIdx.z * order * order;
	const int i = i0 + x;
	for (int n = 0; n < 4; n++) {
		const int j = j0 + y + 8 * n;
		if (i >= k || j >= k)
			continue;
		const double own = one != 0 ? sign(i) * d(i, j) + sign(j) * d(j, i) : i == j ? -sign(i) : 0;
		const double h = -0.5 * (sum[n] + own);
		e[i + j * order] = fabs(h) <= 0x1p-26 ? sign(i) * h : 0;
	}
}
