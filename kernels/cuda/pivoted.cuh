// What the kernel of pivoted.cu is given, what it returns, and what a block of it keeps.
#pragma once

#include "householder.cuh"

constexpr int COLUMNS = 32; // of a panel: kernels.PivotedWidth
constexpr int BOUNDS = 2;   // of the elements
constexpr int SAMPLES = 8;  // kernels.Samples
constexpr int WIDTH = (BOUNDS + 1) * SAMPLES;

// Numbers of the vectors that are measured: the columns of the panel, then the errors of the rows. The sums
// of these come in PARTS.
constexpr int ERRORS = COLUMNS, VECTORS = COLUMNS + BOUNDS, PARTS = 2, QUANTITIES = COLUMNS + BOUNDS * PARTS;

// Found is what the host is told of a pivoted factorization. Numbers of columns are exact as double. The host
// has the same struct (pivoted.go).
struct Found {
	double count, rank, dropped;
	double pivots[COLUMNS], tau[COLUMNS];
	double noisy[COLUMNS][2];
	double from[BOUNDS][COLUMNS + 1];
	double r[COLUMNS * COLUMNS];
	double samples[COLUMNS][WIDTH]; // of the pivots, in their order
};

// Factoring are the arguments. The host has the same struct.
struct Factoring {
	double *a, *y, *t, *r;
	i64 m, n, lda, ldy, ldt, ldr;
	i64 rows;   // of the slice of a block
	i64 nearby; // the slice is copied to shared memory
	Letter *box;
	i64 meeting; // number of the first one
	Found *found;
	i64 bounds; // 0: no errors are followed
	double *errors, *samples, *ratios; // kernels.PanelNoise
	i64 lde, lds, ldq;
	double bound, longest, reach; // kernels.PanelOptions
	i64 retain;
};

// State is what all blocks know, the same bits in each. Slot c is column c of the panel, in its first order.
struct State {
	// squares of what is left of a vector, scaled; of a column, below the row that is done next
	double sums[VECTORS];
	// of the reflector with the columns; of the errors, the sums of the squares of their products with v
	double products[VECTORS];
	double top[COLUMNS]; // element of the row that is done next
	double samples[COLUMNS][WIDTH], size[COLUMNS][BOUNDS + 1]; // errors of a column, and their lengths
	double from[BOUNDS][COLUMNS + 1];
	double t[COLUMNS][COLUMNS + 1]; // t[j] is column j of T; the last block has it
	double tau[COLUMNS], inverse[COLUMNS], beta[COLUMNS]; // of the reflectors; beta: diagonal of R
	double over; // 1/beta of the last one
	double noisy[COLUMNS][2];
	int exponent[VECTORS]; // a vector is multiplied by 2⁻ᵉ before it is squared
	int columns[COLUMNS];  // the slots in their present order
	int bare[VECTORS];     // 1: nothing is left but zeros
	int more[COLUMNS];     // 1: an element is more than noise
	int pivot, rank, dropped; // pivot: the slot that was chosen, −1: none
	unsigned taken, zeroed, cleared; // sets of slots; cleared: zeroed in this step
};

constexpr int STATE = 20480; // bytes of shared memory for it; the host has the same constant (pivoted.go)
static_assert(sizeof(State) <= STATE, "");

// Slice are the rows of a block, from row `first` of the panel on.
struct Slice {
	double *a, *errors; // errors of the rows, for each bound
	i64 lda, lde, first;
	int rows;

	__device__ double *vector(int c) const { return c < ERRORS ? a + c * lda : errors + (c - ERRORS) * lde; }
};

constexpr int COLUMN_WARPS = COLUMNS / 2; // a warp has two columns
constexpr int WARPS = COLUMN_WARPS + BOUNDS * PARTS, THREADS = 32 * WARPS;

constexpr double LEAST = 0x1p-900, MOST = 0x1p900; // sums of squares between them are good

