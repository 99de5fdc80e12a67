// The pointwise one-sided Jacobi method on the factors of a batch, [Nov15, §4.3], for orders k ≤ 128.
//
// A launch runs one sweep, k − 1 p-steps or so, as rounds of up to eight (rounds.go). Within a round a warp
// has sixteen columns to itself (group.cuh). The columns stay in shared memory, and between rounds the warps
// meet.
//
// R is worked on by one block, T by another, which is sent the rotations, and makes T orthogonal in the end
// (orthogonal.cuh). Blocks take their roles in the order in which they start, those for R first, so a block
// that waits for another knows that it is running.

#include "orthogonal.cuh"
#include "sweeper.cuh"

// store_norms puts the squared norms of a warp's sixteen columns to `to`, or the norms.
template <int SIZE, bool ROOT>
__device__ inline void store_norms(const double x[16][SIZE / 32], double *to)
{
	const int lane = threadIdx.x % 32;
	double left[8], right[8];
#pragma unroll
	for (int s = 0; s < 8; s++) {
		left[s] = x[s][0] * x[s][0];
		right[s] = x[s + 8][0] * x[s + 8][0];
#pragma unroll
		for (int r = 1; r < SIZE / 32; r++) {
			left[s] = __fma_rn(x[s][r], x[s][r], left[s]);
			right[s] = __fma_rn(x[s + 8][r], x[s + 8][r], right[s]);
		}
	}
	const double a = scatter_sum(left), b = scatter_sum(right), square = lane < 8 ? a : b;
	if (lane < 16)
		to[lane] = ROOT ? sqrt(square) : square;
}

// zero_column makes the column of zeros in shared memory.
template <int SIZE> __device__ inline void zero_column(double *shared)
{
	for (int i = threadIdx.x; i < Group<SIZE>::LD; i += 2 * SIZE)
		shared[SIZE * Group<SIZE>::LD + i] = 0;
}

// begin_factor brings R, scaled, to shared memory, and returns the shift. Before the first sweep it chooses
// the shift and notes the norms of the columns.
template <int SIZE>
__device__ inline int begin_factor(const Sweep &a, const Problem &b, State &state, double *shared)
{
	constexpr int WARPS = SIZE / 16, ROWS = SIZE / 32;
	__shared__ double largest[WARPS];
	const int k = (int)b.k, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	double x[16][ROWS];
	fetch<SIZE>(b.r, b.ldr, k, x);
	int shift = (int)state.shift;
	if (a.number == 0) {
		double most = 0;
#pragma unroll
		for (int s = 0; s < 16; s++)
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				most = fmax(most, fabs(x[s][r]));
		most = warp_max(most);
		if (lane == 0)
			largest[warp] = most;
		__syncthreads();
		for (int w = 0; w < WARPS; w++)
			most = fmax(most, largest[w]);
		shift = min(TOP - exponent(most), 1000);
	}
	const double scale = ldexp(1.0, shift);
#pragma unroll
	for (int s = 0; s < 16; s++)
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			x[s][r] *= scale;
			shared[(16 * warp + s) * Group<SIZE>::LD + lane + 32 * r] = x[s][r];
		}
	if (a.number == 0)
		store_norms<SIZE, true>(x, state.before + 16 * warp);
	return shift;
}

// end_factor puts R back if it has changed, and notes the norms of its columns.
template <int SIZE>
__device__ inline void end_factor(const Problem &b, State &state, const double *shared, int shift,
				  bool changed)
{
	constexpr int ROWS = SIZE / 32;
	const int k = (int)b.k, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const double scale = ldexp(1.0, -shift);
	double *const to = b.r, x[16][ROWS];
	const i64 ldr = b.ldr;
#pragma unroll
	for (int s = 0; s < 16; s++)
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			const int i = lane + 32 * r, j = 16 * warp + s;
			x[s][r] = shared[j * Group<SIZE>::LD + i];
			if (changed && i < k && j < k)
				to[i + j * ldr] = scale * x[s][r];
		}
	store_norms<SIZE, false>(x, state.after + 16 * warp);
}

