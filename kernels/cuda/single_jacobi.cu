// The pointwise one-sided Jacobi method on the factors of a batch of float32, for orders k ≤ 128. It
// goes as that of float64 (jacobi.cu), with rounds, and two blocks to a problem. The norms of the
// columns are apart, in shared memory. After the last sweep the length of a column of R·T goes into its
// norm, and R·T and T are divided by it.

#include "single_columns.cuh"
#include "sweep.cuh"

// A column of R·T that is shorter is rounding errors, of columns of length 1. This counts as its length.
constexpr float LEAST = 0x1p-22f;

constexpr double SMALLEST = 0x1p-1022; // norm of a column that is not zero

using SingleSweep = SweepOf<float>;

__device__ inline u64 two(float x, float y) { return __float_as_uint(x) | (u64)__float_as_uint(y) << 32; }
__device__ inline float low(u64 x) { return __uint_as_float((unsigned)x); }
__device__ inline float high(u64 x) { return __uint_as_float((unsigned)(x >> 32)); }

// send sends a rotation. tan(φ/2) has the opposite sign where the columns are swapped.
__device__ inline void send(Letter *to, const SingleRotation &r)
{
	const float tau = r.swap ? -r.tau : r.tau;
	send_words(to, two(r.sin, r.back), two(tau, r.over));
}

// zero_column makes the column of zeros in shared memory.
template <int SIZE> __device__ inline void zero_column(float *shared)
{
	for (int i = threadIdx.x; i < SingleColumns<SIZE>::LD; i += 2 * SIZE)
		shared[SIZE * SingleColumns<SIZE>::LD + i] = 0;
}

// end_factor puts R and the norms back. part: the lengths of the columns go into the norms. scales has room
// for what each column is multiplied by.
template <int SIZE>
__device__ inline void end_factor(const SingleProblem &b, State &state, SingleColumns<SIZE> &c, float *shared,
				  const double *norms, float *scales, bool part)
{
	const int k = (int)b.k, lane = threadIdx.x % 32, j = threadIdx.x / 32 * 16 + lane;
	c.exchange(shared, c.first(), c.first() + c.NEXT);
	const float left = c.squares(c.left), right = c.squares(c.right);
	if (lane < 16) {
		const float length = sqrtf(lane < 8 ? left : right), l = length > LEAST || length == 0 ? length : LEAST;
		const double norm = part ? norms[j] * l : norms[j];
		const bool none = part && !(norm >= SMALLEST);
		const float inverse = part && l > 0 ? 1 / l : 1;
		scales[j] = none ? 0 : inverse;
		state.after[j] = inverse;
		if (j < k)
			b.factors[j] = none ? 0 : norm;
	}
	__syncwarp();
	float *const to = b.r;
	const i64 ldr = b.ldr;
	c.each([=](int i, int j, float x) {
		if (i < k && j < k)
			to[i + j * ldr] = x * scales[j];
	});
}

// factor_role runs the sweep on R.
template <int SIZE>
__device__ inline void factor_role(const SingleSweep &a, i64 problem, float *shared)
{
	constexpr int WARPS = SIZE / 16, PAIRS = SIZE / 2;
	__shared__ Turn<float> turns[WARPS][8];
	__shared__ double norms[SIZE + 1]; // of the columns; 0 where there is none
	__shared__ float scales[SIZE];
	__shared__ int rotations, proper;
	const SingleProblem &b = a.problems[problem];
	State &state = a.states[problem];
	if (skipped(b) || (a.number > 0 && state.done < a.number))
		return;
	const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, k = (int)b.k, left = (int)b.left;
	const float tol = (float)b.tol, cosine = (float)b.screen;
	if (thread == 0)
		rotations = proper = 0;
	for (int j = thread; j <= SIZE; j += 32 * WARPS)
		norms[j] = j < k ? b.factors[j] : 0;
	zero_column<SIZE>(shared);
	SingleColumns<SIZE> c;
	const float *const from = b.r;
	const i64 ldr = b.ldr;
	c.begin([=](int i, int j) { return i < k && j < k ? from[i + j * ldr] : 0; });
	Letter *letter = a.letters + problem * a.steps * PAIRS + warp * 8 + lane;
	const unsigned own = place_of(turns[warp]);
	int my_rotations = 0, my_proper = 0;
	Round next = a.length > 0 ? round_of<SIZE>(a, 0, left) : Round{};
	for (int round = 0; round < (int)a.length; round++) {
		const Round now = next;
		c.exchange(shared, now.lefts, now.rights);
		next = round_of<SIZE>(a, min(round + 1, (int)a.length - 1), left); // in time
		Lengths<SIZE> lengths;
		lengths.take(c);
		for (int t = 0; t < now.steps; t++) {
			const int p = c.number(c.lefts, lane % 8), q = c.number(c.rights, lane % 8), move = c.move(t, now.steps);
			const double np = norms[p], nq = norms[q];
			const Ratio ratio = ratio_of(np, nq);
			const float hpp = lengths.left, hqq = lengths.right, hpq = c.products();
			const Choice choice = choose(hpp, hqq, hpq, ratio, tol, cosine);
			const unsigned swapped = __ballot_sync(0xffffffff, choice.swap);
			SingleRotation r = {};
			bool again = false;
			if (__any_sync(0xffffffff, choice.rotate)) {
				r = rotation_of(hpp, hqq, hpq, ratio, choice);
				if (lane < 8)
					put_turn(own + lane * sizeof(Turn<float>), turn_of(r.sin, r.tau, r.back, r.over, r.swap));
				__syncwarp();
				my_rotations += choice.rotate;
				my_proper += choice.proper;
				c.turn({own, swapped}, move);
				again = lengths.change(r);
			} else {
				c.skip(move);
			}
			if (lane < 8) {
				send(letter, r);
				if (r.swap) {
					norms[p] = nq;
					norms[q] = np;
				}
			}
			letter += PAIRS;
			__syncwarp();
			if (again)
				lengths.take(c);
			else
				lengths.move(move);
		}
	}
	if (lane < 8 && my_rotations) { // integers: the order does not matter
		atomicAdd(&rotations, my_rotations);
		atomicAdd(&proper, my_proper);
	}
	__syncthreads();
	const bool changed = rotations > 0 || (a.number > 0 && b.tally->changed);
	if (changed)
		end_factor(b, state, c, shared, norms, scales, a.last || rotations == 0);
	__syncthreads();
	if (thread == 0) {
		b.tally->rotations += rotations;
		b.tally->proper += proper;
		b.tally->open += proper;
		b.tally->changed = changed;
		state.done = rotations > 0 ? NEVER : a.number;
	}
	__syncthreads();
	if (thread == 0)
		publish(&state.finished, a.launch);
}

