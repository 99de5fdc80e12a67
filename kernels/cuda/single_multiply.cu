// Postmultiplication of float32 on tensor cores, [Nov15, Alg. 4.2]: [P Q] ← [P Q]·W in place. A number is
// h + l, h and l of TF32, and three products of these count. A group of threads keeps 64 rows of [P Q] in
// registers, W is in shared memory. A sum over 32 columns is added to the others in float32. Each element is
// one sequence of operations over the columns.

#include "changed.cuh"
#include "single_weights.cuh"
#include "wgmma.cuh"

// An image of W of order 64·SIDE for the tensor cores: all h, then all l. Of 32 rows of W each column is a
// line of 128 bytes, with its pieces of 16 bytes as in `operand`. Of eight rows of W the even ones come
// first. Then for each column whether the identity has been taken out.
template <int SIDE> struct Image {
	static constexpr int ORDER = 64 * SIDE, ROWS32 = ORDER * 32, HALF = ORDER * ORDER; // in numbers
	static constexpr int WORDS = 2 * HALF + ORDER, BYTES = 4 * WORDS;

	static __device__ int place(int i, int j)
	{
		const int r = (i & 24) | (i & 1) << 2 | (i & 6) >> 1;
		return i / 32 * ROWS32 + j * 32 + ((r / 4 ^ j % 8) * 4 | r % 4);
	}
};

// make_image makes the image of the block of W with rows from i0 on and columns from j0 on.
template <int SIDE>
__device__ inline void make_image(const SingleProblem &b, bool v, int i0, int j0, float *image)
{
	using M = Image<SIDE>;
	const int own = blockIdx.x * 8 % M::ORDER + threadIdx.x / 32;
	if (b.tally->changed == 0)
		return;
	prepare(b, v, i0, i0 + M::ORDER, j0 + own, [&](int i, float w, bool near) {
		const float h = high(rounded(w)), l = rounded(w - h);
		const int place = M::place(i - i0, own);
		image[place] = h;
		image[M::HALF + place] = l;
		if (i - i0 == own)
			image[2 * M::HALF + own] = near && i0 == j0;
	});
}

// single_image_64, single_image_128 make the images of W. Grid (8 or 16, problems, 1 or 2: G and
// V), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_image_64(const SingleProblem *problems, float *images)
{
	in_turn();
	images += (i64)(2 * blockIdx.y + blockIdx.z) * Image<1>::WORDS;
	make_image<1>(problems[blockIdx.y], blockIdx.z, 0, 0, images);
}

extern "C" __global__ void __launch_bounds__(256)
single_image_128(const SingleProblem *problems, float *images)
{
	in_turn();
	images += (i64)(2 * blockIdx.y + blockIdx.z) * Image<2>::WORDS;
	make_image<2>(problems[blockIdx.y], blockIdx.z, 0, 0, images);
}

// single_image_blocks makes the images of block-column j of W, of blocks of 128×128. Grid (16·side,
// problems), block 256 threads.
extern "C" __global__ void __launch_bounds__(256)
single_image_blocks(const SingleProblem *problems, float *images, i64 side, i64 v, i64 j)
{
	const i64 i = blockIdx.x / 16;
	make_image<2>(problems[blockIdx.y], v, (int)i * 128, (int)j * 128,
		      images + (blockIdx.y * side + i) * Image<2>::WORDS);
}

constexpr int GROUPS = 2, MULTIPLY_THREADS = 128 * GROUPS;

#ifdef WGMMA
// load1 returns a number, 0 if it is not there.
__device__ inline float load1(const float *from, bool there)
{
	float x;
	asm volatile("{\n.reg .pred there;\nsetp.ne.b32 there, %2, 0;\nmov.f32 %0, 0f00000000;\n"
		     "@there ld.global.f32 %0, [%1];\n}"
		     : "=f"(x)
		     : "l"(from), "r"((int)there)
		     : "memory");
	return x;
}

