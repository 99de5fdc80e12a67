// Tiles of rows of pivots on their way through shared memory, one after the other without a pause: a block of
// threads works on a tile while the next ones are being copied. Only where STREAM_STAGES tiles fit into
// shared memory (tiling.go), which is so from compute capability 9.0 on.
#pragma once

#include "barrier.cuh"
#include "tile.cuh"

constexpr int STREAM_ROWS = 32, STREAM_COLUMNS = 128, STREAM_THREADS = 256;
constexpr int STREAM_LD = STREAM_ROWS + PAD;		// of a tile in shared memory
constexpr int STREAM_TILE = STREAM_COLUMNS * STREAM_LD; // elements

#if STREAM_STAGES > 0
// Columns are those of a matrix [P Q]: column c begins at p + c·ldp up to column np, at q + c·ldq
// from there on.
struct Columns {
	const double *p, *q;
	int m, np, k, ldp, ldq;
	bool aligned; // they begin at multiples of 16 bytes

	__device__ void set(const Pivot &x, i64 columns)
	{
		m = (int)x.m, np = (int)x.np, k = (int)columns, ldp = (int)x.ldp, ldq = (int)x.ldq;
		p = x.p, q = x.q - x.np * x.ldq;
		aligned = even(x.p, x.ldp) && even(x.q, x.ldq);
	}

	// start starts to copy `rows` rows from `row` on, which is even, to a tile in shared memory: column c to
	// c·STREAM_LD. What is not there becomes zero. All threads of the block do a part of it.
	__device__ void start(double *tile, int row, int rows) const
	{
		if (aligned)
			copy<ALIGNED>(tile, row, rows);
		else
			copy<ODD>(tile, row, rows);
	}

	template <Access ACCESS> __device__ void copy(double *tile, int row, int rows) const
	{
		constexpr int LANES = STREAM_ROWS / 2, STEP = STREAM_THREADS / LANES; // LANES threads do a column
		const int r = threadIdx.x % LANES * 2, first = threadIdx.x / LANES, n = clamp2(rows - r);
		const double *const left = p + row + r, *const right = q + row + r;
		tile += first * STREAM_LD + r;
		const unsigned at = (unsigned)__cvta_generic_to_shared(tile);
#pragma unroll
		for (int i = 0; i < STREAM_COLUMNS; i += STEP) {
			const int c = first + i;
			const double *from = c < np ? left + (i64)c * ldp : right + (i64)c * ldq;
			fetch2<ACCESS>(tile + i * STREAM_LD, at + 8 * i * STREAM_LD, from, c < k ? n : 0);
		}
	}
};

// stream takes a block through `count` tiles. work.load(tile) starts the copies of the next one to `tile`,
// some time before work.process(tile), which finds it there. The warps do not wait for each other, as long as
// none is more than a tile ahead.
template <class Work> __device__ inline void stream(int count, double *tiles, Work &work)
{
	constexpr int AHEAD = STREAM_STAGES - 2; // tiles
	__shared__ u64 barriers[2 * STREAM_STAGES];
	const unsigned full = (unsigned)__cvta_generic_to_shared(barriers), empty = full + 8 * STREAM_STAGES;
	if (threadIdx.x == 0)
		for (int i = 0; i < STREAM_STAGES; i++) {
			set_barrier(full + 8 * i, STREAM_THREADS);
			set_barrier(empty + 8 * i, STREAM_THREADS / 32);
		}
	__syncthreads();
	int stage = 0, phase = 0;     // of the tile that is processed
	int next = 0, next_phase = 1; // of the tile that is copied; the stages are empty at first
#pragma unroll 1
	for (int i = -AHEAD; i < count; i++) {
		if (i >= 0) {
			wait(full + 8 * stage, phase);
			work.process(tiles + stage * STREAM_TILE);
			__syncwarp();
			if (threadIdx.x % 32 == 0)
				arrive(empty + 8 * stage);
			if (++stage == STREAM_STAGES)
				stage = 0, phase ^= 1;
		}
		if (i + AHEAD < count) {
			wait(empty + 8 * next, next_phase);
			work.load(tiles + next * STREAM_TILE);
			arrive_copied(full + 8 * next);
			if (++next == STREAM_STAGES)
				next = 0, next_phase ^= 1;
		}
	}
}
#endif
