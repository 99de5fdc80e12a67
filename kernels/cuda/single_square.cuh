// The products of all columns of a factor of float32 with each other while it is swept. They are rotated from
// both sides, a round at a time (docs/decisions/056-float32-by-products.md).
#pragma once

#include "round.cuh"
#include "single_rotation.cuh"
#include "sweep.cuh"
#include "tf32.cuh"

// Where a row and a column with the same number begin, in bytes.
struct Place {
	int row, column;
};

// What a round does to the columns of a warp but for the identity, as ProductOf has it, split.
struct Weights {
	Split<4> left, right;

	__device__ Split<4> rows(int m) const
	{
		const int i = 2 * m;
		return {{left.high[i], right.high[i], left.high[i + 1], right.high[i + 1]},
			{left.low[i], right.low[i], left.low[i + 1], right.low[i + 1]}};
	}
	__device__ Split<2> columns(int m, int n) const
	{
		const Split<4> &x = n ? right : left;
		return {{x.high[2 * m], x.high[2 * m + 1]}, {x.low[2 * m], x.low[2 * m + 1]}};
	}
};

// A symmetric matrix of order SIZE at most in shared memory.
template <int SIZE> struct Square {
	static constexpr int WARPS = SIZE / 16;
	// Columns are LD elements apart; row and column SIZE are zero. Rows SIZE … LD−1 are.
	static constexpr int LD = SIZE + 4, WORDS = (SIZE + 1) * LD;

	// The columns of a round that a lane 4g+t has to do with: those of pair g and of pairs 2t, 2t+1 of
	// p-step 0.
	struct Places {
		Place left, right, lefts[2], rights[2];

		static __device__ Place place(int row) { return {row, row * LD}; }
		static __device__ Place of(u64 columns, int s) { return place(4 * number(columns, s)); }
	};

	static __device__ Places places(u64 lefts, u64 rights)
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
		return {Places::of(lefts, g),
			Places::of(rights, g),
			{Places::of(lefts, 2 * t), Places::of(lefts, 2 * t + 1)},
			{Places::of(rights, 2 * t), Places::of(rights, 2 * t + 1)}};
	}

	float *shared;

	__device__ float &at(int i, int j) const { return shared[i + j * LD]; }
	__device__ float &at(const Place &i, const Place &j) const
	{
		return *(float *)((char *)shared + (i.row + j.column));
	}

	// put puts an element; there is none in row or column SIZE.
	__device__ void put(const Place &i, const Place &j, float x) const
	{
		if (i.row < 4 * SIZE && j.row < 4 * SIZE)
			at(i, j) = x;
	}

	__device__ void put_both(const Place &i, const Place &j, float x) const
	{
		put(i, j, x);
		put(j, i, x);
	}

	__device__ void get(ProductsOf<float> &h, const Places &p) const
	{
#pragma unroll
		for (int e = 0; e < 2; e++) {
			h.ll[e] = at(p.left, p.lefts[e]);
			h.rl[e] = at(p.right, p.lefts[e]);
			h.lr[e] = at(p.left, p.rights[e]);
			h.rr[e] = at(p.right, p.rights[e]);
		}
		h.step = 0;
	}

	__device__ void put(const ProductsOf<float> &h, const Places &p) const
	{
#pragma unroll
		for (int e = 0; e < 2; e++) {
			put(p.left, p.lefts[e], h.ll[e]);
			put(p.right, p.lefts[e], h.rl[e]);
			put(p.left, p.rights[e], h.lr[e]);
			put(p.right, p.rights[e], h.rr[e]);
		}
	}

	// each calls f(I) for the warps I with whose columns this warp's products are this warp's business. Of two
	// warps one does it, so that each of the four parts of a multiprocessor has as many.
	template <class F> static __device__ void each(F f)
	{
		const int warp = threadIdx.x / 32;
#pragma unroll 1
		for (int d = 1; d <= WARPS / 2; d++)
			if (d < WARPS / 2 || warp < WARPS / 2)
				f((warp + d) % WARPS);
	}

	// turn multiplies the products of the columns i with the columns j by what is done to them, which is the
	// identity and own and other.
	__device__ void turn(const Weights &own, const Places &i, const Weights &other, const Places &j) const
	{
		Sum half[2], rest[2];
		float whole[2][4];
#pragma unroll
		for (int e = 0; e < 2; e++) {
			half[0].whole[e] = at(i.left, j.lefts[e]);
			half[0].whole[2 + e] = at(i.right, j.lefts[e]);
			half[1].whole[e] = at(i.left, j.rights[e]);
			half[1].whole[2 + e] = at(i.right, j.rights[e]);
		}
#pragma unroll
		for (int m = 0; m < 2; m++)
#pragma unroll
			for (int n = 0; n < 2; n++) {
				const Place &column = n ? j.right : j.left;
				const float x[2] = {at(column, m ? i.rights[0] : i.lefts[0]),
						    at(column, m ? i.rights[1] : i.lefts[1])};
				half[n].add(own.rows(m), split(x));
			}
#pragma unroll
		for (int n = 0; n < 2; n++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				whole[n][e] = half[n].get(e);
#pragma unroll
		for (int m = 0; m < 2; m++) {
			const Split<4> x = split({whole[m][0], whole[m][2], whole[m][1], whole[m][3]});
#pragma unroll
			for (int n = 0; n < 2; n++)
				rest[n].add(x, other.columns(m, n));
		}
		__syncwarp();
#pragma unroll
		for (int n = 0; n < 2; n++)
#pragma unroll
			for (int e = 0; e < 2; e++) {
				const Place &column = n ? j.rights[e] : j.lefts[e];
				put_both(i.left, column, whole[n][e] + rest[n].get(e));
				put_both(i.right, column, whole[n][2 + e] + rest[n].get(2 + e));
			}
	}

	// square replaces a matrix of SIZE rows by its columns' products with each other, times SCALE.
	__device__ void square() const
	{
		constexpr int COUNT = WARPS / 2 + 1;
		const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
		const float *const first = shared + g * LD + t;
		float sum[COUNT][2][4] = {};
#pragma unroll 2
		for (int row = 0; row < SIZE; row += 8) {
			const float *const own = first + 16 * warp * LD + row;
			const float x[4] = {own[0], own[8 * LD], own[4], own[8 * LD + 4]};
			const Split<4> a = split(x);
#pragma unroll
			for (int d = 0; d < COUNT; d++) {
				const float *const other = first + (warp + d) % WARPS * 16 * LD + row;
#pragma unroll
				for (int n = 0; n < 2; n++) {
					const float y[2] = {other[8 * n * LD], other[8 * n * LD + 4]};
					add_product(sum[d][n], a, split(y));
				}
			}
		}
		__syncthreads();
#pragma unroll
		for (int d = 0; d < COUNT; d++)
#pragma unroll
			for (int n = 0; n < 2; n++)
#pragma unroll
				for (int e = 0; e < 4; e++) {
					const int i = 16 * warp + g + 8 * (e / 2), j = (warp + d) % WARPS * 16 + 8 * n + 2 * t + e % 2;
					if (d == 0)
						at(i, j) = SCALE * sum[d][n][e];
					else if (d < WARPS / 2 || warp < WARPS / 2)
						at(i, j) = at(j, i) = SCALE * sum[d][n][e];
				}
	}
};