// What a thread has of a matrix [P Q]. Rows come through shared memory: each warp has a place there for 16
// rows of all columns. A thread then has two rows, 2g and 2g+1, of columns 8s+2t and 8s+2t+1, lane 4g+t.
template <int SIDE> struct Rows {
	static constexpr int STEPS = 8 * SIDE;	    // of eight columns
	static constexpr int PLACE = 512 * STEPS; // bytes for a warp
	char *p, *q;
	int ldp, ldq, np, k, m; // leading dimensions in bytes
	bool aligned;		// columns begin at multiples of 16 bytes

	// set: the matrix has columns first … order−1 of x.
	__device__ void set(const PivotOf<float> &x, i64 order, i64 first)
	{
		ldp = (int)x.ldp * 4, ldq = (int)x.ldq * 4, m = (int)x.m;
		np = (int)(x.np - first), k = (int)(order - first);
		p = (char *)(x.p + first * x.ldp), q = (char *)(x.q + (first - x.np) * x.ldq);
		aligned = (((u64)x.p | (u64)x.q) & 15) == 0 && ((x.ldp | x.ldq) & 3) == 0;
	}
	// from returns what is left from a row and a column on. The compiler shall not keep addresses, for which
	// there are no registers.
	__device__ Rows from(int row, int column) const
	{
		Rows r = *this;
		r.p += 4 * row + (i64)column * ldp, r.q += 4 * row + (i64)column * ldq;
		r.m -= row, r.np -= column, r.k -= column;
		asm volatile("" : "+l"(r.p), "+l"(r.q), "+r"(r.ldp), "+r"(r.ldq));
		return r;
	}
	// at returns the address of column 8s, there() how many rows there are in it.
	__device__ float *at(int s) const
	{
		return (float *)((8 * s < np ? p : q) + 8 * s * (i64)(8 * s < np ? ldp : ldq));
	}
	__device__ int there(int s) const { return 8 * s < k ? m : 0; }

	// load starts to copy 16 rows.
	template <bool ALIGNED> __device__ void load(unsigned place, int row) const
	{
		const int c = threadIdx.x % 32 / 4, piece = threadIdx.x % 4;
		const Rows r = from(row + 4 * piece, c);
		place += (c % 2 * 4 + c / 2) * 64 + ((piece ^ c / 4 * 2) << 4);
#pragma unroll
		for (int s = 0; s < STEPS; s++)
			copy4<ALIGNED>(place + 512 * s, r.there(s) > 0 ? r.at(s) : (float *)p, r.there(s));
	}
	__device__ void load(unsigned place, int row) const
	{
		if (aligned)
			load<true>(place, row);
		else
			load<false>(place, row);
		asm volatile("cp.async.commit_group;" ::: "memory");
	}

	// fetch waits for the rows and fetches them.
	__device__ void fetch(float2 (&x)[STEPS][2], unsigned place) const
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
		asm volatile("cp.async.wait_group 0;" ::: "memory");
		__syncwarp();
		place += t * 64 + ((g / 2 ^ t / 2 * 2) << 4) + g % 2 * 8;
#pragma unroll
		for (int s = 0; s < STEPS; s++)
#pragma unroll
			for (int e = 0; e < 2; e++)
				asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x[s][e].x), "=f"(x[s][e].y)
					     : "r"(place + 512 * s + 256 * e) : "memory");
		__syncwarp();
	}

	// read reads rows where they are to be stored.
	__device__ void read(float2 (&x)[STEPS][2], int row) const
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
		for (int e = 0; e < 2; e++) {
			const Rows r = from(row + 2 * g, 2 * t + e);
#pragma unroll
			for (int s = 0; s < STEPS; s++) {
				x[s][e].x = load1(r.at(s), r.there(s) > 0);
				x[s][e].y = load1(r.at(s) + 1, r.there(s) > 1);
			}
		}
	}

	// store stores the rows. value(s, e) returns those of a column.
	template <class F> __device__ void store(int row, F value) const
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
		const bool whole = aligned && row + 16 <= m;
#pragma unroll
		for (int e = 0; e < 2; e++) {
			const Rows r = from(row + 2 * g, 2 * t + e);
			if (whole) {
#pragma unroll
				for (int s = 0; s < STEPS; s++) {
					const float2 y = value(s, e);
					asm volatile("{\n.reg .pred there;\nsetp.gt.s32 there, %3, %4;\n"
						     "@there st.global.v2.f32 [%2], {%0, %1};\n}" ::"f"(y.x), "f"(y.y), "l"(r.at(s)),
						     "r"(r.k), "r"(8 * s) : "memory");
				}
				continue;
			}
#pragma unroll
			for (int s = 0; s < STEPS; s++) {
				const float2 y = value(s, e);
				if (r.there(s) > 0)
					r.at(s)[0] = y.x;
				if (r.there(s) > 1)
					r.at(s)[1] = y.y;
			}
		}
	}
};

