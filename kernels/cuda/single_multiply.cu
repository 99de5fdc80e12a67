// Postmultiplication of float32, [Nov15, Alg. 4.2]: [P Q] ← [P Q]·W in place, W = T or D⁻¹TD'. As in multiply.cu
// the identity is taken out of the columns of W that are near it. On tensor cores for k ≤ 128: a number is h + l,
// h and l of TF32, and three products of these count. A group of threads keeps 64 rows of [P Q] in registers, W
// is in shared memory. A sum over 32 columns is added to the others in float32. Each element is one sequence of
// operations over the columns.

#include "changed.cuh"
#include "wgmma.cuh"

// An image of W of order 64·SIDE for the tensor cores: all h, and all l, each for 32 rows of W after the other a
// line of 128 bytes for each column, with its pieces of 16 bytes as in `operand`. Of eight rows of W the even
// ones come first. Then for each column whether the identity has been taken out.
template <int SIDE> struct Image {
	static constexpr int ORDER = 64 * SIDE, ROWS32 = ORDER * 32, HALF = ORDER * ORDER; // in numbers
	static constexpr int WORDS = 2 * HALF + ORDER, BYTES = 4 * WORDS;

	static __device__ int place(int i, int j)
	{
		const int r = (i & 24) | (i & 1) << 2 | (i & 6) >> 1;
		return i / 32 * ROWS32 + j * 32 + ((r / 4 ^ j % 8) * 4 | r % 4);
	}
};

// element returns element (i,j) of W. A column that was zero has been left alone. One whose norm has fallen
// below the range has some norm.
__device__ inline float element(const SingleProblem &b, bool weighed, i64 i, i64 j)
{
	const float t = b.t[i + j * b.ldt];
	if (!weighed || t == 0)
		return t;
	const double before = i < b.g.np ? b.norms_p[i] : b.norms_q[i - b.g.np];
	const double own = j < b.g.np ? b.norms_p[j] : b.norms_q[j - b.g.np];
	const double rows = before == 0 ? 1 : 1 / before, columns = own == 0 ? 1 : fmax(b.factors[j], 0x1p-1022);
	return (float)(t * (rows * columns));
}

// prepare puts column j of W of a problem where put(i, w, near) says. A warp calls it.
template <class F>
__device__ inline void prepare(const SingleProblem &b, bool v, int order, int j, F put)
{
	const int lane = threadIdx.x % 32;
	bool zero = j < b.k && !v;
	for (i64 i = lane; zero && i - lane < b.k; i += 32)
		zero = __all_sync(0xffffffff, i >= b.k || b.r[i + j * b.ldr] == 0);
	const bool weighed = v && !b.scaled, near = j < b.k && !zero && element(b, weighed, j, j) >= 0.5f;
	for (int i = lane; i < order; i += 32) {
		float w = i < b.k && j < b.k && !zero ? element(b, weighed, i, j) : 0;
		if (i == j && near)
			w -= 1;
		put(i, w, near);
	}
}

template <int SIDE> __device__ inline void make_image(const SingleProblem *problems, float *images)
{
	using M = Image<SIDE>;
	const SingleProblem &b = problems[blockIdx.y];
	if (b.tally->changed == 0)
		return;
	float *const image = images + (i64)(2 * blockIdx.y + blockIdx.z) * M::WORDS;
	const int j = blockIdx.x * 8 + threadIdx.x / 32;
	prepare(b, blockIdx.z, M::ORDER, j, [&](int i, float w, bool near) {
		const float h = high(rounded(w)), l = rounded(w - h);
		image[M::place(i, j)] = h;
		image[M::HALF + M::place(i, j)] = l;
		if (i == j)
			image[2 * M::HALF + j] = near;
	});
}

// single_image_64, single_image_128 make the images of W. Grid (8 or 16, problems, 1 or 2: G and V), block 256
// threads.
extern "C" __global__ void __launch_bounds__(256)
single_image_64(const SingleProblem *problems, float *images)
{
	make_image<1>(problems, images);
}

extern "C" __global__ void __launch_bounds__(256)
single_image_128(const SingleProblem *problems, float *images)
{
	make_image<2>(problems, images);
}

// single_weights makes W itself, `order` columns of leading dimension order, and then a number for each column
// as in an image. Grid (⌈order/8⌉, problems, 1 or 2: G and V), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_weights(const SingleProblem *problems, float *weights, i64 order)
{
	const SingleProblem &b = problems[blockIdx.y];
	const int j = blockIdx.x * 8 + threadIdx.x / 32;
	if (b.tally->changed == 0 || j >= order)
		return;
	float *const w = weights + (2 * blockIdx.y + blockIdx.z) * order * (order + 1);
	prepare(b, blockIdx.z, (int)order, j, [&](int i, float x, bool near) {
		w[i + j * order] = x;
		if (i == j)
			w[order * order + j] = near;
	});
}

