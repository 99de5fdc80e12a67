// Gram matrices of float32, [Nov15, Alg. 4.1], on tensor cores. A number is x = h + l, h and l of TF32. With
// H and L the matrices of these, XᵀX = HᵀH + LᵀH + (LᵀH)ᵀ but for products of two l. So Q = (H + 2L)ᵀH is
// formed, with what the tensor cores take of X in shared memory for the H on the right, and (Q + Qᵀ)/2 is the
// result. Sums over 32 rows are added up in float32, those over chunks of rows in float64. Each element is
// one sequence of operations that depends on its two columns, the number of rows, whether k > 64, and whether
// the products of the columns of P and of Q are known. Then those of P with Q alone are formed. Gram matrices
// of few rows go without tensor cores: what is left out counts there.

#include "known.cuh"
#include "single_tile.cuh"
#include "wgmma.cuh"

constexpr int GRAM_THREADS = 256, GRAM_BYTES = 192 << 10; // GRAM_BYTES: shared

// What a block of threads forms: each of its two groups of 128 threads 64 rows of Q.
enum Kind {
	SMALL,	  // k ≤ 64: each group all rows of Q, from half of the rows of X
	DIAGONAL, // 128 columns with each other
	OTHER,	  // 128 columns with 128 others
	SIDES,	  // up to 64 columns of P with those of Q, in places 0 … 63 and 64 … 127
};

#ifdef WGMMA
// Rows of columns on their way through shared memory. A stage has two steps for each group. A step has 32
// rows of the left columns, and of the right ones if they are others.
template <Kind KIND> struct Flow {
	static constexpr int COLUMNS = KIND == SMALL ? 64 : KIND == OTHER ? 256 : 128; // of a step
	static constexpr int PART = COLUMNS * 128, STEPS = KIND == SMALL ? 4 : 2;
	static constexpr int STAGE = STEPS * PART, DEPTH = GRAM_BYTES / STAGE, ROWS = 32 * STEPS;

	const float *const *address; // of the columns, in shared memory; 0: not there
	int row, rows;
	unsigned to;
	bool aligned;

	// load starts to copy the next rows to a stage.
	__device__ void load(unsigned stage)
	{
		if (aligned)
			load<true>(stage);
		else
			load<false>(stage);
		row += ROWS;
	}

	template <bool ALIGNED> __device__ void load(unsigned stage) const
	{
#pragma unroll
		for (int i = 0; i < COLUMNS / 32; i++) {
			const float *const from = address[threadIdx.x / 8 + 32 * i];
#pragma unroll
			for (int step = 0; step < STEPS; step++) {
				const int n = from ? rows - row - 32 * step : 0;
				copy4<ALIGNED>(stage + step * PART + i * 4096 + to,
					       n > 0 ? from + row + 32 * step : *address, n);
			}
		}
	}
};

// What a thread has of 32 rows of the left columns, and twice the rest.
struct Left {
	float x[4][4], rest[4][4];

	__device__ void fetch(unsigned at)
	{
		const unsigned g = threadIdx.x % 32 / 4;
#pragma unroll
		for (int s = 0; s < 4; s++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x[s][e])
					     : "r"(at + e % 2 * 1024 + ((2 * s + e / 2) ^ g) * 16) : "memory");
#pragma unroll
		for (int s = 0; s < 4; s++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				rest[s][e] = ::rest(x[s][e], 2);
	}
};

// start starts the products of 32 rows.
template <int HALVES>
__device__ inline void start(float (&part)[HALVES][32], const Left &a, unsigned right)
{
	begin_products();
#pragma unroll
	for (int s = 0; s < 4; s++)
		add_product(part, a.rest[s], operand(right + 32 * s), s);
#pragma unroll
	for (int s = 0; s < 4; s++)
		add_product(part, a.x[s], operand(right + 32 * s), 1);
	end_products();
}