// follow applies the rotations of the sweep to T.
template <int SIZE>
__device__ inline void follow(const SingleSweep &a, i64 problem, float *shared, SingleColumns<SIZE> &c)
{
	constexpr int WARPS = SIZE / 16, PAIRS = SIZE / 2;
	__shared__ Turn<float> turns[WARPS][8][8]; // of the p-steps of a round
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, left = (int)a.problems[problem].left;
	// Lane l receives the letters of pair l mod 8 in p-steps l/8 and l/8 + 4.
	Letter *letter = a.letters + problem * a.steps * PAIRS + warp * 8 + lane % 8 + lane / 8 * PAIRS;
	const unsigned place = place_of(turns[warp][0]);
	Round next = a.length > 0 ? round_of<SIZE>(a, 0, left) : Round{};
	for (int round = 0; round < (int)a.length; round++) {
		const Round now = next;
		c.exchange(shared, now.lefts, now.rights);
		next = round_of<SIZE>(a, min(round + 1, (int)a.length - 1), left); // in time
		u64 rotated = 0, swapped = 0; // a byte for each p-step
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int t = lane / 8 + 4 * half;
			Letter x = {0, 0};
			if (t < now.steps)
				x = receive_words(letter + 4 * half * PAIRS);
			const float sin = low(x.first), tau = low(x.second);
			const bool swap = signbit(sin) != signbit(tau);
			rotated |= (u64)__ballot_sync(0xffffffff, sin != 0 || high(x.first) != 0 || swap) << 32 * half;
			swapped |= (u64)__ballot_sync(0xffffffff, swap) << 32 * half;
			turns[warp][t][lane % 8] = turn_of(sin, swap ? -tau : tau, high(x.first), high(x.second), swap);
		}
		letter += now.steps * PAIRS;
		__syncwarp();
		for (int t = 0; t < now.steps; t++) {
			const int move = c.move(t, now.steps);
			if (rotated >> 8 * t & 0xff)
				c.turn({place + t * 8 * (unsigned)sizeof(Turn<float>), (unsigned)(swapped >> 8 * t & 0xff)}, move);
			else
				c.skip(move);
		}
		__syncwarp();
	}
}

// turns_role applies the rotations of the sweep to T. After the last it divides the columns by their lengths.
template <int SIZE>
__device__ inline void turns_role(const SingleSweep &a, i64 problem, float *shared)
{
	const SingleProblem &b = a.problems[problem];
	const State &state = a.states[problem];
	const bool done = a.number > 0 && *(volatile const i64 *)&state.done < a.number;
	if (skipped(b) || (done && !a.last))
		return;
	const int k = (int)b.k;
	zero_column<SIZE>(shared);
	SingleColumns<SIZE> c;
	float *const t = b.t;
	const i64 ldt = b.ldt;
	if (a.number > 0)
		c.begin([=](int i, int j) { return i < k && j < k ? t[i + j * ldt] : 0; });
	else
		c.begin([=](int i, int j) { return i == j && j < k ? 1.0f : 0.0f; });
	if (!done)
		follow<SIZE>(a, problem, shared, c);
	c.exchange(shared, c.first(), c.first() + c.NEXT);
	bool part = false;
	if (a.last) {
		if (!done && threadIdx.x == 0)
			await(&state.finished, a.launch);
		__syncthreads();
		part = b.tally->changed != 0;
	}
	const double *const scales = state.after;
	c.each([=](int i, int j, float x) {
		if (i < k && j < k)
			t[i + j * ldt] = part ? x * (float)scales[j] : x;
	});
}

template <int SIZE>
__device__ inline void sweep(const SingleSweep &a)
{
	extern __shared__ __align__(16) float shared[]; // SingleColumns<SIZE>::WORDS
	const i64 role = role_of(a);
	if (role < a.count)
		factor_role<SIZE>(a, role, shared);
	else
		turns_role<SIZE>(a, role - a.count, shared);
}

// single_jacobi_32, _64, _128: one sweep for factors of that order or smaller. Grid (2·count), block 2·order
// threads. Shared bytes: 4·SingleColumns<order>::WORDS. T need not be set before the first sweep.
extern "C" __global__ void __launch_bounds__(64) single_jacobi_32(SingleSweep a) { sweep<32>(a); }
extern "C" __global__ void __launch_bounds__(128) single_jacobi_64(SingleSweep a) { sweep<64>(a); }
extern "C" __global__ void __launch_bounds__(256) single_jacobi_128(SingleSweep a) { sweep<128>(a); }