// replace_norms sets Norms to Factors in the problems that were changed.
__device__ inline void replace_norms(const SingleProblem &b)
{
	for (i64 j = threadIdx.x; j < b.k; j += blockDim.x)
		(j < b.g.np ? b.norms_p[j] : b.norms_q[j - b.g.np]) = b.factors[j];
}

constexpr int GROUPS = 2, MULTIPLY_THREADS = 128 * GROUPS;

#ifdef WGMMA
// load2 returns two numbers of a column that lie at a multiple of 8 bytes, 0 if they are not there. store2
// stores them.
__device__ inline float2 load2(const float *from, bool there)
{
	float2 x;
	asm volatile("{\n.reg .pred there;\nsetp.ne.b32 there, %3, 0;\nmov.f32 %0, 0f00000000;\nmov.f32 %1, 0f00000000;\n"
		     "@there ld.global.v2.f32 {%0, %1}, [%2];\n}" : "=f"(x.x), "=f"(x.y) : "l"(from), "r"((int)there));
	return x;
}

__device__ inline float load1(const float *from, bool there)
{
	float x;
	asm volatile("{\n.reg .pred there;\nsetp.ne.b32 there, %2, 0;\nmov.f32 %0, 0f00000000;\n"
		     "@there ld.global.f32 %0, [%1];\n}" : "=f"(x) : "l"(from), "r"((int)there));
	return x;
}

__device__ inline void store2(float *to, float2 x, bool there)
{
	asm volatile("{\n.reg .pred there;\nsetp.ne.b32 there, %3, 0;\n@there st.global.v2.f32 [%2], {%0, %1};\n}" ::"f"(x.x),
		     "f"(x.y), "l"(to), "r"((int)there) : "memory");
}

// What a thread has of a matrix [P Q]: two rows of columns 8s + 2t and 8s + 2t + 1.
template <int SIDE> struct Rows {
	static constexpr int STEPS = 8 * SIDE; // of eight columns
	char *p, *q; // where the thread's rows of the first tile are
	int ldp, ldq, np, k, m, own; // leading dimensions in bytes
	bool pairs;

	__device__ void set(const PivotOf<float> &x, i64 order)
	{
		ldp = (int)x.ldp * 4, ldq = (int)x.ldq * 4, np = (int)x.np, k = (int)order, m = (int)x.m;
		own = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 * 2;
		p = (char *)(x.p + own), q = (char *)(x.q + own - x.np * x.ldq);
		pairs = (((u64)x.p | (u64)x.q) & 7) == 0 && ((x.ldp | x.ldq) & 1) == 0;
	}
	__device__ int column(int s, int e) const { return 8 * s + threadIdx.x % 4 * 2 + e; }
	// at returns the address of the thread's rows of column j.
	__device__ float *at(int j) const { return (float *)((j < np ? p : q) + (i64)(j < np ? ldp : ldq) * j); }

	// start moves to other rows. The compiler shall not keep addresses, for which there are no registers.
	__device__ void start(int row)
	{
		p += 4 * row, q += 4 * row;
		asm volatile("" : "+l"(p), "+l"(q), "+r"(ldp), "+r"(ldq));
	}
	// whole tells whether 64 rows from a row on are there, in pairs.
	__device__ bool whole(int row) const { return pairs && row + 64 <= m; }

	__device__ void load(float2 (&x)[STEPS][2], int row) const
	{
		Rows r = *this;
		r.start(row);
		if (whole(row)) {
#pragma unroll
			for (int s = 0; s < STEPS; s++)
#pragma unroll
				for (int e = 0; e < 2; e++)
					x[s][e] = load2(r.at(column(s, e)), column(s, e) < k);
			return;
		}
		const int n = m - own - row;
#pragma unroll
		for (int s = 0; s < STEPS; s++)
#pragma unroll
			for (int e = 0; e < 2; e++) {
				const int j = column(s, e);
				x[s][e].x = load1(r.at(j), j < k && n > 0);
				x[s][e].y = load1(r.at(j) + 1, j < k && n > 1);
			}
	}

	// store stores the columns from 64·half on, which value(s, e) returns.
	template <class F> __device__ void store(int half, int row, F value) const
	{
		Rows r = *this;
		r.start(row);
		if (whole(row)) {
#pragma unroll
			for (int s = 0; s < 8; s++)
#pragma unroll
				for (int e = 0; e < 2; e++)
					store2(r.at(column(8 * half + s, e)), value(s, e), column(8 * half + s, e) < k);
			return;
		}
		const int n = m - own - row;
#pragma unroll
		for (int s = 0; s < 8; s++)
#pragma unroll
			for (int e = 0; e < 2; e++) {
				const int j = column(8 * half + s, e);
				const float2 y = value(s, e);
				if (j < k && n > 0)
					r.at(j)[0] = y.x;
				if (j < k && n > 1)
					r.at(j)[1] = y.y;
			}
	}
};