template <Kind KIND>
__device__ inline void gram(const SingleProblem *problems, float *partial, i64 side, i64 chunks, i64 least)
{
	using F = Flow<KIND>;
	constexpr int HALVES = KIND == SMALL || KIND == SIDES ? 1 : 2;
	extern __shared__ __align__(1024) unsigned char memory[];
	__shared__ u64 barriers[2 * F::DEPTH];
	__shared__ const float *address[F::COLUMNS];
	const SingleProblem &b = problems[blockIdx.z];
	const int others = KIND == OTHER ? (int)side - 1 : 1, I = blockIdx.x / others, i = blockIdx.x % others;
	const int J = KIND == OTHER ? i + (i >= I) : I;
	const i64 first = blockIdx.y * b.chunk;
	const int rows = (int)(b.g.m < first + b.chunk ? b.g.m - first : b.chunk);
	if (b.g.m < least || (KIND == SMALL) != (b.k <= 64) || rows <= 0 || I * 128 >= b.k || J * 128 >= b.k)
		return;
	const unsigned full = (unsigned)__cvta_generic_to_shared(barriers), empty = full + 8 * F::DEPTH;
	const unsigned stages = ((unsigned)__cvta_generic_to_shared(memory) + 1023) & ~1023u;
	if (threadIdx.x < F::DEPTH) {
		set_barrier(full + 8 * threadIdx.x, GRAM_THREADS);
		set_barrier(empty + 8 * threadIdx.x, GRAM_THREADS / 32);
	}
	if (threadIdx.x < F::COLUMNS) {
		i64 j = (threadIdx.x < 128 ? I : J) * 128 + threadIdx.x % 128;
		if (KIND == SIDES)
			j = place_across(b, threadIdx.x);
		address[threadIdx.x] = j < b.k ? column(b.g, j) + first : 0;
	}
	__syncthreads();

	const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4;
	const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	const unsigned begin = KIND == SMALL ? group * 2 * F::PART : 0;
	const unsigned left = begin + ((KIND == SMALL ? 0 : 64 * group) + 16 * warp + g) * 128 + 4 * t;
	const unsigned right =
		begin + (KIND == OTHER || KIND == SIDES && group == 0 ? F::PART / 2 : 0); // group 1: P
	float sum[HALVES][32] = {}, part[HALVES][32];
	Left even, odd;

	const int piece = threadIdx.x % 8, c = threadIdx.x / 8;
	const bool aligned = (((u64)b.g.p | (u64)b.g.q) & 15) == 0 && ((b.g.ldp | b.g.ldq) & 3) == 0;
	F flow = {address, 4 * piece, rows, (unsigned)(c * 128 + ((piece ^ c % 8) << 4)), aligned};
	const int count = (rows + F::ROWS - 1) / F::ROWS;
	int stage = 0, phase = 0, next = 0, next_phase = 1, loaded = 0;
	auto load = [&]() {
		wait(empty + 8 * next, next_phase);
		flow.load(stages + next * F::STAGE);
		arrive_copied(full + 8 * next);
		if (++next == F::DEPTH)
			next = 0, next_phase ^= 1;
		loaded++;
	};
	auto finish = [&]() {
		wait_products(part);
#pragma unroll
		for (int h = 0; h < HALVES; h++)
#pragma unroll
			for (int e = 0; e < 32; e++)
				sum[h][e] += part[h][e];
	};
#pragma unroll 1
	while (loaded < count && loaded < F::DEPTH - 1)
		load();
	wait(full, 0);
	see_copied();
	even.fetch(stages + left);
#pragma unroll 1
	for (int n = 1; n <= count; n++) {
		const unsigned at = stages + stage * F::STAGE, done = empty + 8 * stage;
		start(part, even, at + right);
		odd.fetch(at + F::PART + left);
		finish();
		start(part, odd, at + F::PART + right);
		if (++stage == F::DEPTH)
			stage = 0, phase ^= 1;
		if (loaded < count)
			load();
		if (n < count) {
			wait(full + 8 * stage, phase);
			see_copied();
			even.fetch(stages + stage * F::STAGE + left);
		}
		finish();
		__syncwarp();
		if (threadIdx.x % 32 == 0)
			arrive(done);
	}
	partial += (blockIdx.z * chunks + blockIdx.y) * 4 * side * side * 4096;
#pragma unroll
	for (int h = 0; h < HALVES; h++) {
		const i64 block = KIND == SMALL	   ? group
				  : KIND == SIDES ? group + 1 // (0, 1) and (1, 0) of 2×2
						   : (2 * I + group) * 2 * side + 2 * J + h;
		float *const out = partial + block * 4096 + 16 * warp + g;
#pragma unroll
		for (int n = 0; n < 8; n++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				out[8 * (e / 2) + (8 * n + 2 * t + e % 2) * 64] = sum[h][4 * n + e];
	}
}
#endif

// single_gram_small: grid (1, chunks of rows, problems), of which those with k > 64 are left to
// single_gram_diagonal: grid (side, chunks, problems), side = ⌈k/128⌉ of the largest k, and
// single_gram_other: grid (side·(side−1), chunks, problems). Those of fewer rows than `least` are left to
// single_gram_plain. Block 256 threads, shared bytes GRAM_BYTES + 1024. partial has 4·side² blocks of 64×64
// numbers for each chunk of each problem. single_gram_diagonal says in `across` whether it has formed the
// products of P with Q alone.
extern "C" __global__ void __launch_bounds__(GRAM_THREADS, 1)
single_gram_small(const SingleProblem *problems, float *partial, i64 side, i64 chunks, i64 least)
{
	in_turn();
#ifdef WGMMA
	gram<SMALL>(problems, partial, side, chunks, least);
#endif
}

extern "C" __global__ void __launch_bounds__(GRAM_THREADS, 1)
single_gram_diagonal(const SingleProblem *problems, float *partial, i64 side, i64 chunks, i64 least,
		     unsigned *across)
{
	in_turn();
#ifdef WGMMA
	const bool alone = known(problems[blockIdx.z]);
	if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0)
		across[blockIdx.z] = alone && problems[blockIdx.z].g.m >= least;
	if (alone)
		gram<SIDES>(problems, partial, side, chunks, least);
	else
		gram<DIAGONAL>(problems, partial, side, chunks, least);
#endif
}