// The product of the rotations of a round on its way. On the diagonal the identity is taken out of columns
// that are near it, and the last bit says whether it is.
struct Image {
	ProductOf<float> product;

	// Image takes the errors of lengths out of the product, where they have the same sign in all columns.
	__device__ Image(const ProductOf<float> &p, float left_error, float right_error) : product(p)
	{
		const int g = threadIdx.x % 32 / 4;
#pragma unroll
		for (int i = 0; i < 4; i++) {
			if (p.row(i) == g)
				product.left[i] = marked(p.left[i], left_error);
			if (p.row(i) == g + 8)
				product.right[i] = marked(p.right[i], right_error);
		}
	}
	static __device__ float marked(float x, float error)
	{
		const bool near = x >= 0.5f;
		return __uint_as_float((__float_as_uint(near ? __fmaf_rn(-error, x, x - 1) : x) & ~1u) | near);
	}
	// whole is the part of the identity that was taken out.
	static __device__ float whole(float diagonal) { return __float_as_uint(diagonal) & 1 ? 1 : 0; }
};

// What a warp tells the others about its round.
template <int SIZE> struct News {
	int4 rows[2][32];
	float4 weights[4][32];
	int any;

	__device__ void put(const typename Square<SIZE>::Places &p, const Weights &w, bool turned)
	{
		const int lane = threadIdx.x % 32;
		rows[0][lane] = {p.left.row, p.right.row, p.lefts[0].row, p.lefts[1].row};
		rows[1][lane] = {p.rights[0].row, p.rights[1].row, 0, 0};
		put(0, w.left.high);
		put(1, w.left.low);
		put(2, w.right.high);
		put(3, w.right.low);
		if (lane == 0)
			any = turned;
	}
	__device__ void put(int i, const float (&x)[4]) { weights[i][threadIdx.x % 32] = {x[0], x[1], x[2], x[3]}; }

	__device__ typename Square<SIZE>::Places places() const
	{
		const int4 a = rows[0][threadIdx.x % 32], b = rows[1][threadIdx.x % 32];
		const auto place = Square<SIZE>::Places::place;
		return {place(a.x), place(a.y), {place(a.z), place(a.w)}, {place(b.x), place(b.y)}};
	}
	__device__ Weights all() const
	{
		const int lane = threadIdx.x % 32;
		const float4 a = weights[0][lane], b = weights[1][lane], c = weights[2][lane], d = weights[3][lane];
		return {{{a.x, a.y, a.z, a.w}, {b.x, b.y, b.z, b.w}}, {{c.x, c.y, c.z, c.w}, {d.x, d.y, d.z, d.w}}};
	}
};

