// The pointwise one-sided Jacobi method on the factors of a batch, [Nov15, §4.3], for orders k ≤ 128.
//
// A launch runs one sweep, k − 1 p-steps or so. The host has put the pairs of every p-step into slots, PER_WARP to a warp, such that for some p-steps, a
// round, what a warp works on stays its own; the block meets at the end of a round. R lies in the shared memory of one block, the factor's. T, whose rows do not depend on each other, is worked on by
// other blocks, each with some of its rows: the factor's block writes down the rotations of every p-step and publishes them every
// WINDOW p-steps, and the others follow. Blocks take their roles in the order in which they start, factors first, so a
// block that waits for a factor knows that it is running.

#include "common.cuh"

constexpr int LANES = 4;	       // that share a pair of columns
constexpr int PER_WARP = 32 / LANES;   // slots
constexpr int WINDOW = 32 / PER_WARP;  // p-steps between publications, at least
constexpr int MEET = 1 << 16;
constexpr int TOP = 480;  // exponent that the largest element gets: its square is far from overflow, and columns down to 2⁻⁹⁹⁰ of the largest have squared norms in the normal range

// What is kept of a problem between launches.
struct State {
	u64 progress;	  // epoch·2³² + p-steps published in the launch with that number
	i64 shift;	  // R is multiplied by 2^shift in shared memory
	i64 done;	  // the sweep that found nothing to rotate
	double before[128]; // norms of the columns of the scaled R before the first sweep
};

constexpr i64 NEVER = 1ll << 62;

// What a launch works on. pairs has a word p + 2⁸·q + 2¹⁶·m for every p-step and slot, m = 1 where a round ends, q = 255 where there is no
// pair; turns has a rotation for every problem, p-step and slot.
struct Sweep {
	const Problem *problems;
	State *states;
	double2 *turns;
	const unsigned *pairs;
	u64 *ticket;  // blocks that have started, in all launches
	u64 tickets;  // of them before this launch
	u64 epoch;    // number of this launch
	i64 count;    // problems
	i64 steps;    // p-steps
	i64 slices;   // blocks that share the rows of a T
	i64 number;   // of this sweep, from 0
};

// A rotation, as kernels.Rotation has it.
struct Rotation {
	double sin, tau;
	bool rotate, proper, swap;
};

// Division and square root as the processor has them, for any operands.
struct General {
	static __device__ double divide(double x, double y) { return x / y; }
	static __device__ double reciprocal(double x) { return 1.0 / x; }
	static __device__ double root(double x) { return sqrt(x); }
};

// The same for operands and results far from over- and underflow: correctly rounded, by the same Newton steps, but without
// branches, so that independent ones overlap.
struct Ordinary {
	static __device__ double inverse(double x, int low)
	{
		double y;
		asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
		y = __hiloint2double(__double2hiint(y), low);
		double e = __fma_rn(-x, y, 1.0);
		y = __fma_rn(y, __fma_rn(e, e, e), y);
		e = __fma_rn(-x, y, 1.0);
		return __fma_rn(y, e, y);
	}
	static __device__ double divide(double x, double y)
	{
		const double r = inverse(y, 1), q = x * r;
		return __fma_rn(r, __fma_rn(-y, q, x), q);
	}
	static __device__ double reciprocal(double x) { return inverse(x, __double2hiint(x) + 0x300402); }
	static __device__ double root(double x)
	{
		double y;
		asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
		y = __hiloint2double(__double2hiint(y), __double2hiint(x) - 0x3500000);
		const double e = __fma_rn(x, -(y * y), 1.0);
		y = __fma_rn(__fma_rn(e, 0.375, 0.5), e * y, y);
		const double s = x * y;
		return __fma_rn(__fma_rn(s, -s, x), 0.5 * y, s);
	}
};

// rotation_by is kernels.NeedsRotation, Rotation and Diagonal, bit for bit. All lanes of a warp must call it.
template <class Arithmetic>
__device__ inline Rotation rotation_by(double hpp, double hqq, double hpq, double tol)
{
	const double np = Arithmetic::root(hpp), nq = Arithmetic::root(hqq), size = fabs(hpq);
	const double cot2 = 0.5 * Arithmetic::divide(hqq - hpp, hpq), a = fabs(cot2);
	Rotation r = {0, 0, false, false, false};
	r.rotate = hpp >= 0x1p-1022 && hqq >= 0x1p-1022 && size > tol * np * nq;
	if (!__any_sync(0xffffffff, r.rotate))
		return r;
	const double cot = a < 0x1p27 ? a + Arithmetic::root(__fma_rn(a, a, 1.0)) : a + a;
	const double tan = copysign(Arithmetic::reciprocal(cot), cot2), s = Arithmetic::root(__fma_rn(tan, tan, 1.0));
	const double sin = Arithmetic::divide(tan, s), tau = Arithmetic::divide(tan, 1.0 + s);
	if (r.rotate) {
		r.sin = sin;
		r.tau = tau;
		r.proper = __fma_rn(-sin, tau, 1.0) != 1.0 || size > 0x1p-26 * np * nq;
		r.swap = r.proper && __fma_rn(-tan, hpq, hpp) < __fma_rn(tan, hpq, hqq);
	}
	return r;
}