extern "C" __global__ void __launch_bounds__(GRAM_THREADS, 1)
single_gram_other(const SingleProblem *problems, float *partial, i64 side, i64 chunks, i64 least)
{
#ifdef WGMMA
	gram<OTHER>(problems, partial, side, chunks, least);
#endif
}

// single_gram_plain: the sum over a chunk for a block I ≤ J of 64×64 elements, without tensor cores. Grid
// (pairs I ≤ J, chunks, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_gram_plain(const SingleProblem *problems, float *partial, i64 side, i64 chunks, i64 least)
{
	__shared__ __align__(16) Operands s;
	const SingleProblem &b = problems[blockIdx.z];
	int J = 0;
	while ((J + 1) * (J + 2) / 2 <= (int)blockIdx.x)
		J++;
	const int I = blockIdx.x - J * (J + 1) / 2;
	const i64 first = blockIdx.y * b.chunk, end = b.g.m < first + b.chunk ? b.g.m : first + b.chunk;
	if (b.g.m >= least || first >= end || J * 64 >= b.k)
		return;
	SingleTile sum = {};
	for (i64 row = first; row < end; row += 32) {
		SingleTile part = {};
		part.add<ALONG>(
			s, 32,
			[&](i64 l, int i) { return row + l < end && I * 64 + i < b.k ? column(b.g, I * 64 + i)[row + l] : 0; },
			[&](i64 l, int j) { return row + l < end && J * 64 + j < b.k ? column(b.g, J * 64 + j)[row + l] : 0; });
		sum.add(part);
	}
	float *out = partial + ((blockIdx.z * chunks + blockIdx.y) * 4 * side * side + I * 2 * side + J) * 4096;
	sum.each([=](int i, int j, float x) { out[i + j * 64] = x; });
}

