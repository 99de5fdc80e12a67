// The pointwise one-sided Jacobi method on the factors of a batch, [Nov15, §4.3], for orders k ≤ 128.
//
// A launch runs one sweep, k − 1 p-steps or so, as rounds of up to eight. Within a round a warp has sixteen
// columns to itself, in registers, and works on eight pairs at a time; between rounds the warps of a block
// exchange columns through shared memory (rounds.go, columns.cuh).
//
// R is worked on by one block, T by another, which is sent the rotations, and makes T orthogonal in the end
// (orthogonal.cuh). Blocks take their roles in the order in which they start, those for R first, so a block
// that waits for another knows that it is running.

#include "columns.cuh"
#include "rotation.cuh"
#include "sweep.cuh"
#include "orthogonal.cuh"

// begin_factor loads R, scaled, and returns the shift. Before the first sweep it chooses the shift and notes
// the norms of the columns.
template <int SIZE> __device__ inline int begin_factor(const Sweep &a, const Problem &b, State &state,
						       Columns<double, SIZE> &c)
{
	constexpr int WARPS = SIZE / 16;
	__shared__ double largest[WARPS];
	const int k = (int)b.k, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const double *const from = b.r;
	const i64 ldr = b.ldr;
	c.begin([=](int i, int j) { return i < k && j < k ? from[i + j * ldr] : 0; });
	int shift = (int)state.shift;
	if (a.number == 0) {
		double most = 0;
		c.each([&](int, int, double x) { most = fmax(most, fabs(x)); });
		most = warp_max(most);
		if (lane == 0)
			largest[warp] = most;
		__syncthreads();
		for (int w = 0; w < WARPS; w++)
			most = fmax(most, largest[w]);
		shift = min(TOP - exponent(most), 1000);
	}
	const double scale = ldexp(1.0, shift);
	c.each([=](int, int, double &x) { x *= scale; });
	if (a.number == 0) {
		const double left = c.squares(c.left), right = c.squares(c.right);
		if (lane < 16)
			state.before[16 * warp + lane] = sqrt(lane < 8 ? left : right);
	}
	return shift;
}

// end_factor puts R back if it has changed, and notes the norms of its columns.
template <int SIZE>
__device__ inline void end_factor(const Problem &b, State &state, Columns<double, SIZE> &c, double *shared,
				  int shift, bool changed)
{
	const int k = (int)b.k, lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
	c.exchange(shared, c.first(), c.first() + c.NEXT);
	const double left = c.squares(c.left), right = c.squares(c.right), scale = ldexp(1.0, -shift);
	if (lane < 16)
		state.after[first + lane] = lane < 8 ? left : right;
	double *const to = b.r;
	const i64 ldr = b.ldr;
	if (changed)
		c.each([=](int i, int j, double x) {
			if (i < k && j < k)
				to[i + j * ldr] = scale * x;
		});
}

// factor_role runs the sweep on R.
template <int SIZE>
__device__ inline void factor_role(const Sweep &a, i64 problem, double *shared)
{
	constexpr int WARPS = SIZE / 16, PAIRS = SIZE / 2;
	__shared__ Turn<double> turns[2][WARPS][8];
	__shared__ int rotations, proper, open, idle, degenerate;
	const Problem &b = a.problems[problem];
	State &state = a.states[problem];
	if (skipped(b) || (a.number > 0 && state.done < a.number))
		return;
	const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, positive = (int)b.positive;
	const double tol = b.tol;
	if (thread == 0)
		rotations = proper = open = idle = degenerate = 0;
	for (int i = thread; i < Columns<double, SIZE>::LD; i += 32 * WARPS)
		shared[SIZE * Columns<double, SIZE>::LD + i] = 0;
	Columns<double, SIZE> c;
	const int shift = begin_factor(a, b, state, c);
	Letter *letter = a.letters + problem * a.steps * PAIRS + warp * 8 + lane;
	int my_rotations = 0, my_proper = 0, my_open = 0, my_idle = 0, my_degenerate = 0;
	for (int round = 0; round < (int)a.length; round++) {
		const Round now = round_of<WARPS>(a, round);
		c.exchange(shared, now.lefts, now.rights);
		Norms<double, SIZE> norms;
		norms.take(c, 0);
		for (int t = 0; t < now.steps; t++) {
			norms.go_to(t);
			const double hpq = c.products(t);
			const Signs signs = signs_of(c.number(c.lefts, lane % 8), c.number(c.rights, lane % 8 ^ t), positive);
			const bool pair = norms.left > 0 && norms.right > 0; // or a column is zero, or there is none
			const Rotation r = rotation(pair ? norms.left : 1, pair ? norms.right : 1, pair ? hpq : 0, tol, signs);
			Turn<double> *const own = turns[t % 2][warp];
			if (lane < 8) {
				const double tau = r.swap ? -r.tau : r.tau;
				send(letter, r.sin, tau);
				own[lane] = turn_of(r.swap ? -r.sin : r.sin, tau, signs.kind);
			}
			letter += PAIRS;
			__syncwarp();
			if (!__any_sync(0xffffffff, r.rotate))
				continue;
			my_rotations += r.rotate;
			my_proper += r.proper;
			my_open += r.open;
			my_idle += r.idle;
			my_degenerate += r.degenerate;
			c.turn(t, {own, __ballot_sync(0xffffffff, r.swap)});
			if (norms.change(r))
				norms.take(c, t);
		}
	}
	if (lane < 8 && my_rotations) { // integers: the order does not matter
		atomicAdd(&rotations, my_rotations);
		atomicAdd(&proper, my_proper);
		atomicAdd(&open, my_open);
		atomicAdd(&idle, my_idle);
		atomicAdd(&degenerate, my_degenerate);
	}
	__syncthreads();
	end_factor(b, state, c, shared, shift, rotations > 0);
	if (thread == 0) {
		b.tally->rotations += rotations;
		b.tally->proper += proper;
		b.tally->open += open;
		b.tally->idle += idle;
		b.tally->degenerate += degenerate;
		b.tally->changed = rotations > 0 || (a.number > 0 && b.tally->changed);
		state.shift = shift;
		state.done = rotations > 0 ? NEVER : a.number;
	}
	__syncthreads();
	if (thread == 0)
		publish(&state.finished, a.launch);
}