// rotation returns the rotation of a pair; all lanes of a warp must call it. Where it rotates, |hpq| > 2⁻⁵³·√hpp·√hqq bounds all
// intermediate results of ordinary norms to 2^±800.
__device__ inline Rotation rotation(double hpp, double hqq, double hpq, double tol)
{
	const bool ordinary = fmin(hpp, hqq) >= 0x1p-400 && fmax(hpp, hqq) <= 0x1p1000;
	if (__all_sync(0xffffffff, ordinary))
		return rotation_by<Ordinary>(hpp, hqq, hpq, tol);
	return rotation_by<General>(hpp, hqq, hpq, tol);
}

// turn applies kernels.Turn.Rotate to x and y.
__device__ inline void turn(double sin, double tau, double &x, double &y)
{
	const double u = __fma_rn(tau, x, y), v = __fma_rn(-tau, y, x);
	x = __fma_rn(-sin, u, x);
	y = __fma_rn(sin, v, y);
}

// publish makes everything that the block wrote before its last barrier visible to who waits for this progress; await waits.
__device__ inline void publish(u64 *progress, u64 value)
{
	asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(progress), "l"(value) : "memory");
}

__device__ inline void await(const u64 *progress, u64 value)
{
	for (;;) {
		u64 now;
		asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(progress) : "memory");
		if (now >= value)
			return;
		__nanosleep(100);
	}
}

// lanes_sum returns the sum over the lanes of a pair, the same bits on all.
__device__ inline double lanes_sum(double x)
{
	for (int distance = LANES / 2; distance > 0; distance /= 2)
		x += __shfl_xor_sync(0xffffffff, x, distance);
	return x;
}

// load_factor copies R, scaled, to shared memory, columns of LD rows, zero beyond row k, and returns the shift. Before the first sweep it
// chooses the shift and notes the norms of the columns.
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
	if (sweep == 0)
		for (int j = warp; j < k; j += THREADS / 32) {
			double sum = 0;
			for (int i = lane; i < k; i += 32)
				sum = __fma_rn(r[i + j * LD], r[i + j * LD], sum);
			sum = warp_sum(sum);
			if (lane == 0)
				state.before[j] = sqrt(sum);
		}
	return shift;
}

// Part points to the parts of a column that a lane has: every second double2 of its own from `even` on, the others from `odd` on.
struct Part {
	double2 *even, *odd;
	__device__ double2 &operator[](int i) const { return (i % 2 ? odd : even)[i * LANES]; }
};

// part returns the lane's part of a column: rows 2l, 2l+1, 2l+2·LANES, … for lane l. Every second group of lanes has its double2s exchanged by
// twos, so that two groups never meet in a bank.
__device__ inline Part part(double *column, int lane, int group)
{
	double2 *x = (double2 *)column + lane;
	return group % 2 ? Part{x + LANES, x - LANES} : Part{x, x};
}

// A dot product in four chains, whose sum does not change if every second term goes to the other chain pair.
struct Chains {
	double2 c[2];
	__device__ void add(int i, double2 x, double2 y)
	{
		c[i % 2] = {__fma_rn(x.x, y.x, c[i % 2].x), __fma_rn(x.y, y.y, c[i % 2].y)};
	}
	__device__ double sum() const { return lanes_sum((c[0].x + c[0].y) + (c[1].x + c[1].y)); }
};

