// The pointwise one-sided Jacobi method on the factors of a batch of float32, for orders k ≤ 128, with rounds
// as that of float64 (jacobi.cu). A problem has two blocks: one finds the rotations, by the products of all
// columns of R with each other alone (single_square.cuh). The other multiplies R and T by them. The norms of
// the columns are apart. In the end the length of a column of R·T goes into its norm, and R·T and T are
// divided by it.

#include "known.cuh"
#include "single_square.cuh"
#include "turn.cuh"

// A column of R·T that is shorter is rounding errors, of columns of length 1. This counts as its length.
constexpr float LEAST = 0x1p-22f;

constexpr double SMALLEST = 0x1p-1022; // norm of a column that is not zero

constexpr int LETTERS = 64; // of a warp in a round
constexpr int SPARE = 2048; // bytes of shared memory besides two matrices

using SingleSweep = SweepOf<float>;

__device__ inline u64 two(float x, float y) { return __float_as_uint(x) | (u64)__float_as_uint(y) << 32; }
__device__ inline float low(u64 x) { return __uint_as_float((unsigned)x); }
__device__ inline float high(u64 x) { return __uint_as_float((unsigned)(x >> 32)); }

// letters_of returns those of the first round that the calling lane writes or reads.
template <int SIZE> __device__ inline Letter *letters_of(const SingleSweep &a, i64 problem)
{
	return a.letters + (problem * a.length * (SIZE / 16) + threadIdx.x / 32) * LETTERS + threadIdx.x % 32;
}

// ends tells whether there is nothing to be done for a problem in this sweep.
__device__ inline bool ends(const SingleSweep &a, i64 problem)
{
	const SingleProblem &b = a.problems[problem];
	return b.k == 0 || skipped(b) ||
	       (a.number > 0 && *(volatile const i64 *)&a.states[problem].done < a.number);
}

// begin puts a matrix of order k into shared memory. Column and row SIZE are zero.
template <int SIZE> __device__ inline void begin(const float *from, i64 ld, int k, float *shared)
{
	constexpr int LD = Square<SIZE>::LD;
	const int lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16;
	float x[16][SIZE / 32];
	fetch<SIZE>(from, ld, k, x);
#pragma unroll
	for (int s = 0; s < 16; s++)
#pragma unroll
		for (int r = 0; r < SIZE / 32; r++)
			shared[(j0 + s) * LD + lane + 32 * r] = x[s][r];
	for (int i = threadIdx.x; i < LD; i += 2 * SIZE) {
		shared[SIZE * LD + i] = 0;
		if (i < SIZE)
			shared[i * LD + SIZE] = 0;
	}
}

// note_products notes the products of the columns of P, and of Q, once the columns of R·T are divided by
// their lengths. Where one has become much shorter they are rounding errors, so they pass for unknown.
template <int SIZE> __device__ inline void note_products(const SingleProblem &b, const Square<SIZE> &h)
{
	__shared__ float inverse[SIZE];
	const int thread = threadIdx.x, k = (int)b.k, np = (int)b.g.np, i = thread % SIZE; // a row, two threads each
	bool clear = true;
	for (int j = thread; j < k; j += 2 * SIZE) {
		const float square = h.at(j, j) / SCALE;
		clear = square >= (float)(KNOWN_LENGTH * KNOWN_LENGTH);
		inverse[j] = 1 / sqrtf(h.at(j, j));
	}
	clear = __syncthreads_and(clear);
	if (i >= k)
		return;
	const int start = i < np ? 0 : np, end = i < np ? np : k;
	float *const row = (i < np ? b.gram_p : b.gram_q) + i - start;
	const i64 ld = i < np ? b.ld_gram_p : b.ld_gram_q;
#pragma unroll 8
	for (int j = start + thread / SIZE; j < end; j += 2) {
		const int first = min(i, j), second = max(i, j); // the same bits in both triangles
		const float cosine = h.at(first, second) * inverse[first] * inverse[second];
		row[(j - start) * ld] = !clear ? 0 : i == j ? 1 : cosine;
	}
}