// single_gram_add adds the sums of the chunks, in order, makes R of them and of what is known, sets Factors
// to Norms, and notes the products of the columns of P, and of Q, where they were not known. across: as
// single_gram_diagonal says. Grid (pairs I ≤ J of 32×32 elements, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_gram_add(const SingleProblem *problems, const float *partial, i64 side, i64 chunks, i64 least,
		const unsigned *across)
{
	in_turn();
	__shared__ float mirror[32][33];
	const SingleProblem &b = problems[blockIdx.y];
	int J = 0;
	while ((J + 1) * (J + 2) / 2 <= (int)blockIdx.x)
		J++;
	const int I = blockIdx.x - J * (J + 1) / 2, x = threadIdx.x % 32, y = threadIdx.x / 32;
	if (blockIdx.x == 0)
		for (i64 j = threadIdx.x; j < b.k; j += 256)
			b.factors[j] = j < b.g.np ? b.norms_p[j] : b.norms_q[j - b.g.np];
	const bool plain = b.g.m < least, small = !plain && b.k <= 64;
	const bool alone = !plain && !small && across[blockIdx.y];
	if (alone ? J >= 4 : J * 32 >= b.k)
		return;
	const i64 blocks = 4 * side * side, n = (b.g.m + b.chunk - 1) / b.chunk;
	const int parts = small ? 2 : 1;
	auto part = [&](int i, int j) {
		const int block = small ? 0 : alone ? i / 2 + 1 : i / 2 * 2 * (int)side + j / 2;
		return partial + (blockIdx.y * chunks * blocks + block) * 4096 + i % 2 * 32 + x + (j % 2 * 32 + y) * 64;
	};
	// sums finds the elements (x, y + 8e) of the 32×32 elements at (I, J), and, with both, at (J, I).
	auto sums = [&](bool both, float (&h)[4], float (&q)[4]) {
		double s[4] = {}, r[4] = {};
		const float *const first = part(I, J), *const second = part(J, I);
#pragma unroll 8
		for (i64 c = 0; c < n; c++)
			for (int p = 0; p < parts; p++)
#pragma unroll
				for (int e = 0; e < 4; e++) {
					const i64 at = (c * blocks + p) * 4096 + 8 * e * 64;
					s[e] += first[at];
					r[e] += both ? second[at] : 0;
				}
#pragma unroll
		for (int e = 0; e < 4; e++)
			h[e] = (float)s[e], q[e] = (float)r[e];
	};
	auto number = [&](int place) -> i64 { return alone ? place_across(b, place) : place; };
	const bool take = alone && I / 2 == J / 2; // what is known
	float h[4], q[4];
	if (take) {
#pragma unroll
		for (int e = 0; e < 4; e++) {
			const float *const from = noted(b, number(I * 32 + x), number(J * 32 + y + 8 * e));
			h[e] = from ? *from : 0;
		}
	} else {
		sums(!plain, h, q);
	}
	if (!plain && !take) {
#pragma unroll
		for (int e = 0; e < 4; e++)
			mirror[y + 8 * e][x] = q[e];
		__syncthreads();
#pragma unroll
		for (int e = 0; e < 4; e++)
			h[e] = 0.5f * (h[e] + mirror[x][y + 8 * e]);
		__syncthreads();
	}
	auto put = [&](int place, int other, float h) {
		const i64 i = number(place), j = number(other);
		if (i >= b.k || j >= b.k)
			return;
		b.r[i + j * b.ldr] = h;
		float *const note = alone ? 0 : noted(b, i, j);
		if (note)
			*note = h;
	};
#pragma unroll
	for (int e = 0; e < 4; e++) {
		mirror[y + 8 * e][x] = h[e];
		put(I * 32 + x, J * 32 + y + 8 * e, h[e]);
	}
	if (I == J)
		return;
	__syncthreads();
#pragma unroll
	for (int e = 0; e < 4; e++)
		put(J * 32 + x, I * 32 + y + 8 * e, mirror[x][y + 8 * e]);
}
