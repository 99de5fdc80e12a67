// What the kernel of pivoted.cu is given, what it returns, and what a block of it keeps.
#pragma once

#include "householder.cuh"

constexpr int COLUMNS = 32; // of a panel: kernels.PivotedWidth
constexpr int BOUNDS = 2;   // of the elements
constexpr int SAMPLES = 8;  // kernels.Samples
constexpr int WIDTH = (BOUNDS + 1) * SAMPLES;

// Numbers of the vectors that are measured: the columns of the panel, then the errors of the rows.
constexpr int ERRORS = COLUMNS, VECTORS = COLUMNS + BOUNDS;

// Found is the result of a pivoted factorization. Numbers of columns are exact as double. The errors of the
// rows, m for each bound, follow behind it. The host has the same struct (pivoted.go).
struct Found {
	double count, rank, dropped;
	double pivots[COLUMNS], tau[COLUMNS];
	double noisy[COLUMNS][2];
	double from[BOUNDS][COLUMNS + 1];
	double r[COLUMNS * COLUMNS];
	double samples[COLUMNS][WIDTH];
};

// Factoring are the arguments. The host has the same struct.
struct Factoring {
	double *a, *y, *t;
	i64 m, n, lda, ldy, ldt;
	i64 rows;   // of the slice of a block
	i64 nearby; // the slice is copied to shared memory
	Letter *box;
	i64 meeting; // number of the first one
	Found *found; // samples, and the rows behind it, are given
	i64 bounds;   // 0: no errors are followed
	double bound, longest, reach; // kernels.PanelOptions
	i64 retain;
};

// State is what all blocks know, the same bits in each. Slot c is column c of the panel, in its first order.
struct State {
	double sums[VECTORS];     // squares of what is left of a vector, scaled; of a column, below the row that is done next
	double products[VECTORS]; // of the reflector with the columns; of the errors, squares of their products with v
	double top[COLUMNS];      // element of the row that is done next
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

constexpr int THREADS = 1024, WARPS = THREADS / 32;
static_assert(WARPS == COLUMNS, "a warp has one column");

constexpr double LEAST = 0x1p-900, MOST = 0x1p900; // sums of squares between them are good

__device__ inline bool ordinary(double square) { return square >= LEAST && square <= MOST; }

// A Worker is a block at work.
struct Worker {
	const Factoring &f;
	State &s;
	Slice slice;
	Grid grid;
	int thread, lane, warp;

	__device__ int n() const { return (int)f.n; }
	__device__ int steps() const { return (int)min(f.m, f.n); }
	__device__ int bounds() const { return (int)f.bounds; }
	__device__ bool last() const { return blockIdx.x == gridDim.x - 1; }
	__device__ bool taken(int c) const { return s.taken >> c & 1; }
	__device__ double scale(int c) const { return power(-s.exponent[c]); }

	// place returns where row j of the panel is in the slice: before its first row it is negative.
	__device__ int place(int j) const { return (int)max(j - slice.first, (i64)-1); }

	// rows calls act(i) for the lane's rows of the slice, from number `from` on, U at a time.
	template <int U, class F> __device__ void rows(int from, F act) const
	{
#pragma unroll U
		for (int i = lane; i < slice.rows; i += 32)
			if (i >= from)
				act(i);
	}

	// gather combines two quantities over the blocks, those of a column and of an error of the rows. −1: there is
	// none. It returns the single letter i.
	template <class F> __device__ double gather(int column, int error, int i, F combine, double (&x)[2])
	{
		const double beside = grid.gather(x, [&](int k) { return k == 0 ? column : error; }, i, combine);
		grid.meeting++;
		__syncwarp();
#pragma unroll
		for (int distance = 16; distance > 0; distance /= 2)
			for (int k = 0; k < 2; k++)
				x[k] = combine(x[k], __shfl_xor_sync(0xffffffff, x[k], distance));
		return beside;
	}

	__device__ void begin();
	__device__ void measure(int j, bool &column, bool &error);
	__device__ void rescale(int j, bool column, bool error);
	__device__ double noise(int c, int j) const;
	__device__ void choose(int j);
	__device__ void settle(int j);
	__device__ void project(int j);
	__device__ void resize(int c);
	__device__ void follow(int j, int c);
	__device__ double spread(int j, int b, bool none);
	__device__ void advance(int j, bool none);
	__device__ void form(int j);
	__device__ void finish(int count);
};
