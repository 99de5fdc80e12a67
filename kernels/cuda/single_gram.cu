// Gram matrices of float32, [Nov15, Alg. 4.1], on tensor cores. A number is x = h + l, h and l of TF32. With H
// and L the matrices of these, XᵀX = HᵀH + LᵀH + (LᵀH)ᵀ but for products of two l. So the matrix Q of the
// products of left columns with the h of right columns is formed, and made symmetric in the end: blocks of the
// diagonal are (Q + Qᵀ)/2 of Q = (H + 2L)ᵀH. Of two blocks that mirror each other each has LᵀH, and one of
// them HᵀH for a row of X. A sum over 64 rows, or 32, is added to the others in float32. Each element is one
// sequence of operations that depends on its two columns, the number of rows, and whether k > 64.

#include "wgmma.cuh"

constexpr int GRAM_THREADS = 512;
constexpr int GRAM_STAGES = 6, STAGE_BYTES = 32 << 10;

// What a block of threads forms. Each of its four groups of 128 threads forms a block of 64×64.
enum Kind {
	SMALL,	  // k ≤ 64: each group for other rows
	DIAGONAL, // 128 columns with each other
	OTHER,	  // 128 columns with 128 others
};

#ifdef WGMMA
// copy4 starts to copy four numbers to shared memory: the first n, the others become zero.
__device__ inline void copy4(unsigned to, const float *from, int n, bool aligned)
{
	n = n < 0 ? 0 : n > 4 ? 4 : n;
	if (aligned) {
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(4 * n) : "memory");
		return;
	}
#pragma unroll
	for (int i = 0; i < 4; i++)
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + 4 * i), "l"(i < n ? from + i : from),
			     "r"(i < n ? 4 : 0) : "memory");
}

// Rows of columns on their way through shared memory: a stage has SUBS parts of 32 rows of COLUMNS columns.
template <Kind KIND> struct Flow {
	static constexpr int COLUMNS = KIND == SMALL ? 64 : 128, PART = COLUMNS * 128, SUBS = STAGE_BYTES / PART;
	static constexpr int ROWS = KIND == SMALL ? 128 : KIND == DIAGONAL ? 64 : 32; // of a stage
	static constexpr int OWN = KIND == SMALL ? 1 : KIND == DIAGONAL ? 2 : 4;      // columns that a thread copies

	const float *from[OWN];
	int left; // rows from the thread's first one on
	bool there[OWN], aligned;
	unsigned to;

	__device__ Flow(const SingleProblem &b, int I, int J, i64 first, int rows)
	{
		const int piece = threadIdx.x % 8, c = threadIdx.x / 8;
		aligned = (((u64)b.g.p | (u64)b.g.q) & 15) == 0 && ((b.g.ldp | b.g.ldq) & 3) == 0;
		left = rows - 4 * piece;
		to = c * 128 + ((piece ^ c % 8) << 4);
#pragma unroll
		for (int i = 0; i < OWN; i++) {
			const int j = (i < 2 ? I : J) * 128 + i % 2 * 64 + c;
			there[i] = j < b.k;
			from[i] = there[i] ? column(b.g, j) + first + 4 * piece : b.g.p;
		}
	}

	// load starts to copy the next rows to a stage.
	__device__ void load(unsigned stage)
	{
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const int sub = KIND == SMALL ? i : i / 2, own = i % OWN;
			const int row = KIND == OTHER ? 0 : 32 * sub;
			const int n = there[own] ? left - row : 0;
			copy4(stage + sub * PART + i % (COLUMNS / 64) * 8192 + to, n > 0 ? from[own] + row : from[own], n, aligned);
		}
		left -= ROWS;
#pragma unroll
		for (int i = 0; i < OWN; i++)
			if (there[i] && left > 0)
				from[i] += ROWS;
	}
};

template <Kind KIND, bool LOW>
__device__ inline void gram(const SingleProblem *problems, float *partial, i64 side, i64 chunks)
{
	using F = Flow<KIND>;
	extern __shared__ __align__(1024) unsigned char memory[];
	__shared__ u64 barriers[2 * GRAM_STAGES];
	const SingleProblem &b = problems[blockIdx.z];
	const int others = KIND == OTHER ? (int)side - 1 : 1, I = blockIdx.x / others, n = blockIdx.x % others;
	const int J = KIND == OTHER ? n + (n >= I) : I;
	const i64 first = blockIdx.y * b.chunk;
	const int rows = (int)(b.g.m < first + b.chunk ? b.g.m - first : b.chunk);
	if ((KIND == SMALL) != (b.k <= 64) || rows <= 0 || I * 128 >= b.k || J * 128 >= b.k)
		return;
	const unsigned full = (unsigned)__cvta_generic_to_shared(barriers), empty = full + 8 * GRAM_STAGES;
	const unsigned stages = ((unsigned)__cvta_generic_to_shared(memory) + 1023) & ~1023u;
	if (threadIdx.x == 0)
		for (int i = 0; i < GRAM_STAGES; i++) {
			set_barrier(full + 8 * i, GRAM_THREADS);
			set_barrier(empty + 8 * i, GRAM_THREADS / 32);
		}
	__syncthreads();
	F flow(b, I, J, first, rows);

	const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	const int i = KIND == SMALL ? 0 : group / 2, j = KIND == SMALL ? 0 : group % 2;
	const bool diagonal = KIND == SMALL || KIND == DIAGONAL && i == j;
	const float factor = diagonal ? 2 : 1;
	const unsigned left = (64 * i + 16 * warp + g) * 128 + 4 * t, right = 64 * j * 128;
	float sum[32] = {}, part[32];

	// add adds the products of 32 rows to `part`.
	auto add = [&](unsigned at, unsigned others, int add, bool highs) {
		float x[4][4], y[4][4];
#pragma unroll
		for (int s = 0; s < 4; s++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const unsigned a = at + left + e % 2 * 1024 + ((2 * s + e / 2) ^ g) * 16;
				asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x[s][e]) : "r"(a) : "memory");
			}