__device__ inline bool ordinary(double square) { return square >= LEAST && square <= MOST; }

// A Worker is a block at work. Warp w has the columns w and w + 16, and half of its lanes speak for each.
// Behind those warps are PARTS for each bound, which have the errors of the rows.
struct Worker {
	const Factoring &f;
	State &s;
	Slice slice;
	Grid grid;
	int thread, lane, warp;
	int mine;        // the column for which this lane speaks, −1: none
	int bound, part; // of the errors of this warp; −1: none

	__device__ int n() const { return (int)f.n; }
	__device__ int steps() const { return (int)min(f.m, f.n); }
	__device__ int bounds() const { return (int)f.bounds; }
	__device__ int width() const { return f.bounds ? ((int)f.bounds + 1) * SAMPLES : 0; }
	__device__ bool last() const { return blockIdx.x == gridDim.x - 1; }
	__device__ bool taken(int c) const { return s.taken >> c & 1; }
	__device__ double scale(int c) const { return power(-s.exponent[c]); }

	// column returns the warp's column k, −1: there is none.
	__device__ int column(int k) const
	{
		const int c = warp + k * COLUMN_WARPS;
		return warp < COLUMN_WARPS && c < n() ? c : -1;
	}

	// speaks tells whether this lane says, or notes, what is known of column mine.
	__device__ bool speaks() const { return mine >= 0 && lane % 16 == 0; }

	// given returns where the block's rows of a vector come from.
	__device__ double *given(int c) const
	{
		return slice.first + (c < ERRORS ? f.a + c * f.lda : f.errors + (c - ERRORS) * f.lde);
	}

	// place returns where row j of the panel is in the slice: before its first row it is −1.
	__device__ int place(int j) const { return (int)max(j - slice.first, (i64)-1); }

	// rows calls act(i) for the lane's rows of the slice, from number `from` on, U at a time.
	template <int U, class F> __device__ void rows(int from, F act) const
	{
#pragma unroll U
		for (int i = lane; i < slice.rows; i += 32)
			if (i >= from)
				act(i);
	}

	// share calls act(i) for the lane's rows among those of the warp's part.
	template <class F> __device__ void share(int from, F act) const
	{
#pragma unroll 2
		for (int i = lane + 32 * part; i < slice.rows; i += 32 * PARTS)
			if (i >= from)
				act(i);
	}

	// publish says what this block has of the column for which the lane speaks, or of the errors.
	__device__ void publish(double x, bool column) const
	{
		if (column && speaks())
			grid.publish(mine, x);
		if (bound >= 0 && lane == 0)
			grid.publish(ERRORS + PARTS * bound + part, x);
	}

	// gather combines over the blocks what they have published of column mine, if wanted(c) for it, or of the
	// errors, which the first part's warp does. It reads the single letter i, if i ≥ 0.
	template <class W, class F> __device__ double gather(W wanted, int i, F combine, double &beside)
	{
		double x[2] = {};
		beside = grid.gather(
			x,
			[&](int k) {
				const int c = column(k);
				return c >= 0 && wanted(c) ? c : bound >= 0 && part == 0 ? ERRORS + PARTS * bound + k : -1;
			},
			i, combine);
		grid.meeting++;
		__syncwarp();
		const double y = warp_total(x, combine);
		return bound < 0 ? y : combine(y, __shfl_xor_sync(0xffffffff, y, 16));
	}

	__device__ void begin();
	__device__ bool measure(int j);
	__device__ void rescale(int j, bool bad);
	__device__ double noise(int c, int j) const;
	__device__ void choose(int j);
	__device__ void settle(int j);
	__device__ void project(int j);
	__device__ void resize(int c);
	__device__ void follow(int j, int c);
	__device__ double spread(int j, bool none);
	__device__ double change(int j, bool none);
	__device__ void advance(int j, bool none);
	__device__ void form(int j);
	__device__ void finish(int count);
};
