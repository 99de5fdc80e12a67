// What the kernel of panel.cu is given, what it returns, and what a block of it keeps.
#pragma once

#include "grid.cuh"

constexpr int COLUMNS = 32; // of a panel: kernels.PivotedWidth
constexpr int BOUNDS = 2;   // of the elements
constexpr int SAMPLES = 8;  // kernels.Samples
constexpr int WIDTH = (BOUNDS + 1) * SAMPLES;

// Numbers of the vectors that are measured: the columns of the panel, then the errors of the rows.
constexpr int ERRORS = COLUMNS, VECTORS = COLUMNS + BOUNDS;

// Found is the result of a pivoted factorization. Numbers of columns are exact as double. The errors of the
// rows, m for each bound, follow behind it. The host has the same struct (panel.go).
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
	double *a, *y, *t, *r;
	i64 m, n, lda, ldy, ldt, ldr;
	i64 rows;   // of the slice of a block
	i64 nearby; // the slice is copied to shared memory
	double *partial;
	u64 *met;
	Found *found; // samples, and the rows behind it, are given; 0: no pivoting
	i64 bounds;   // 0: no errors are followed
	double bound, longest, reach; // kernels.PanelOptions
	i64 retain;

	__device__ i64 steps() const { return m < n ? m : n; }
};

// State is what all blocks know, the same bits in each. Slot c is column c of the panel, in its first order.
struct State {
	double sums[2 * VECTORS]; // of the last meeting
	double top[VECTORS];      // element of the row that is done next,
	double rest[VECTORS];     // norm of what is below it, scaled,
	double length[VECTORS];   // of both
	double scale[VECTORS];    // 2^−exponent: by it elements are multiplied before they are squared
	double samples[COLUMNS][WIDTH], size[COLUMNS][BOUNDS + 1]; // errors of a column, and their lengths
	double from[BOUNDS][COLUMNS + 1];
	double t[COLUMNS][COLUMNS]; // t[j] is column j of T
	double tau[COLUMNS], beta, head; // beta: diagonal of R; v is x/head below its first element, x scaled
	double noisy[COLUMNS][2];
	int exponent[VECTORS], columns[COLUMNS]; // columns: the slots in their present order
	int bare[VECTORS]; // 1: zero below the row that is done next
	int pivot, rank, dropped; // pivot: the slot that was chosen, −1: none
	unsigned taken, zeroed, cleared; // sets of slots; cleared: zeroed in this step
};

constexpr int STATE = 20480; // bytes of shared memory for it; the host has the same constant (panel.go)
static_assert(sizeof(State) <= STATE, "");

// Slice are the rows of a block, from row `first` of the panel on.
struct Slice {
	double *a, *errors; // errors of the rows, for each bound
	i64 lda, lde, first, rows;

	__device__ double *vector(int c) const { return c < ERRORS ? a + c * lda : errors + (c - ERRORS) * lde; }
};

constexpr int THREADS = 1024, WARPS = THREADS / 32;

constexpr double LEAST = 0x1p-900, MOST = 0x1p900; // sums of squares between them are good
constexpr int LARGEST_SCALE = 1000; // exponent of the largest power of two that is used as a scale

__device__ inline double add(double x, double y) { return x + y; }
__device__ inline double larger(double x, double y) { return fmax(x, y); }

// A Worker is a block at work.
struct Worker {
	const Factoring &f;
	State &s;
	Slice slice;
	Grid grid;
	int thread, lane, warp;

	__device__ bool exists(int c) const { return c < ERRORS ? c < f.n : c - ERRORS < f.bounds; }
	__device__ bool taken(int c) const { return c < ERRORS && (s.taken >> c & 1); }

	// rows calls act(i, row) for the lane's rows from row j of the panel on; i is the number in the slice.
	template <class F> __device__ void rows(i64 j, F act) const
	{
#pragma unroll 4
		for (i64 i = lane; i < slice.rows; i += 32)
			if (slice.first + i >= j)
				act(i, slice.first + i);
	}

	__device__ void begin();
	__device__ void measure(int j);
	__device__ void squares(int j);
	__device__ void rescale(int j);
	__device__ void resize();
	__device__ double noise(int c, int j) const;
	__device__ void choose(int j);
	__device__ void reflector(int j);
	__device__ void project(int j);
	__device__ void follow(int j);
	__device__ void update(int j);
	__device__ void form(int j);
	__device__ void finish(int count);
};