#pragma unroll
		for (int s = 0; s < 4; s++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				y[s][e] = rest(x[s][e], factor);
		const auto multiply = [&](bool highs) {
			begin_products();
#pragma unroll
			for (int s = 0; s < 4; s++) {
				const u64 b = operand(others + right + 32 * s);
				if (LOW)
					add_product64(part, y[s], b, add | s);
				if (highs)
					add_product64(part, x[s], b, LOW | add | s);
			}
			wait_products(part);
		};
		if (highs || !LOW)
			multiply(true);
		else
			multiply(false);
	};
	auto process = [&](unsigned stage) {
		if (KIND == SMALL) {
			add(stage + group * F::PART, stage + group * F::PART, 0, true);
		} else if (KIND == DIAGONAL) {
			add(stage, stage, 0, diagonal || i == 0);
			add(stage + F::PART, stage + F::PART, 1, diagonal || i == 1);
		} else {
			add(stage, stage + F::PART, 0, I < J);
		}
#pragma unroll
		for (int e = 0; e < 32; e++)
			sum[e] += LOW || diagonal ? part[e] : 0.5f * part[e];
	};

	constexpr int AHEAD = GRAM_STAGES - 2;
	const int count = (rows + F::ROWS - 1) / F::ROWS;
	int stage = 0, phase = 0, next = 0, next_phase = 1;
#pragma unroll 1
	for (int n = -AHEAD; n < count; n++) {
		if (n >= 0) {
			wait(full + 8 * stage, phase);
			see_copied();
			process(stages + stage * STAGE_BYTES);
			__syncwarp();
			if (threadIdx.x % 32 == 0)
				arrive(empty + 8 * stage);
			if (++stage == GRAM_STAGES)
				stage = 0, phase ^= 1;
		}
		if (n + AHEAD < count) {
			wait(empty + 8 * next, next_phase);
			flow.load(stages + next * STAGE_BYTES);
			arrive_copied(full + 8 * next);
			if (++next == GRAM_STAGES)
				next = 0, next_phase ^= 1;
		}
	}
	const i64 blocks = 4 * side * side, own = KIND == SMALL ? group : (2 * I + i) * 2 * side + 2 * J + j;
	float *out = partial + ((blockIdx.z * chunks + blockIdx.y) * blocks + own) * 4096 + 16 * warp + g;
#pragma unroll
	for (int n = 0; n < 8; n++)
#pragma unroll
		for (int e = 0; e < 4; e++)
			out[8 * (e / 2) + (8 * n + 2 * t + e % 2) * 64] = sum[4 * n + e];
}
#endif

// single_gram_small: grid (1, chunks of rows, problems), of which those with k > 64 are left to
// single_gram_diagonal: grid (side, chunks, problems), side = ⌈k/128⌉ of the largest k, and
// single_gram_other: grid (side·(side−1), chunks, problems). Block 512 threads, shared bytes
// GRAM_STAGES·STAGE_BYTES + 1024. partial has 4·side² blocks of 64×64 numbers for each chunk of each problem.
extern "C" __global__ void __launch_bounds__(GRAM_THREADS, 1)
single_gram_small(const SingleProblem *problems, float *partial, i64 side, i64 chunks)
{
#ifdef WGMMA
	gram<SMALL, true>(problems, partial, side, chunks);
#endif
}

extern "C" __global__ void __launch_bounds__(GRAM_THREADS, 1)
single_gram_diagonal(const SingleProblem *problems, float *partial, i64 side, i64 chunks)
{
#ifdef WGMMA
	gram<DIAGONAL, true>(problems, partial, side, chunks);
#endif
}

extern "C" __global__ void __launch_bounds__(GRAM_THREADS, 1)
single_gram_other(const SingleProblem *problems, float *partial, i64 side, i64 chunks)
{
#ifdef WGMMA
	gram<OTHER, true>(problems, partial, side, chunks);
#endif
}