// multiply_rows multiplies 64 rows, of which this thread has x.
template <int SIDE, bool LOW>
__device__ inline void multiply_rows(const Rows<SIDE> &rows, const float2 (&x)[8 * SIDE][2], int row,
				     unsigned image, const float *near)
{
	using M = Image<SIDE>;
#pragma unroll
	for (int half = 0; half < SIDE; half++) {
		float sum[32], part[32];
#pragma unroll
		for (int l = 0; l < 2 * SIDE; l++) { // 32 columns
			float low[4][4];
			if (LOW)
#pragma unroll
				for (int s = 0; s < 4; s++)
#pragma unroll
					for (int e = 0; e < 2; e++) {
						low[s][2 * e] = rest(x[4 * l + s][e].x, 1);
						low[s][2 * e + 1] = rest(x[4 * l + s][e].y, 1);
					}
			begin_products();
#pragma unroll
			for (int s = 0; s < 4; s++) {
				const float2 a = x[4 * l + s][0], b = x[4 * l + s][1];
				const float whole[4] = {a.x, a.y, b.x, b.y};
				const u64 at = operand(image + 4 * (l * M::ROWS32 + half * 64 * 32) + 32 * s);
				if (LOW) {
					add_product64(part, low[s], at, s);
					add_product64(part, whole, at + (4 * M::HALF >> 4), 1);
				}
				add_product64(part, whole, at, LOW | s);
			}
			wait_products(part);
#pragma unroll
			for (int i = 0; i < 32; i++)
				sum[i] = l == 0 ? part[i] : sum[i] + part[i];
		}
		rows.store(half, row, [&](int s, int e) {
			const float self = near[rows.column(8 * half + s, e)];
			const float2 old = x[8 * half + s][e];
			return float2{__fmaf_rn(old.x, self, sum[4 * s + e]), __fmaf_rn(old.y, self, sum[4 * s + 2 + e])};
		});
	}
}

template <int SIDE, bool LOW>
__device__ inline void multiply(const SingleProblem *problems, i64 count, const float *images, i64 g_tiles,
				i64 v_tiles)
{
	using M = Image<SIDE>;
	extern __shared__ __align__(1024) unsigned char memory[];
	__shared__ unsigned short list[LISTED];
	__shared__ u64 barrier;
	const unsigned base = (unsigned)__cvta_generic_to_shared(memory), image = (base + 1023) & ~1023u;
	const unsigned full = (unsigned)__cvta_generic_to_shared(&barrier);
	const float *const near = (const float *)(memory + (image - base)) + 2 * M::HALF;
	if (threadIdx.x == 0)
		set_barrier(full, 1);
	const int each = (int)(g_tiles + v_tiles), listed = list_changed<MULTIPLY_THREADS>(problems, (int)count, list);
	for (int i = blockIdx.x; i < listed; i += gridDim.x)
		replace_norms(problems[list[i]]);
	const i64 all = (i64)listed * each, end = all * (blockIdx.x + 1) / gridDim.x;
	int phase = 0;
#pragma unroll 1
	for (i64 tile = all * blockIdx.x / gridDim.x; tile < end;) {
		const int problem = list[tile / each], first = (int)(tile % each);
		const bool v = first >= g_tiles;
		const int last = (int)min((i64)(v ? each : g_tiles), first + end - tile), origin = v ? (int)g_tiles : 0;
		tile += last - first;
		const SingleProblem &b = problems[problem];
		__syncthreads(); // all are done with the image before
		if (threadIdx.x == 0)
			copy_block(image, images + (i64)(2 * problem + v) * M::WORDS, M::BYTES, full);
		Rows<SIDE> rows;
		rows.set(v ? b.v : b.g, b.k);
		int row = (first - origin + threadIdx.x / 128) * 64;
		const int stop = min((last - origin) * 64, rows.m);
		float2 x[8 * SIDE][2], next[8 * SIDE][2];
		if (row < stop)
			rows.load(x, row);
		wait(full, phase);
		phase ^= 1;
#pragma unroll 1
		for (; row < stop; row += 64 * GROUPS) {
			if (row + 64 * GROUPS < stop)
				rows.load(next, row + 64 * GROUPS);
			multiply_rows<SIDE, LOW>(rows, x, row, image, near);
#pragma unroll
			for (int s = 0; s < 8 * SIDE; s++)
#pragma unroll
				for (int e = 0; e < 2; e++)
					x[s][e] = next[s][e];
		}
	}
}
#endif