// What a warp counts, in the owners of the pairs.
struct SingleCounts {
	int rotations, proper;
};

// A column of a pair while a round goes on: its norm, and by how much the rotations have made it longer,
// relatively, than they should: in four lanes, whose sum it is.
struct Carried {
	Norm norm;
	float error;

	__device__ void move(int by)
	{
		norm.mantissa = __shfl_xor_sync(0xffffffff, norm.mantissa, by);
		norm.key = __shfl_xor_sync(0xffffffff, norm.key, by);
		norm.least = __shfl_xor_sync(0xffffffff, norm.least, by);
		error = __shfl_xor_sync(0xffffffff, error, by);
	}
};

// sum_of_four returns the sum over the lanes 4g … 4g+3.
__device__ inline float sum_of_four(float x)
{
	x += __shfl_xor_sync(0xffffffff, x, 1);
	return x + __shfl_xor_sync(0xffffffff, x, 2);
}

// The rotations of a round of a warp: of the products h of its columns.
struct SingleRound {
	ProductsOf<float> h;
	ProductOf<float> product;
	Carried left, right;

	// run does the p-steps, unless nothing is to be rotated, and tells whether it did. mixes: where there is
	// room for two p-steps in shared memory.
	__device__ bool run(int steps, unsigned mixes, float tol, float cosine, SingleCounts &counts)
	{
		constexpr unsigned SIZE = sizeof(MixOf<float>), BYTES = 8 * SIZE;
		const int lane = threadIdx.x % 32, g = lane / 4, odd = g & 1;
		const bool own = lane == owner(g);
		product.reset();
		if (h.quiet(tol))
			return false;
#pragma unroll 2
		for (int t = 0; t < steps; t++) {
			const SingleRotation r = rotation_of(odd ? h.ll[1] : h.ll[0], odd ? h.rr[1] : h.rr[0],
							     odd ? h.lr[1] : h.lr[0], left.norm, right.norm, tol, cosine);
			const bool swap = own & r.swap;
			const unsigned now = mixes + t % 2 * BYTES;
			put_mix(now + SIZE * g, mix_of(swap ? -r.cos : r.cos, r.sin, -r.back), own);
			counts.rotations += own & r.rotate;
			counts.proper += own & r.proper;
			const float error = own ? r.error : 0;
			left.error += error;
			right.error += error;
			__syncwarp();
			const MixOf<float> mix = get_mix(now + SIZE * g);
			const MixOf<float> others[2] = {get_mix(now + SIZE * 2 * (lane % 4)),
							get_mix(now + SIZE * (2 * (lane % 4) + 1))};
			h.turn(mix, others);
			const unsigned swapped = __ballot_sync(0xffffffff, swap);
			const int next = t + 1 < steps ? t + 1 : 0;
			if (steps > 1) { // then t is odd or next is
				h.exchange();
				h.shuffle(t ^ next);
			}
			product.turn(mix);
			product.go_to(next);
			if (swapped) {
				const bool other = swapped >> owner(g) & 1;
				const Carried x = left, y = right;
				left = other ? y : x;
				right = other ? x : y;
			}
			right.move(4 * (t ^ next));
		}
		left.error = sum_of_four(left.error);
		right.error = sum_of_four(right.error);
		return true;
	}
};