// factor_role runs the sweep on R. LANES lanes share a pair and keep its two columns in registers from the dot products to the rotation.
template <int SIZE>
__device__ inline void factor_role(const Sweep &a, i64 problem, double *r)
{
	constexpr int LD = SIZE, SLOTS = SIZE / 2, THREADS = SLOTS * LANES, V = LD / (2 * LANES);
	__shared__ int rotations, proper, changed;
	const Problem &b = a.problems[problem];
	State &state = a.states[problem];
	if (a.number > 0 && state.done < a.number)
		return;
	const int k = (int)b.k, thread = threadIdx.x, slot = thread / LANES, lane = thread % LANES;
	const double tol = b.tol;
	if (thread == 0)
		rotations = proper = changed = 0;
	const int shift = load_factor<LD, THREADS>(b, state, r, a.number);
	double2 *turns = a.turns + problem * a.steps * SLOTS;
	const int steps = (int)a.steps;
	int my_rotations = 0, my_proper = 0, my_changes = 0;
	unsigned next = steps > 0 ? a.pairs[slot] : 0;
	int published = 0;
	for (int step = 0; step < steps; step++) {
		const int p = next & 0xff, q = next >> 8 & 0xff;
		const bool valid = q < k, meet = next & MEET;
		if (step + 1 < steps)
			next = a.pairs[(step + 1) * SLOTS + slot];
		const Part x = part(r + (valid ? p : 0) * LD, lane, slot), y = part(r + (valid ? q : 0) * LD, lane, slot);
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
		const Rotation t = rotation(valid ? hpp : 1, valid ? hqq : 1, valid ? hpq : 0, tol);
		if (t.rotate || t.swap) {
			const Part xd = t.swap ? y : x, yd = t.swap ? x : y;
#pragma unroll
			for (int i = 0; i < V; i++) {
				turn(t.sin, t.tau, u[i].x, w[i].x);
				turn(t.sin, t.tau, u[i].y, w[i].y);
				xd[i] = u[i];
				yd[i] = w[i];
			}
		}
		if (lane == 0) {
			// sin φ and tan(φ/2) have the same sign, except here if the columns are swapped.
			turns[step * SLOTS + slot] = {t.sin, t.swap ? -t.tau : t.tau};
			my_rotations += t.rotate;
			my_proper += t.proper;
			my_changes |= t.rotate || t.swap;
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
	if (lane == 0 && my_changes) { // integers: the order does not matter
		atomicAdd(&rotations, my_rotations);
		atomicAdd(&proper, my_proper);
		atomicOr(&changed, 1);
	}
	__syncthreads();
	if (changed) {
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
		b.tally->changed = changed | (a.number > 0 ? b.tally->changed : 0);
		state.shift = shift;
		state.done = rotations > 0 ? NEVER : a.number;
	}
}

// turns_role applies the rotations of the sweep to a slice of the rows of T, lane l to rows l, l+32, … of the slice.
template <int SIZE>
__device__ inline void turns_role(const Sweep &a, i64 problem, int slice, double *t)
{
	constexpr int SLOTS = SIZE / 2, WARPS = SLOTS / PER_WARP;
	constexpr int PAIRS = 2, ROWS = (SIZE + 31) / 32; // pairs, and rows of each, that a lane works on at a time
	const Problem &b = a.problems[problem];
	const State &state = a.states[problem];
	const int k = (int)b.k, rows = (k + (int)a.slices - 1) / (int)a.slices, first = slice * rows, n = min(rows, k - first);
	if (n <= 0 || (a.number > 0 && *(volatile const i64 *)&state.done < a.number))
		return;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, steps = (int)a.steps;
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
				double sin[PAIRS], tau[PAIRS], u[PAIRS][ROWS], w[PAIRS][ROWS], *x[PAIRS], *y[PAIRS];
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
							turn(sin[i], tau[i], u[i][r], w[i][r]);
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

template <int SIZE>
__device__ inline void sweep(const Sweep &a)
{
	extern __shared__ __align__(16) double shared[]; // k columns of SIZE rows
	__shared__ u64 ticket;
	if (threadIdx.x == 0)
		ticket = atomicAdd(a.ticket, 1ull) - a.tickets;
	__syncthreads();
	const i64 role = (i64)ticket;
	if (role < a.count)
		factor_role<SIZE>(a, role, shared);
	else
		turns_role<SIZE>(a, (role - a.count) % a.count, (int)((role - a.count) / a.count), shared);
}

// jacobi_16, jacobi_32, jacobi_64, jacobi_128: one sweep for factors of that order or smaller. Grid (count·(1 + slices)), block order/2·LANES
// threads. Shared bytes: 8·order². T need not be set before the first sweep.
extern "C" __global__ void __launch_bounds__(8 * LANES) jacobi_16(Sweep a) { sweep<16>(a); }
extern "C" __global__ void __launch_bounds__(16 * LANES) jacobi_32(Sweep a) { sweep<32>(a); }
extern "C" __global__ void __launch_bounds__(32 * LANES) jacobi_64(Sweep a) { sweep<64>(a); }
extern "C" __global__ void __launch_bounds__(64 * LANES) jacobi_128(Sweep a) { sweep<128>(a); }

// jacobi_cancel sets the columns of R to zero that are nothing but rounding errors: column j of R·T, whose norm is at most
// tol·Σᵢ|tᵢⱼ|·before[i], the norms of the columns that it is a combination of; and it tells in close[problem] whether every diagonal
// element of T is at least 1/2. Grid (problems), block 1024 threads: a warp takes every 32nd column.
extern "C" __global__ void __launch_bounds__(1024) jacobi_cancel(const Problem *problems, const State *states, i64 *close)
{
	const Problem &b = problems[blockIdx.x];
	if (b.tally->changed == 0)
		return;
	const State &state = states[blockIdx.x];
	const double scale = ldexp(1.0, (int)state.shift);
	const int k = (int)b.k, lane = threadIdx.x % 32;
	bool near = true;
	for (int j = threadIdx.x / 32; j < k; j += 32) {
		double sum = 0, square = 0;
#pragma unroll 4
		for (int i = lane; i < k; i += 32) {
			const double x = scale * b.r[i + j * b.ldr];
			sum = __fma_rn(fabs(b.t[i + j * b.ldt]), state.before[i], sum);
			square = __fma_rn(x, x, square);
		}
		if (sqrt(warp_sum(square)) <= b.tol * warp_sum(sum))
			for (int i = lane; i < k; i += 32)
				b.r[i + j * b.ldr] = 0;
		near = near && b.t[j + j * b.ldt] >= 0.5;
	}
	const int all = __syncthreads_and(near);
	if (threadIdx.x == 0)
		close[blockIdx.x] = all;
}