// rotations_role finds the rotations of a sweep.
template <int SIZE> __device__ inline void rotations_role(const SingleSweep &a, i64 problem, float *shared)
{
	constexpr int WARPS = SIZE / 16;
	__shared__ MixOf<float> shared_mixes[WARPS][2][8];
	__shared__ Norm norms[SIZE + 1]; // of the columns; 0 where there is none
	__shared__ int rotations, proper;
	const SingleProblem &b = a.problems[problem];
	State &state = a.states[problem];
	const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, k = (int)b.k, columns = (int)b.left;
	const float tol = (float)(b.tol * b.tol), cosine = (float)(b.screen * b.screen);
	if (thread == 0)
		rotations = proper = 0;
	begin<SIZE>(b.r, b.ldr, k, shared);
	const Square<SIZE> h = {shared};
	News<SIZE> *const news = (News<SIZE> *)(shared + Square<SIZE>::WORDS); // of each warp
	static_assert(WARPS * sizeof(News<SIZE>) <= 4 * Square<SIZE>::WORDS + SPARE, "there is room for them");
	__syncthreads();
	h.square();
	__syncthreads();
	for (int j = thread; j <= SIZE; j += 32 * WARPS)
		norms[j] = norm_of(j < k ? b.factors[j] : 0, j, h.at(j, j));
	Letter *letter = letters_of<SIZE>(a, problem);
	const unsigned mixes = place_of(shared_mixes[warp]);
	SingleCounts counts = {};
	Round next = a.length > 0 ? round_of<SIZE>(a, 0) : Round{};
#pragma unroll 1
	for (int round = 0; round < (int)a.length; round++) {
		const Round now = next.of<SIZE>(columns, a.half);
		next = round_of<SIZE>(a, min(round + 1, (int)a.length - 1)); // in time
		__syncthreads();
		const auto own = Square<SIZE>::places(now.lefts, now.rights);
		SingleRound r;
		h.get(r.h, own);
		const int left = number(now.lefts, lane / 4), right = number(now.rights, lane / 4);
		r.left = {norms[left], 0};
		r.right = {norms[right], 0};
		__syncwarp(); // before norms are written
		const bool any = r.run(now.steps, mixes, tol, cosine, counts);
		const ProductOf<float> sent = Image(r.product, r.left.error, r.right.error).product;
		send_words(letter, two(sent.left[0], sent.left[1]), two(sent.left[2], sent.left[3]));
		send_words(letter + 32, two(sent.right[0], sent.right[1]), two(sent.right[2], sent.right[3]));
		letter += WARPS * LETTERS;
		h.put(r.h, own);
		if (lane % 4 == 0 && left < SIZE)
			norms[left] = r.left.norm;
		if (lane % 4 == 0 && right < SIZE)
			norms[right] = r.right.norm;
		ProductOf<float> &p = r.product;
		p.take_identity();
		const Weights weights = {split(p.left), split(p.right)};
		news[warp].put(own, weights, any);
		__syncthreads();
		h.each([&](int other) {
			if (any || news[other].any)
				h.turn(weights, own, news[other].all(), news[other].places());
		});
	}
	if (counts.rotations) { // integers: the order does not matter
		atomicAdd(&rotations, counts.rotations);
		atomicAdd(&proper, counts.proper);
	}
	__syncthreads();
	for (int j = thread; j < k; j += 32 * WARPS)
		state.before[j] = b.factors[norms[j].key & 0xff];
	if (thread == 0) {
		b.tally->rotations += rotations;
		b.tally->proper += proper;
		b.tally->open += proper;
		b.tally->changed = rotations > 0 || (a.number > 0 && b.tally->changed);
		state.rotations = rotations;
		state.done = rotations > 0 ? NEVER : a.number;
	}
	__syncthreads();
	if (thread == 0)
		publish(&state.finished, a.launch);
	if (b.gram_p && b.tally->changed && (a.last || rotations == 0))
		note_products(b, h);
}

// multiply multiplies a warp's columns of T in shared memory by a product of rotations, an Image.
template <int SIZE>
__device__ inline void multiply(float *shared, u64 lefts, u64 rights, const float (*by)[20])
{
	constexpr int LD = Square<SIZE>::LD, ROWS = SIZE / 32;
	float *const column = shared + threadIdx.x % 32;
	float x[16][ROWS];
#pragma unroll
	for (int s = 0; s < 16; s++)
#pragma unroll
		for (int r = 0; r < ROWS; r++)
			x[s][r] = column[number(s < 8 ? lefts : rights, s % 8) * LD + 32 * r];
#pragma unroll
	for (int half = 0; half < 16; half += 8) {
		float sum[8][ROWS] = {}, whole[8];
#pragma unroll
		for (int i = 0; i < 16; i++) {
			const float4 u = *(const float4 *)&by[i][half], v = *(const float4 *)&by[i][half + 4];
			const float w[8] = {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w};
#pragma unroll
			for (int j = 0; j < 8; j++) {
				if (i == half + j)
					whole[j] = Image::whole(w[j]);
#pragma unroll
				for (int r = 0; r < ROWS; r++)
					sum[j][r] = __fmaf_rn(x[i][r], w[j], sum[j][r]);
			}
		}
#pragma unroll
		for (int j = 0; j < 8; j++) {
			const int to = number(half ? rights : lefts, j);
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				if (to < SIZE)
					column[to * LD + 32 * r] = __fmaf_rn(x[half + j][r], whole[j], sum[j][r]);
		}
	}
}