// multiply_rows makes sum the product of the rows x and W.
template <int SIDE>
__device__ inline void multiply_rows(const float2 (&x)[8 * SIDE][2], unsigned image, float (&sum)[SIDE][32])
{
	using M = Image<SIDE>;
	float part[SIDE][32];
#pragma unroll
	for (int l = 0; l < 2 * SIDE; l++) { // 32 columns
		float whole[4][4], low[4][4];
#pragma unroll
		for (int s = 0; s < 4; s++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const float2 y = x[4 * l + s][e / 2];
				whole[s][e] = e % 2 ? y.y : y.x;
				low[s][e] = rest(whole[s][e], 1);
			}
		const unsigned highs = image + 4 * l * M::ROWS32, lows = highs + 4 * M::HALF;
		begin_products();
#pragma unroll
		for (int s = 0; s < 4; s++)
			add_product(part, low[s], operand(highs + 32 * s), s);
#pragma unroll
		for (int s = 0; s < 4; s++)
			add_product(part, whole[s], operand(lows + 32 * s), 1);
#pragma unroll
		for (int s = 0; s < 4; s++)
			add_product(part, whole[s], operand(highs + 32 * s), 1);
		end_products();
		wait_products(part);
#pragma unroll
		for (int i = 0; i < 32 * SIDE; i++) {
			float &to = sum[i / 32][i % 32];
			to = l == 0 ? part[i / 32][i % 32] : to + part[i / 32][i % 32];
		}
	}
}

// What a block of threads has for products with W.
template <int SIDE> struct Multiplier {
	using M = Image<SIDE>;
	unsigned image, full, place;
	const float *near; // from the thread's first column on
	int phase;

	__device__ Multiplier(unsigned char *memory, u64 *barrier)
	{
		const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
		image = (base + 1023) & ~1023u;
		full = (unsigned)__cvta_generic_to_shared(barrier);
		place = image + M::BYTES + threadIdx.x / 32 * Rows<SIDE>::PLACE;
		near = (const float *)(memory + (image - base)) + 2 * M::HALF + threadIdx.x % 4 * 2;
		phase = 0;
		if (threadIdx.x == 0)
			set_barrier(full, 1);
	}

	// run multiplies rows first … end−1 of `from`, first being a multiple of 64, and puts them into rows first +
	// shift … of `to`, or adds them. All threads call it, and have met since the barrier was set.
	__device__ void run(const float *source, const Rows<SIDE> &from, const Rows<SIDE> &to, int first, int end,
			    int shift, bool add)
	{
		const int own = threadIdx.x / 32 % 4 * 16;
		int row = first + threadIdx.x / 128 * 64; // of the group
		if (row < end)
			from.load(place, row + own);
		__syncthreads(); // all are done with the image before
		if (threadIdx.x == 0)
			copy_block(image, source, M::BYTES, full);
		wait(full, phase);
		phase ^= 1;
#pragma unroll 1
		for (; row < end; row += 64 * GROUPS) {
			float2 x[8 * SIDE][2];
			float sum[SIDE][32];
			from.fetch(x, place);
			if (row + 64 * GROUPS < end)
				from.load(place, row + 64 * GROUPS + own);
			multiply_rows<SIDE>(x, image, sum);
			if (add)
				to.read(x, row + shift + own);
			to.store(row + shift + own, [&](int s, int e) {
				const float self = add ? 1 : near[8 * s + e];
				return float2{__fmaf_rn(x[s][e].x, self, sum[s / 8][s % 8 * 4 + e]),
					      __fmaf_rn(x[s][e].y, self, sum[s / 8][s % 8 * 4 + 2 + e])};
			});
		}
	}
};

