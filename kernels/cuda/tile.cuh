// Products of tiles, on the double-precision tensor cores where there are any (compute capability 8.0 and
// up). A warp forms a 32×32 tile of a product; its operands are copied to shared memory in chunks along the
// inner dimension. The host chooses the sizes (tiling.go): STAGES is the number of chunks that are in shared
// memory at a time, the next ones being on their way while one is worked on; CHUNK is the length of a chunk,
// GRAM_CHUNK that of the Gram kernels, where it is the number of rows.
#pragma once

#include "common.cuh"

// Leading dimensions in shared memory are 4 modulo 16, so that the 4×4 elements that half a warp reads at
// once lie in different banks.
constexpr int PAD = 4;

// How operands can be copied to shared memory.
enum Access {
	WHOLE,	// 16 bytes at a time, and no tile has an edge
	ALIGNED, // 16 bytes at a time, fewer at the edges
	ODD,	// columns do not begin at multiples of 16 bytes
};

// fetch2 starts to copy two elements to shared memory: the first n ≤ 2, the others become zero.
// `from` need not be readable beyond n elements. With WHOLE n is taken to be 2. at is the address of
// `to` within shared memory.
template <Access ACCESS>
__device__ inline void fetch2(double *to, unsigned at, const double *from, int n)
{
#if __CUDA_ARCH__ >= 800
	if (ACCESS == WHOLE) {
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
	} else if (ACCESS == ALIGNED) {
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(8 * n) : "memory");
	} else {
		asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at), "l"(from),
			     "r"(n > 0 ? 8 : 0) : "memory");
		asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at + 8), "l"(n > 1 ? from + 1 : from),
			     "r"(n > 1 ? 8 : 0) : "memory");
	}
#else
	to[0] = ACCESS == WHOLE || n > 0 ? from[0] : 0;
	to[1] = ACCESS == WHOLE || n > 1 ? from[1] : 0;
#endif
}

// clamp2 returns n limited to 0 … 2.
__device__ inline int clamp2(int n) { return n < 0 ? 0 : n > 2 ? 2 : n; }

// Copies are those of a chunk into a stage, in parts, if there is anything to copy.
template <class Load> struct Copies {
	Load &load;
	const int chunk, stage;
	const bool any;

	__device__ void start(int part) const
	{
		if (any)
			load(chunk, stage, part);
	}
};

// pipeline calls load(chunk, stage, part) for chunks 0 … chunks−1 and PARTS parts; when the calling thread's
// copies of a chunk have arrived, arrived(chunk, stage), which may change what this thread has copied; and
// when those of all threads have, compute(chunk, stage, copies). This starts all parts of the copies of a
// later chunk, best between products: so the tensor cores do not wait for that. After pipeline shared memory
// may be read, but not yet written.
template <int PARTS, class Load, class Arrived, class Compute>
__device__ inline void pipeline(int chunks, Load load, Arrived arrived, Compute compute)
{
	auto all = [&](int chunk, int stage) {
#pragma unroll
		for (int part = 0; part < PARTS; part++)
			load(chunk, stage, part);
	};
#if __CUDA_ARCH__ >= 800
#pragma unroll
	for (int i = 0; i < STAGES - 1; i++) {
		if (i < chunks)
			all(i, i);
		asm volatile("cp.async.commit_group;" ::: "memory");
	}
#pragma unroll 1
	for (int i = 0, stage = 0; i < chunks; i++) {
		asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
		arrived(i, stage);
		__syncthreads(); // chunk i is there, and all are done with the stage of chunk i−1
		const int later = i + STAGES - 1;
		compute(i, stage, Copies<Load>{load, later, stage == 0 ? STAGES - 1 : stage - 1, later < chunks});
		asm volatile("cp.async.commit_group;" ::: "memory");
		stage = stage == STAGES - 1 ? 0 : stage + 1;
	}
#else
#pragma unroll 1
	for (int i = 0; i < chunks; i++) {
		__syncthreads();
		all(i, 0);
		arrived(i, 0);
		__syncthreads();
		compute(i, 0, Copies<Load>{load, 0, 0, false});
	}
#endif
}

// A 32×32 tile of a product, spread over a warp as the tensor cores have it: lane 4g+t holds in c[i][j][2h+e]
// the element in row 16i + 8h + g and column 8j + 2t + e.
struct Tile {
	double c[2][4][4];

	__device__ void add(const Tile &other)
	{
#pragma unroll
		for (int i = 0; i < 2; i++)
#pragma unroll
			for (int j = 0; j < 4; j++)
#pragma unroll
				for (int e = 0; e < 4; e++)
					c[i][j][e] += other.c[i][j][e];
	}
};

// each calls f(row, column, element) for the elements of the tile that this lane holds.
template <class F>
__device__ inline void each(Tile &tile, F f)
{
	const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
	for (int j = 0; j < 4; j++)
#pragma unroll
		for (int e = 0; e < 2; e++)
#pragma unroll
			for (int i = 0; i < 2; i++)
#pragma unroll
				for (int h = 0; h < 2; h++)
					f(16 * i + 8 * h + g, 8 * j + 2 * t + e, tile.c[i][j][2 * h + e]);
}

#if __CUDA_ARCH__ >= 800
// mma does c ← c + a·b for a 16×8 matrix c, a 16×4 matrix a and a 4×8 matrix b in fragments.
__device__ inline void mma(double c[4], const double a[2], double b)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
		     : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
		     : "d"(a[0]), "d"(a[1]), "d"(b));
#else
	for (int h = 0; h < 2; h++)
		asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
			     : "+d"(c[2 * h]), "+d"(c[2 * h + 1])
			     : "d"(a[h]), "d"(b));
#endif
}
#endif

// multiply_add adds to the tile the product of a 32×4 matrix a and a 4×32 matrix b in shared memory: a(i,l)
// lies at a[i·A_ROW + l·A_INNER], b(l,j) at b[j·B_COLUMN + l·B_INNER].
template <int A_ROW, int A_INNER, int B_COLUMN, int B_INNER>
__device__ inline void multiply_add(Tile &tile, const double *a, const double *b)
{
	const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	a += g * A_ROW;
#if __CUDA_ARCH__ >= 800
	a += t * A_INNER;
	b += g * B_COLUMN + t * B_INNER;
	double x[2][2];
#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int h = 0; h < 2; h++)
			x[i][h] = a[(16 * i + 8 * h) * A_ROW];
#pragma unroll
	for (int j = 0; j < 4; j++) {
		const double y = b[8 * j * B_COLUMN];
#pragma unroll
		for (int i = 0; i < 2; i++)
			mma(tile.c[i][j], x[i], y);
	}
#else
	b += 2 * t * B_COLUMN;
#pragma unroll 2
	for (int l = 0; l < 4; l++) {
		double x[4];
#pragma unroll
		for (int i = 0; i < 4; i++)
			x[i] = a[8 * i * A_ROW + l * A_INNER];
#pragma unroll
		for (int j = 0; j < 4; j++)
#pragma unroll
			for (int e = 0; e < 2; e++) {
				const double y = b[(8 * j + e) * B_COLUMN + l * B_INNER];
#pragma unroll
				for (int i = 0; i < 4; i++)
					tile.c[i / 2][j][i % 2 * 2 + e] = __fma_rn(x[i], y, tile.c[i / 2][j][i % 2 * 2 + e]);
			}
	}
#endif
}