// single_multiply_64, single_multiply_128: grid (any number of blocks), block 256 threads, at most LISTED
// problems. G and V have at most so many tiles of 64 rows. Shared bytes: those of an image and 1024.
extern "C" __global__ void __launch_bounds__(MULTIPLY_THREADS, 1)
single_multiply_64(const SingleProblem *problems, i64 count, const float *images, i64 g_tiles, i64 v_tiles)
{
#ifdef WGMMA
	multiply<1, true>(problems, count, images, g_tiles, v_tiles);
#endif
}

extern "C" __global__ void __launch_bounds__(MULTIPLY_THREADS, 1)
single_multiply_128(const SingleProblem *problems, i64 count, const float *images, i64 g_tiles, i64 v_tiles)
{
#ifdef WGMMA
	multiply<2, true>(problems, count, images, g_tiles, v_tiles);
#endif
}

extern "C" __global__ void __launch_bounds__(MULTIPLY_THREADS, 1)
single_multiply_fast(const SingleProblem *problems, i64 count, const float *images, i64 g_tiles, i64 v_tiles)
{
#ifdef WGMMA
	multiply<2, false>(problems, count, images, g_tiles, v_tiles);
#endif
}

// single_copy copies rows first … first+count−1 of G, or of V if v ≠ 0, to work: matrices of count rows and
// `order` columns apart for each problem. Grid (columns, problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_copy(const SingleProblem *problems, i64 order, i64 v, i64 first, i64 count, float *work)
{
	const SingleProblem &b = problems[blockIdx.y];
	const PivotOf<float> &x = v ? b.v : b.g;
	if (b.tally->changed == 0 || blockIdx.x >= b.k)
		return;
	const float *const from = column(x, blockIdx.x) + first;
	float *const to = work + (blockIdx.y * order + blockIdx.x) * count;
	for (i64 i = threadIdx.x; i < count && first + i < x.m; i += 256)
		to[i] = from[i];
}

// single_product multiplies those rows by W, without tensor cores. Grid (tiles of 64 rows, problems, ⌈order/64⌉),
// block 256 threads. With the first rows of G norms are replaced.
extern "C" __global__ void __launch_bounds__(256)
single_product(const SingleProblem *problems, i64 order, i64 v, i64 first, i64 count, const float *work,
	       const float *weights)
{
	__shared__ float x[16][65], y[16][65];
	const SingleProblem &b = problems[blockIdx.y];
	const PivotOf<float> &out = v ? b.v : b.g;
	const i64 row = blockIdx.x * 64, j0 = blockIdx.z * 64;
	if (b.tally->changed == 0)
		return;
	if (!v && first == 0 && blockIdx.x == 0 && blockIdx.z == 0)
		replace_norms(b);
	if (first + row >= out.m || j0 >= b.k)
		return;
	const float *const copy = work + blockIdx.y * order * count;
	const float *const w = weights + (2 * blockIdx.y + v) * order * (order + 1);
	const int r = threadIdx.x % 16, c = threadIdx.x / 16;
	float sum[4][4] = {};
	for (i64 l = 0; l < b.k; l += 16) {
		__syncthreads();
		for (int e = threadIdx.x; e < 16 * 64; e += 256) {
			const i64 i = row + e % 64, ix = l + e / 64, iy = l + e % 16, j = j0 + e / 16;
			x[e / 64][e % 64] = i < count && first + i < out.m && ix < b.k ? copy[i + ix * count] : 0;
			y[e % 16][e / 16] = iy < b.k && j < b.k ? w[iy + j * order] : 0;
		}
		__syncthreads();
#pragma unroll 4
		for (int s = 0; s < 16; s++)
#pragma unroll
			for (int m = 0; m < 4; m++)
#pragma unroll
				for (int n = 0; n < 4; n++)
					sum[m][n] = __fmaf_rn(x[s][r + 16 * m], y[s][c + 16 * n], sum[m][n]);
	}
#pragma unroll
	for (int n = 0; n < 4; n++) {
		const i64 j = j0 + c + 16 * n;
#pragma unroll
		for (int m = 0; m < 4; m++) {
			const i64 i = row + r + 16 * m;
			if (j < b.k && i < count && first + i < out.m)
				column(out, j)[first + i] = sum[m][n] + (w[order * order + j] != 0 ? copy[i + j * count] : 0);
		}
	}
}