template <int SIDE>
__device__ inline void multiply(const SingleProblem *problems, i64 count, const float *images, i64 g_tiles,
				i64 v_tiles)
{
	extern __shared__ __align__(1024) unsigned char memory[];
	__shared__ unsigned short list[LISTED];
	__shared__ u64 barrier;
	Multiplier<SIDE> multiplier(memory, &barrier);
	const int each = (int)(g_tiles + v_tiles);
	const int listed = list_changed<MULTIPLY_THREADS>(problems, (int)count, list);
	for (int i = blockIdx.x; i < listed; i += gridDim.x)
		replace_norms(problems[list[i]]);
	const i64 all = (i64)listed * each, end = all * (blockIdx.x + 1) / gridDim.x;
#pragma unroll 1
	for (i64 tile = all * blockIdx.x / gridDim.x; tile < end;) {
		const int problem = list[tile / each], first = (int)(tile % each);
		const bool v = first >= g_tiles;
		const int last = (int)min((i64)(v ? each : g_tiles), first + end - tile);
		const int origin = v ? (int)g_tiles : 0;
		tile += last - first;
		const SingleProblem &b = problems[problem];
		Rows<SIDE> rows;
		rows.set(v ? b.v : b.g, b.k, 0);
		multiplier.run(images + (i64)(2 * problem + v) * Image<SIDE>::WORDS, rows, rows, (first - origin) * 64,
			       min((last - origin) * 64, rows.m), 0, false);
	}
}
#endif

// single_multiply_64, single_multiply_128: grid (any number of blocks), block 256 threads, at most LISTED
// problems. G and V have at most so many tiles of 64 rows. Shared bytes: those of an image, 512 for
// each column, and 1024.
extern "C" __global__ void __launch_bounds__(MULTIPLY_THREADS, 1)
single_multiply_64(const SingleProblem *problems, i64 count, const float *images, i64 g_tiles, i64 v_tiles)
{
	in_turn();
#ifdef WGMMA
	multiply<1>(problems, count, images, g_tiles, v_tiles);
#endif
}

extern "C" __global__ void __launch_bounds__(MULTIPLY_THREADS, 1)
single_multiply_128(const SingleProblem *problems, i64 count, const float *images, i64 g_tiles, i64 v_tiles)
{
	in_turn();
#ifdef WGMMA
	multiply<2>(problems, count, images, g_tiles, v_tiles);
#endif
}

// single_multiply_block multiplies block i of 128 columns of copies (single_copy) by block (i,j) of W. It
// puts the product into rows first … first+rows−1 of block j of G, or V if v ≠ 0, or adds it if i ≠ j. Block
// i = j goes first. Grid, block and shared bytes as for single_multiply_128.
extern "C" __global__ void __launch_bounds__(MULTIPLY_THREADS, 1)
single_multiply_block(const SingleProblem *problems, i64 count, const float *images, const float *work,
		      i64 order, i64 v, i64 first, i64 rows, i64 i, i64 j)
{
#ifdef WGMMA
	extern __shared__ __align__(1024) unsigned char own_memory[];
	__shared__ unsigned short list[LISTED];
	__shared__ u64 barrier;
	Multiplier<2> multiplier(own_memory, &barrier);
	const int listed = list_changed<MULTIPLY_THREADS>(problems, (int)count, list);
	const i64 each = rows / 64, all = listed * each, end = all * (blockIdx.x + 1) / gridDim.x;
	const i64 side = (order + 127) / 128;
#pragma unroll 1
	for (i64 tile = all * blockIdx.x / gridDim.x; tile < end;) {
		const i64 problem = list[tile / each], begin = tile % each, last = min(each, begin + end - tile);
		tile += last - begin;
		const SingleProblem &b = problems[problem];
		const PivotOf<float> &out = v ? b.v : b.g;
		if (out.m <= first || 128 * i >= b.k || 128 * j >= b.k)
			continue;
		float *const copy = const_cast<float *>(work) + problem * order * rows;
		Rows<2> from, to;
		from.set({copy, copy, min(rows, out.m - first), b.k, rows, rows}, b.k, 128 * i);
		to.set(out, b.k, 128 * j);
		multiplier.run(images + (problem * side + i) * Image<2>::WORDS, from, to,
			       (int)begin * 64, min((int)last * 64, from.m), (int)first, i != j);
	}
#endif
}