// factor_role runs the sweep on R.
template <int SIZE>
__device__ inline void factor_role(const Sweep &a, i64 problem, double *shared)
{
	constexpr int WARPS = SIZE / 16, PAIRS = SIZE / 2;
	__shared__ Step shared_steps[WARPS];
	__shared__ Counts all;
	const Problem &b = a.problems[problem];
	State &state = a.states[problem];
	if (b.k == 0 || skipped(b) || (a.number > 0 && state.done < a.number))
		return;
	const int thread = threadIdx.x, warp = thread / 32, left = (int)b.left;
	if (thread == 0)
		all = {};
	zero_column<SIZE>(shared);
	const int shift = begin_factor<SIZE>(a, b, state, shared);
	Letter *const letters = a.letters + problem * a.steps * PAIRS + warp * 8;
	Sweeper<SIZE> sweeper = {b.tol, (int)b.positive, b.positive < b.k, shared_steps + warp, letters, {}};
	Round next = a.length > 0 ? round_of<SIZE>(a, 0) : Round{};
#pragma unroll 1
	for (int round = 0; round < (int)a.length; round++) {
		const Round now = next.of<SIZE>(left, a.half);
		next = round_of<SIZE>(a, min(round + 1, (int)a.length - 1)); // in time
		__syncthreads();
		const Group<SIZE> c = {shared, now.lefts, now.rights};
		if (now.steps == 1)
			sweeper.alone(c);
		else
			sweeper.round(c, now.steps);
		sweeper.letters += now.steps * PAIRS;
	}
	sweeper.counts.add_to(all);
	__syncthreads();
	const bool changed = all.rotations > 0;
	end_factor<SIZE>(b, state, shared, shift, changed);
	if (thread == 0) {
		b.tally->rotations += all.rotations;
		b.tally->proper += all.proper;
		b.tally->open += all.open;
		b.tally->idle += all.idle;
		b.tally->degenerate += all.degenerate;
		b.tally->changed = changed || (a.number > 0 && b.tally->changed);
		state.shift = shift;
		state.done = changed ? NEVER : a.number;
	}
	__syncthreads();
	if (thread == 0)
		publish(&state.finished, a.launch);
	if (b.gram_p && b.tally->changed && (a.last || !changed))
		note_products<SIZE>(b, shared, shift);
}

// follow applies the rotations of the sweep to T, and tells whether the warp has met any.
template <int SIZE> __device__ inline bool follow(const Sweep &a, i64 problem, double *shared)
{
	constexpr int WARPS = SIZE / 16, PAIRS = SIZE / 2;
	__shared__ Mix mixes[WARPS][8][8]; // of the p-steps of a round
	__shared__ Turn<double> turns[WARPS][8]; // of a round of one
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int positive = (int)a.problems[problem].positive, left = (int)a.problems[problem].left;
	// Lane l receives the letters of pair l mod 8 in p-steps l/8 and l/8 + 4.
	Letter *letter = a.letters + problem * a.steps * PAIRS + warp * 8 + lane % 8 + lane / 8 * PAIRS;
	Round next = a.length > 0 ? round_of<SIZE>(a, 0) : Round{};
	bool turned = false;
#pragma unroll 1
	for (int round = 0; round < (int)a.length; round++) {
		const Round now = next.of<SIZE>(left, a.half);
		next = round_of<SIZE>(a, min(round + 1, (int)a.length - 1)); // in time
		__syncthreads();
		const Group<SIZE> c = {shared, now.lefts, now.rights};
		const bool alone = now.steps == 1;
		unsigned rotated = 0, swapped = 0; // swapped: of a round of one
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int t = lane / 8 + 4 * half;
			double2 x = {0, 0};
			if (t < now.steps)
				x = receive(letter + 4 * half * PAIRS);
			const Signs signs = signs_of(number(c.lefts, lane % 8), number(c.rights, lane % 8 ^ t), positive);
			const bool swap = alone ? signbit(x.x) != signbit(x.y) : signbit(x.x);
			rotated |= __ballot_sync(0xffffffff, x.y != 0 || swap);
			if (!alone)
				mixes[warp][t][lane % 8] = mix_of(x.x, x.y, -signs.kind * x.y);
			else if (t == 0)
				turns[warp][lane % 8] = turn_of(swap ? -x.x : x.x, x.y, signs.kind);
			if (half == 0)
				swapped = __ballot_sync(0xffffffff, swap) & 0xff;
		}
		letter += now.steps * PAIRS;
		__syncwarp();
		if (rotated == 0)
			continue;
		turned = true;
		if (alone) {
			c.turn(turns[warp], swapped);
			continue;
		}
		ProductOf<double> product;
		product.reset();
#pragma unroll 1
		for (int t = 0; t < now.steps; t++) {
			product.go_to(t);
			product.turn(mixes[warp][t][lane / 4]);
		}
		product.go_to(0);
		c.multiply(product);
	}
	__syncthreads();
	return turned;
}