extern "C" __global__ void __launch_bounds__(GRAM_THREADS, 1)
single_gram_fast(const SingleProblem *problems, float *partial, i64 side, i64 chunks)
{
#ifdef WGMMA
	gram<DIAGONAL, false>(problems, partial, side, chunks);
#endif
}

// single_gram_plain: the sum over a chunk for a block I ≤ J of 64×64 elements, without tensor cores. Grid
// (pairs I ≤ J, chunks, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_gram_plain(const SingleProblem *problems, float *partial, i64 side, i64 chunks)
{
	__shared__ float x[32][65], y[32][65];
	const SingleProblem &b = problems[blockIdx.z];
	int J = 0;
	while ((J + 1) * (J + 2) / 2 <= (int)blockIdx.x)
		J++;
	const int I = blockIdx.x - J * (J + 1) / 2, r = threadIdx.x % 16, c = threadIdx.x / 16;
	const i64 first = blockIdx.y * b.chunk, end = b.g.m < first + b.chunk ? b.g.m : first + b.chunk;
	if (first >= end || J * 64 >= b.k)
		return;
	float sum[4][4] = {};
	for (i64 row = first; row < end; row += 32) {
		__syncthreads();
		for (int e = threadIdx.x; e < 32 * 64; e += 256) {
			const i64 l = row + e % 32, i = I * 64 + e / 32, j = J * 64 + e / 32;
			x[e % 32][e / 32] = l < end && i < b.k ? column(b.g, i)[l] : 0;
			y[e % 32][e / 32] = l < end && j < b.k ? column(b.g, j)[l] : 0;
		}
		__syncthreads();
		float part[4][4] = {};
#pragma unroll 4
		for (int l = 0; l < 32; l++)
#pragma unroll
			for (int m = 0; m < 4; m++)
#pragma unroll
				for (int n = 0; n < 4; n++)
					part[m][n] = __fmaf_rn(x[l][r + 16 * m], y[l][c + 16 * n], part[m][n]);
#pragma unroll
		for (int m = 0; m < 4; m++)
#pragma unroll
			for (int n = 0; n < 4; n++)
				sum[m][n] += part[m][n];
	}
	float *out = partial + ((blockIdx.z * chunks + blockIdx.y) * 4 * side * side + I * 2 * side + J) * 4096;
#pragma unroll
	for (int m = 0; m < 4; m++)
#pragma unroll
		for (int n = 0; n < 4; n++)
			out[r + 16 * m + (c + 16 * n) * 64] = sum[m][n];
}

// single_gram_add adds the sums of the chunks, in order, makes R of them, and sets Factors to Norms. plain:
// they are those of single_gram_plain. Grid (pairs I ≤ J of 32×32 elements, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_gram_add(const SingleProblem *problems, const float *partial, i64 side, i64 chunks, i64 plain)
{
	__shared__ float mirror[32][33];
	const SingleProblem &b = problems[blockIdx.y];
	int J = 0;
	while ((J + 1) * (J + 2) / 2 <= (int)blockIdx.x)
		J++;
	const int I = blockIdx.x - J * (J + 1) / 2, x = threadIdx.x % 32, y = threadIdx.x / 32;
	if (blockIdx.x == 0)
		for (i64 j = threadIdx.x; j < b.k; j += 256)
			b.factors[j] = j < b.g.np ? b.norms_p[j] : b.norms_q[j - b.g.np];
	if (J * 32 >= b.k)
		return;
	const i64 blocks = 4 * side * side, n = (b.g.m + b.chunk - 1) / b.chunk;
	const bool small = !plain && b.k <= 64;
	const int parts = small ? 4 : 1;
	// sums returns the elements (x, y + 8e) of the 32×32 elements at (i, j).
	auto sums = [&](int i, int j, float (&h)[4]) {
		double s[4] = {};
		const int block = small ? 0 : i / 2 * 2 * (int)side + j / 2;
		const float *from = partial + (blockIdx.y * chunks * blocks + block) * 4096 + i % 2 * 32 + x +
				    (j % 2 * 32 + y) * 64;
		for (i64 c = 0; c < n; c++)
			for (int p = 0; p < parts; p++)
#pragma unroll
				for (int e = 0; e < 4; e++)
					s[e] += from[(c * blocks + p) * 4096 + 8 * e * 64];
#pragma unroll
		for (int e = 0; e < 4; e++)
			h[e] = (float)s[e];
	};
	float h[4], q[4];
	sums(I, J, h);
	if (!plain) {
		sums(J, I, q);
#pragma unroll
		for (int e = 0; e < 4; e++)
			mirror[y + 8 * e][x] = q[e];
		__syncthreads();
		const float factor = I / 2 == J / 2 ? 0.5f : 1;
#pragma unroll
		for (int e = 0; e < 4; e++)
			h[e] = (h[e] + mirror[x][y + 8 * e]) * factor;
		__syncthreads();
	}
	auto put = [&](i64 i, i64 j, float h) {
		if (i < b.k && j < b.k)
			b.r[i + j * b.ldr] = h;
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