// follow applies the rotations of the sweep to T.
template <int SIZE>
__device__ inline void follow(const Sweep &a, i64 problem, double *shared, Columns<double, SIZE> &c)
{
	constexpr int WARPS = SIZE / 16, PAIRS = SIZE / 2;
	__shared__ Turn<double> turns[WARPS][8][8]; // of the p-steps of a round
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, positive = (int)a.problems[problem].positive;
	// Lane l receives the letters of pair l mod 8 in p-steps l/8 and l/8 + 4.
	Letter *letter = a.letters + problem * a.steps * PAIRS + warp * 8 + lane % 8 + lane / 8 * PAIRS;
	for (int round = 0; round < (int)a.length; round++) {
		const Round now = round_of<WARPS>(a, round);
		c.exchange(shared, now.lefts, now.rights);
		u64 rotated = 0, swapped = 0; // a byte for each p-step
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int t = lane / 8 + 4 * half;
			double2 x = {0, 0};
			if (t < now.steps)
				x = receive(letter + 4 * half * PAIRS);
			const bool swap = signbit(x.x) != signbit(x.y);
			rotated |= (u64)__ballot_sync(0xffffffff, x.x != 0 || swap) << 32 * half;
			swapped |= (u64)__ballot_sync(0xffffffff, swap) << 32 * half;
			const Signs signs = signs_of(c.number(c.lefts, lane % 8), c.number(c.rights, lane % 8 ^ t), positive);
			turns[warp][t][lane % 8] = turn_of(swap ? -x.x : x.x, x.y, signs.kind);
		}
		letter += now.steps * PAIRS;
		__syncwarp();
		for (int t = 0; t < now.steps; t++)
			if (rotated >> 8 * t & 0xff)
				c.turn(t, {turns[warp][t], (unsigned)(swapped >> 8 * t & 0xff)});
		__syncwarp();
	}
}

// turns_role applies the rotations of the sweep to T, and makes it orthogonal after the last.
template <int SIZE>
__device__ inline void turns_role(const Sweep &a, i64 problem, double *shared)
{
	const Problem &b = a.problems[problem];
	const State &state = a.states[problem];
	const bool done = a.number > 0 && *(volatile const i64 *)&state.done < a.number;
	if (skipped(b) || (done && !a.last))
		return;
	const int k = (int)b.k;
	for (int i = threadIdx.x; i < Columns<double, SIZE>::LD; i += 2 * SIZE)
		shared[SIZE * Columns<double, SIZE>::LD + i] = 0;
	Columns<double, SIZE> c;
	double *const t = b.t;
	const i64 ldt = b.ldt;
	if (a.number > 0)
		c.begin([=](int i, int j) { return i < k && j < k ? t[i + j * ldt] : 0; });
	else
		c.begin([=](int i, int j) { return i == j && j < k ? 1.0 : 0.0; });
	if (!done)
		follow<SIZE>(a, problem, shared, c);
	c.exchange(shared, c.first(), c.first() + c.NEXT);
	if (a.last) {
		if (!done && threadIdx.x == 0)
			await(&state.finished, a.launch);
		c.put(shared, c.lefts, c.left);
		c.put(shared, c.rights, c.right);
		__syncthreads();
		if (b.tally->changed) {
			if (a.cancels)
				cancel<SIZE>(b, state, shared);
			orthogonalize<SIZE>(b, shared);
			return;
		}
	}
	c.each([=](int i, int j, double x) {
		if (i < k && j < k)
			t[i + j * ldt] = x;
	});
}

template <int SIZE>
__device__ inline void sweep(const Sweep &a)
{
	extern __shared__ __align__(16) double shared[]; // Columns<double, SIZE>::WORDS
	const i64 role = role_of(a);
	if (role < a.count)
		factor_role<SIZE>(a, role, shared);
	else
		turns_role<SIZE>(a, role - a.count, shared);
}

// jacobi_32, jacobi_64, jacobi_128: one sweep for factors of that order or smaller. Grid (2·count), block
// 2·order threads. Shared bytes: 8·Columns<order>::WORDS. T need not be set before the first sweep.
extern "C" __global__ void __launch_bounds__(64) jacobi_32(Sweep a) { sweep<32>(a); }
extern "C" __global__ void __launch_bounds__(128) jacobi_64(Sweep a) { sweep<64>(a); }
extern "C" __global__ void __launch_bounds__(256) jacobi_128(Sweep a) { sweep<128>(a); }