// part returns number j of four.
__device__ inline float &part(float4 &x, int j) { return j == 0 ? x.x : j == 1 ? x.y : j == 2 ? x.z : x.w; }

// multiply_factor does it for R, on the tensor cores, 32 rows at a time. They cut sums off, so that columns
// become shorter by some units of roundoff where angles are large; of R only lengths matter. The rows of the
// products there are columns, and their columns rows 4g+j, so that a lane has four numbers after each other,
// in and out.
template <int SIZE>
__device__ inline void multiply_factor(float *shared, u64 lefts, u64 rights, const ProductOf<float> &by)
{
	constexpr int LD = Square<SIZE>::LD;
	const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	const float *from[4];
#pragma unroll
	for (int i = 0; i < 4; i++)
		from[i] = shared + number(i < 2 ? lefts : rights, 2 * t + i % 2) * LD + 4 * g;
	const int left_number = number(lefts, g), right_number = number(rights, g);
	float *const left = shared + left_number * LD + 8 * t, *const right = shared + right_number * LD + 8 * t;
	const float left_whole = Image::whole(__shfl_sync(0xffffffff, g & 1 ? by.left[1] : by.left[0], owner(g)));
	const float right_whole = Image::whole(__shfl_sync(0xffffffff, g & 1 ? by.right[3] : by.right[2], owner(g)));
	const Weights weights = {split(by.left), split(by.right)};
#pragma unroll 1
	for (int row = 0; row < SIZE; row += 32) {
		float4 x[4], old[2][2];
#pragma unroll
		for (int i = 0; i < 4; i++)
			x[i] = *(const float4 *)(from[i] + row);
#pragma unroll
		for (int i = 0; i < 2; i++) {
			old[0][i] = *(const float4 *)(left + row + 4 * i);
			old[1][i] = *(const float4 *)(right + row + 4 * i);
		}
#pragma unroll
		for (int j = 0; j < 4; j++) {
			float sum[4] = {};
#pragma unroll
			for (int m = 0; m < 2; m++)
				add_product(sum, weights.rows(m), split({part(x[2 * m], j), part(x[2 * m + 1], j)}));
#pragma unroll
			for (int i = 0; i < 2; i++) {
				float &p = part(old[0][i], j), &q = part(old[1][i], j);
				p = __fmaf_rn(p, left_whole, sum[i]);
				q = __fmaf_rn(q, right_whole, sum[2 + i]);
			}
		}
		__syncwarp();
#pragma unroll
		for (int i = 0; i < 2; i++) {
			if (left_number < SIZE)
				*(float4 *)(left + row + 4 * i) = old[0][i];
			if (right_number < SIZE)
				*(float4 *)(right + row + 4 * i) = old[1][i];
		}
	}
}

// follow applies the rotations of the sweep to R, and to T, which lies behind it.
template <int SIZE> __device__ inline void follow(const SingleSweep &a, i64 problem, float *shared)
{
	constexpr int WARPS = SIZE / 16;
	__shared__ __align__(16) float products[WARPS][16][20];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4;
	const int columns = (int)a.problems[problem].left;
	Letter *letter = letters_of<SIZE>(a, problem);
	Round next = a.length > 0 ? round_of<SIZE>(a, 0) : Round{};
#pragma unroll 1
	for (int round = 0; round < (int)a.length; round++) {
		const Round now = next.of<SIZE>(columns, a.half);
		next = round_of<SIZE>(a, min(round + 1, (int)a.length - 1)); // in time
		const Letter x = receive_words(letter), y = receive_words(letter + 32);
		const ProductOf<float> by = {{low(x.first), high(x.first), low(x.second), high(x.second)},
					     {low(y.first), high(y.first), low(y.second), high(y.second)},
					     0};
#pragma unroll
		for (int i = 0; i < 4; i++) {
			products[warp][by.row(i)][g] = by.left[i];
			products[warp][by.row(i)][g + 8] = by.right[i];
		}
		letter += WARPS * LETTERS;
		__syncthreads();
		multiply<SIZE>(shared + Square<SIZE>::WORDS, now.lefts, now.rights, products[warp]);
		multiply_factor<SIZE>(shared, now.lefts, now.rights, by);
		__syncwarp();
	}
	__syncthreads();
}