// turns_role applies the rotations of the sweep to T, and makes it orthogonal after the last. That takes
// long, so it is done before anything that has to wait for the block that has R.
template <int SIZE>
__device__ inline void turns_role(const Sweep &a, i64 problem, double *shared)
{
	constexpr int LD = Group<SIZE>::LD;
	const Problem &b = a.problems[problem];
	const State &state = a.states[problem];
	const bool done = a.number > 0 && *(volatile const i64 *)&state.done < a.number;
	if (b.k == 0 || skipped(b) || (done && !a.last))
		return;
	const int k = (int)b.k, lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16;
	double *const t = b.t;
	const i64 ldt = b.ldt;
	zero_column<SIZE>(shared);
#pragma unroll 4
	for (int j = j0; j < j0 + 16; j++)
#pragma unroll
		for (int i = lane; i < SIZE; i += 32) {
			const double one = i == j && j < k ? 1.0 : 0.0;
			shared[i + j * LD] = a.number == 0 ? one : i < k && j < k ? t[i + j * ldt] : 0;
		}
	const bool before = a.number > 0 && *(volatile const i64 *)&b.tally->changed;
	const bool turned = __syncthreads_or((!done && follow<SIZE>(a, problem, shared)) || before);
	if (a.last && turned)
		orthogonalize<SIZE>(b, shared);
	else
		for (int j = j0; j < j0 + 16; j++)
			for (int i = lane; i < k; i += 32)
				if (j < k)
					t[i + j * ldt] = shared[i + j * LD];
	if (!a.last || !(a.cancels || b.gram_p))
		return;
	if (!done && threadIdx.x == 0)
		await(&state.finished, a.launch);
	__syncthreads();
	if (!b.tally->changed)
		return;
	const double parts = parts_of<SIZE>(b, state, shared);
	if (a.cancels)
		cancel(b, state, parts);
	if (b.gram_p)
		trust(b, state, parts);
}

template <int SIZE>
__device__ inline void sweep(const Sweep &a)
{
	extern __shared__ __align__(16) double shared[]; // Group<SIZE>::WORDS
	const i64 role = role_of(a);
	if (role < a.count)
		factor_role<SIZE>(a, role, shared);
	else
		turns_role<SIZE>(a, role - a.count, shared);
}

// jacobi_32, jacobi_64, jacobi_128: one sweep for factors of that order or smaller. Grid (2·count), block
// 2·order threads. Shared bytes: 8·Group<order>::WORDS. T need not be set before the first sweep.
extern "C" __global__ void __launch_bounds__(64) jacobi_32(Sweep a) { in_turn(); sweep<32>(a); }
extern "C" __global__ void __launch_bounds__(128) jacobi_64(Sweep a) { in_turn(); sweep<64>(a); }
extern "C" __global__ void __launch_bounds__(256) jacobi_128(Sweep a) { in_turn(); sweep<128>(a); }
