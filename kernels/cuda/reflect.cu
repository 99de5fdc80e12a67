// Reflectors on a list of panels, C ← C − Y·op(T)·(YᵀC), in three launches: the products YᵀC, summed over
// pieces of the rows; those sums added, and multiplied by T; and what is subtracted from C. What becomes of a
// panel depends on its shape alone, not on the others.

#include "product.cuh"
#include "rows.cuh"

constexpr int SIDE = 64; // of a tile of YᵀC

// Reflection are the arguments of the kernels. The host has the same struct (reflect.go).
struct Reflection {
	double *y, *t; // t: 0 for I
	i64 m, k, ldy, ldt, transposed;
	const Member *list; // 0: there is one panel
	Member one;
	i64 piece; // rows that are summed by themselves
	i64 pieces, across; // of the rows; tiles of the columns of the widest panel
	double *partial;    // SIDE² numbers for each tile, a tile for each piece
	double *w;	    // −op(T)·(YᵀC), of all panels one after the other
	i64 ldw, turned; // turned: columns that a block of reflect_turn does

	__device__ Member panel(i64 i) const { return list ? list[i] : one; }

	// tile returns where the tile at block-row I and block-column J of a panel's product is.
	__device__ double *tile(i64 panel, i64 I, i64 J) const
	{
		return partial + ((panel * across + J) * ((k + SIDE - 1) / SIDE) + I) * pieces * (SIDE * SIDE);
	}
};

// sums forms a tile of YᵀC, of WIDTH×WIDTH elements, over a piece of the rows.
template <int WIDTH, int MANY> __device__ inline void sums(const Reflection &r)
{
	constexpr int THREADS = WIDTH * WIDTH / 32 / MANY;
	const Member c = r.panel(blockIdx.z);
	const int pieces = (int)r.pieces, piece = blockIdx.y % pieces;
	const int i0 = blockIdx.y / pieces * WIDTH, j0 = blockIdx.x * WIDTH; // of the tile
	const i64 first = piece * r.piece;
	if (j0 >= c.n)
		return;
	const int left = min((int)r.k - i0, WIDTH), right = min((int)c.n - j0, WIDTH);
	__shared__ const double *address[2 * WIDTH];
	for (int i = threadIdx.x; i < WIDTH; i += THREADS) {
		address[i] = i < left ? r.y + first + (i0 + i) * r.ldy : 0;
		address[WIDTH + i] = i < right ? c.p + first + (j0 + i) * c.ld : 0;
	}
	__syncthreads();
	const Sums s = {address, r.y, left, right, (int)min(r.m - first, r.piece)};
	double *const out = r.tile(blockIdx.z, i0 / SIDE, j0 / SIDE) + piece * (SIDE * SIDE);
	const i64 below = pieces * (SIDE * SIDE), beside = ((int)r.k + SIDE - 1) / SIDE * below; // tiles
	auto put = [=](int i, int j, double x) {
		out[i / SIDE * below + j / SIDE * beside + i % SIDE + j % SIDE * SIDE] = x;
	};
	sum_tile<WIDTH, MANY, false, true>(s, even(r.y, r.ldy) && even(c.p, c.ld), put, Nothing());
}

// reflect_sums and reflect_sums_wide form the tiles of YᵀC over pieces of the rows; the latter takes larger
// ones, for which less is read. An element is the same sequence of operations in both. Grid (tiles of the
// columns of the widest panel; tiles of the reflectors times pieces; panels), block 128 or 256 threads.
// Shared bytes: 16·STAGES·SIDE·LD_CHUNK, and twice as many.
extern "C" __global__ void __launch_bounds__(128) reflect_sums(Reflection r)
{
	in_turn();
	sums<SIDE, 1>(r);
}

extern "C" __global__ void __launch_bounds__(256, 1) reflect_sums_wide(Reflection r)
{
	in_turn();
	sums<2 * SIDE, 2>(r);
}

// reflect_turn adds the sums over the pieces, and multiplies them by −op(T). Grid (⌈columns of the widest
// panel/turned⌉, panels), block 256 threads. Shared bytes: 8·k·turned and, unless T is I, 8·k·(k|1).
extern "C" __global__ void __launch_bounds__(256) reflect_turn(Reflection r)
{
	in_turn();
	extern __shared__ __align__(16) double shared[];
	const Member c = r.panel(blockIdx.y);
	const i64 first = (i64)blockIdx.x * r.turned;
	const int k = (int)r.k, count = k * (int)min(c.n - first, r.turned), ld = k | 1;
	double *const t = shared + k * r.turned;
	for (int e = threadIdx.x; r.t && e < k * k; e += 256)
		t[e % k + e / k * ld] = r.t[e % k + e / k * r.ldt];
	for (int e = threadIdx.x; e < count; e += 256) {
		const i64 i = e % k, j = first + e / k;
		const double *x = r.tile(blockIdx.y, i / SIDE, j / SIDE) + i % SIDE + j % SIDE * SIDE;
		double sum[8] = {}; // terms of one sign are rounded less where they are added in parts
#pragma unroll 2
		for (i64 p = 0; p < r.pieces; p += 8)
#pragma unroll
			for (int q = 0; q < 8; q++)
				if (p + q < r.pieces)
					sum[q] += x[(p + q) * (SIDE * SIDE)];
		shared[e] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
	}
	__syncthreads();
	for (int e = threadIdx.x; e < count; e += 256) {
		const int i = e % k, j = e / k;
		double sum = r.t ? 0 : shared[e];
		if (r.t)
#pragma unroll 8
			for (int l = r.transposed ? 0 : i; l < (r.transposed ? i + 1 : k); l++)
				sum = __fma_rn(t[r.transposed ? l + i * ld : i + l * ld], shared[l + j * k], sum);
		r.w[i + (c.first + first + j) * r.ldw] = -sum;
	}
}

// reflect_add adds the product of Y with that to C. Grid (pieces of ROWS rows; pieces of 128 columns;
// panels), block 256 threads. Shared bytes as multiply_128.
extern "C" __global__ void __launch_bounds__(256, 2) reflect_add(Reflection r)
{
	in_turn();
	const Member c = r.panel(blockIdx.z);
	const i64 row = (i64)blockIdx.x * ROWS;
	const int j0 = blockIdx.y * 128;
	if (j0 >= c.n)
		return;
	const Pivot y = {r.y, r.y, r.m, r.k, r.ldy, r.ldy}, out = {c.p, c.p, r.m, c.n, c.ld, c.ld};
	product_tile<4>({y, out, r.w + c.first * r.ldw, r.ldw, r.k, c.n, 0}, row, j0);
}