// measure puts the lengths of the warp's columns of R·T into the norms, if `part` is set, and returns by what
// the columns of R·T are multiplied then, and those of T, in lanes 0 … 15.
template <int SIZE>
__device__ inline float2 measure(const SingleProblem &b, const State &state, const float *shared, bool part)
{
	const int lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16, j = j0 + lane;
	float squares[2][8];
#pragma unroll
	for (int s = 0; s < 16; s++) {
		float sum = 0;
#pragma unroll
		for (int r = 0; r < SIZE / 32; r++) {
			const float x = shared[(j0 + s) * Square<SIZE>::LD + lane + 32 * r];
			sum = __fmaf_rn(x, x, sum);
		}
		squares[s / 8][s % 8] = sum;
	}
	const float left = scatter_sum(squares[0]), right = scatter_sum(squares[1]);
	const float length = sqrtf(lane < 8 ? left : right), l = length > LEAST || length == 0 ? length : LEAST;
	if (lane >= 16 || j >= b.k)
		return {1, 1};
	const double before = state.before[j], norm = part ? before * l : before;
	const bool none = part && !(norm >= SMALLEST);
	const float inverse = part && l > 0 ? 1 / l : 1;
	b.factors[j] = none ? 0 : norm;
	return {none ? 0 : inverse, inverse};
}

// put_back puts the warp's columns of a matrix back, multiplied by what lanes 0 … 15 have.
template <int SIZE>
__device__ inline void put_back(float *to, i64 ld, int k, const float *shared, float scale)
{
	const int lane = threadIdx.x % 32, j0 = threadIdx.x / 32 * 16;
#pragma unroll 4
	for (int s = 0; s < 16; s++) {
		const int j = j0 + s;
		const float factor = __shfl_sync(0xffffffff, scale, s);
#pragma unroll
		for (int i = lane; i < SIZE; i += 32)
			if (i < k && j < k)
				to[i + j * ld] = shared[i + j * Square<SIZE>::LD] * factor;
	}
}

// turned_role multiplies R and T by the rotations of the sweep. After the last sweep, and after one without
// rotations, the columns are divided by the lengths of those of R.
template <int SIZE> __device__ inline void turned_role(const SingleSweep &a, i64 problem, float *shared)
{
	constexpr int LD = Square<SIZE>::LD, WORDS = Square<SIZE>::WORDS;
	const SingleProblem &b = a.problems[problem];
	const State &state = a.states[problem];
	const int k = (int)b.k, thread = threadIdx.x;
	float *const other = shared + WORDS;
	begin<SIZE>(b.r, b.ldr, k, shared);
	if (a.number > 0)
		begin<SIZE>(b.t, b.ldt, k, other);
	for (int i = thread; a.number == 0 && i < WORDS; i += 2 * SIZE)
		other[i] = i % (LD + 1) == 0 && i < k * LD ? 1 : 0;
	follow<SIZE>(a, problem, shared);
	if (thread == 0)
		await(&state.finished, a.launch);
	__syncthreads();
	const bool changed = b.tally->changed != 0, part = changed && (a.last || state.rotations == 0);
	float2 scales = {1, 1};
	if (changed) {
		scales = measure<SIZE>(b, state, shared, part);
		put_back<SIZE>(b.r, b.ldr, k, shared, scales.x);
	}
	if (changed || a.number == 0)
		put_back<SIZE>(b.t, b.ldt, k, other, scales.y);
}

template <int SIZE> __device__ inline void sweep(const SingleSweep &a)
{
	extern __shared__ __align__(16) float shared[]; // 2·Square<SIZE>::WORDS and some more
	const i64 role = role_of(a), problem = role % a.count;
	if (ends(a, problem))
		return;
	if (role < a.count)
		rotations_role<SIZE>(a, problem, shared);
	else
		turned_role<SIZE>(a, problem, shared);
}

// single_jacobi_32, _64, _128: one sweep for factors of that order or smaller. Grid (2·count), block 2·order
// threads. Shared bytes: 8·Square<order>::WORDS + SPARE. T need not be set before the first sweep.
extern "C" __global__ void __launch_bounds__(64)
single_jacobi_32(SingleSweep a) { in_turn(); sweep<32>(a); }
extern "C" __global__ void __launch_bounds__(128)
single_jacobi_64(SingleSweep a) { in_turn(); sweep<64>(a); }
extern "C" __global__ void __launch_bounds__(256)
single_jacobi_128(SingleSweep a) { in_turn(); sweep<128>(a); }
