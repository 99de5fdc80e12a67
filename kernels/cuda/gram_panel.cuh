// The Householder QR factorization of a panel of 64 columns, by products: the blocks meet four times, not for
// each column.
//
// A = Q₁·R₁ by Cholesky, R₁ᵀR₁ = AᵀA. What Q₁ᵀQ₁ = I + E differs from I corrects it ([YNYF15]): with F + Fᵀ
// = E, F upper triangular, and Q = Q₁·(I + F)⁻¹, QᵀQ = I to about E². Reflectors follow from Q ([BDGJKN15]):
// with signs S, Q·S are the first columns of I − Y·T·Yᵀ. So Q − [S; 0] = Y·U, U = −T·Y₁ᵀ·S, is an LU
// factorization. Here it is that of Q₁ − [S·(I + F); 0] = Y·U′, U′ = U·(I + F): for the first 64 rows by
// elimination, which chooses the signs such that no element on the diagonal is below 1, for the others Y =
// Q₁·U′⁻¹. R is S·(I + F)·R₁.
//
// It gives up where E is too large, because columns nearly depend on each other, and where squares are not in
// range. Then the panel is as it was.
#pragma once

#include "divide.cuh"
#include "tile.cuh"

constexpr int PANEL_WARPS = PANEL_THREADS / 32;

// E² is below half a rounding error where no element of E exceeds this. Elimination leaves a column some
// digits; and its square is a normal number, as are those of its elements that count.
constexpr double LARGEST_ERROR = 0x1p-30, SMALLEST_REST = 0x1p-36;
constexpr double LEAST_SQUARE = 0x1p-600, MOST_SQUARE = 0x1p900;

// GramPanel is a block at work. A slice has 64·SLICES rows. The last two blocks have none: they make R and T.
// The host counts the letters, and knows the size of the state (natural.go).
template <int SLICES> struct GramPanel {
	static constexpr int ROWS = SIDE * SLICES, LD = ROWS + PAD;

	struct State {
		double a[SIDE][LD]; // columns of the slice: A, Q₁, Y
		double r[SIDE][LD_SIDE]; // rows of R₁, then of I + F
		double u[SIDE][LD_SIDE]; // rows of U′
		double l[SIDE][LD_SIDE]; // columns of the first rows: of Q₁, then of Y
		double f[TRIANGLE];      // AᵀA, then F
		double column[2][SIDE], row[2][SIDE]; // of the present step and the next one
		double inverse[SIDE]; // of the diagonal of R₁, then of U′
		double sign[SIDE];
	};

	static_assert(sizeof(State) == 121088 + 8 * SIDE * LD, "");

	State &s;
	Totals totals;
	i64 first;
	int rows; // of the slice
	int thread, lane, warp;

	// This thread's row, in each 64 of them, and its columns.
	__device__ int mine() const { return row_of(thread); }
	__device__ int group() const { return group_of(thread); }

	__device__ void load(const double *a, i64 lda)
	{
#pragma unroll
		for (int k = 0; k < SLICES; k++)
#pragma unroll
			for (int c = 0; c < GROUP; c++) {
				const int i = mine() + k * SIDE, j = group() + c * GROUPS;
				s.a[j][i] = i < rows ? a[first + i + j * lda] : 0;
			}
		__syncthreads();
	}

	// gram forms the upper triangle of what this slice has of AᵀA. A warp does a tile of 16×16.
	__device__ void gram()
	{
		const int I = warp / 4 * 16, J = warp % 4 * 16, g = lane / 4, t = lane % 4;
		if (I <= J) {
			double c[2][4] = {};
#if __CUDA_ARCH__ >= 800
#pragma unroll 4
			for (int k = t; k < ROWS; k += 4) {
				const double x[2] = {s.a[I + g][k], s.a[I + 8 + g][k]};
				mma(c[0], x, s.a[J + g][k]);
				mma(c[1], x, s.a[J + 8 + g][k]);
			}
#else
			for (int k = 0; k < ROWS; k++)
				for (int n = 0; n < 2; n++)
					for (int e = 0; e < 4; e++)
						c[n][e] = __fma_rn(s.a[I + e / 2 * 8 + g][k], s.a[J + 8 * n + 2 * t + e % 2][k], c[n][e]);
#endif
#pragma unroll
			for (int n = 0; n < 2; n++)
#pragma unroll
				for (int e = 0; e < 4; e++) {
					const int i = I + e / 2 * 8 + g, j = J + 8 * n + 2 * t + e % 2;
					if (i <= j)
						s.f[upper(i, j)] = c[n][e];
				}
		}
		__syncthreads();
	}

	// sum forms AᵀA of all slices. With `top` all are told the first rows of the first block too.
	__device__ void sum(bool top)
	{
		if (rows > 0)
			gram();
		else
#pragma unroll 1
			for (int e = thread; e < TRIANGLE; e += PANEL_THREADS)
				s.f[e] = 0;
		double *const stage = &s.u[0][0];
		totals.give(s.f, stage);
		if (top && blockIdx.x == 0)
#pragma unroll 1
			for (int e = thread; e < SIDE * SIDE; e += PANEL_THREADS)
				totals.grid.write(totals.others() + e, s.a[e / SIDE][e % SIDE]);
		totals.take(s.f, stage);
		if (top)
			totals.collect<SIDE * SIDE / PANEL_THREADS>(totals.others(), SIDE * SIDE,
								    [&](int e) { return &s.l[e / SIDE][e % SIDE]; });
		totals.grid.meeting++;
		__syncthreads();
	}

	// cholesky finds R₁, the same bits in each block. It tells whether that served.
	__device__ bool cholesky()
	{
		const int i = mine(), j0 = group() * GROUP;
		double x[GROUP];
#pragma unroll
		for (int c = 0; c < GROUP; c++)
			x[c] = s.f[upper(min(i, j0 + c), max(i, j0 + c))];
		if (group() == 0)
			s.column[0][i] = x[0];
#pragma unroll 1
		for (int b = 0; b < GROUPS; b++)
#pragma unroll
			for (int q = 0; q < GROUP; q++) {
				const int p = GROUP * b + q;
				const double *const column = s.column[q % 2];
				__syncthreads();
				if (group() < b)
					continue;
				const double inverse = inverse_root(column[p]), y = column[i] * inverse;
				double z[GROUP];
				read8(z, column + j0);
				if (group() == b) {
					s.r[p][i] = i < p ? 0 : y;
					if (i == p)
						s.inverse[p] = inverse;
				}
#pragma unroll
				for (int c = 0; c < GROUP; c++)
					if (group() > b || c > q)
						x[c] = __fma_rn(-y, z[c] * inverse, x[c]);
				if (q < GROUP - 1 ? group() == b : group() == b + 1)
					s.column[(q + 1) % 2][i] = x[(q + 1) % GROUP];
			}
		__syncthreads();
		const double square = s.f[upper(i, i)], rest = s.r[i][i] * s.r[i][i];
		return __syncthreads_and(square >= LEAST_SQUARE && square <= MOST_SQUARE && rest >= SMALLEST_REST * square);
	}

	// divide_slice divides the slice by an upper triangular matrix.
	__device__ void divide_slice(const double (&u)[SIDE][LD_SIDE])
	{
		double x[SLICES][GROUP];
#pragma unroll
		for (int k = 0; k < SLICES; k++)
#pragma unroll
			for (int c = 0; c < GROUP; c++)
				x[k][c] = s.a[group() * GROUP + c][mine() + k * SIDE];
		divide(x, &s.a[0][0], LD, u, s.inverse, thread);
	}

	// correct makes F of I + E. It tells whether E is small enough.
	__device__ bool correct()
	{
		bool small = true;
#pragma unroll 1
		for (int j = warp; j < SIDE; j += PANEL_WARPS)
#pragma unroll 1
			for (int i = lane; i <= j; i += 32) {
				double &x = s.f[upper(i, j)];
				x = i == j ? (x - 1) / 2 : x;
				small = small && fabs(x) <= LARGEST_ERROR;
			}
		return __syncthreads_and(small);
	}

	// eliminate finds the first rows of Y, U′ and the signs, the same bits in each block.
	__device__ void eliminate()
	{
		const int i = mine(), j0 = group() * GROUP;
		double x[GROUP];
#pragma unroll
		for (int c = 0; c < GROUP; c++)
			x[c] = s.l[j0 + c][i];
		if (group() == 0)
			s.column[0][i] = x[0];
		if (i == 0)
#pragma unroll
			for (int c = 0; c < GROUP; c++)
				s.row[0][j0 + c] = x[c];
#pragma unroll 1
		for (int b = 0; b < GROUPS; b++)
#pragma unroll
			for (int q = 0; q < GROUP; q++) {
				const int p = GROUP * b + q;
				const double *const column = s.column[q % 2], *const row = s.row[q % 2];
				__syncthreads();
				if (group() < b)
					continue;
				const double sign = copysign(1.0, -column[p]);
				const double inverse = inverse_of(__fma_rn(-sign, s.r[p][p], column[p])), y = column[i] * inverse;
				double z[GROUP], f[GROUP];
				read8(z, row + j0);
				read8(f, s.r[p] + j0);
#pragma unroll
				for (int c = 0; c < GROUP; c++)
					z[c] = __fma_rn(-sign, f[c], z[c]);
				if (i == 0) // below the diagonal there is something else
#pragma unroll
					for (int c = 0; c < GROUP; c++)
						s.u[p][j0 + c] = z[c];
				if (group() == b) {
					s.l[p][i] = i < p ? 0 : i == p ? 1 : y;
					if (i == p) {
						s.inverse[p] = inverse;
						s.sign[p] = sign;
					}
				}
#pragma unroll
				for (int c = 0; c < GROUP; c++)
					if (group() > b || c > q)
						x[c] = __fma_rn(-y, z[c], x[c]);
				if (q < GROUP - 1 ? group() == b : group() == b + 1)
					s.column[(q + 1) % 2][i] = x[(q + 1) % GROUP];
				if (i == p + 1)
#pragma unroll
					for (int c = 0; c < GROUP; c++)
						s.row[(q + 1) % 2][j0 + c] = x[c];
			}
		__syncthreads();
	}

	// make_factor puts (I + F)·R₁ into the slice, which is not used.
	__device__ void make_factor()
	{
		const int i = mine(), j0 = group() * GROUP;
		double x[GROUP], y[GROUP];
		read8(x, s.r[i] + j0);
#pragma unroll 4
		for (int k = 0; k < j0 + GROUP; k++) {
			const double f = i <= k ? s.f[upper(i, k)] : 0;
			read8(y, s.r[k] + j0);
#pragma unroll
			for (int c = 0; c < GROUP; c++)
				x[c] = __fma_rn(f, y[c], x[c]);
		}
#pragma unroll
		for (int c = 0; c < GROUP; c++)
			s.a[j0 + c][i] = x[c];
	}

	// expand puts I + F into the place of R₁.
	__device__ void expand()
	{
		__syncthreads();
#pragma unroll 2
		for (int i = warp; i < SIDE; i += PANEL_WARPS)
#pragma unroll
			for (int j = lane; j < SIDE; j += 32)
				s.r[i][j] = i > j ? 0 : s.f[upper(i, j)] + (i == j ? 1 : 0);
		__syncthreads();
	}

	// put_factor writes R = S·(I + F)·R₁.
	__device__ void put_factor(double *r, i64 ldr)
	{
		const int i = mine(), j0 = group() * GROUP;
#pragma unroll
		for (int c = 0; c < GROUP; c++)
			r[i + (j0 + c) * ldr] = i <= j0 + c ? s.sign[i] * s.a[j0 + c][i] : 0;
	}

	// put_triangle writes T, T·Y₁ᵀ = −U·S with U = U′·(I − F). It overwrites the slice.
	__device__ void put_triangle(double *t, i64 ldt)
	{
		const int i = mine(), j0 = group() * GROUP;
		double x[1][GROUP], y[GROUP];
#pragma unroll
		for (int c = 0; c < GROUP; c++)
			x[0][c] = i <= j0 + c ? 2 * s.u[i][j0 + c] : 0; // U′·(2·I − (I + F))
#pragma unroll 4
		for (int k = 0; k < j0 + GROUP; k++) {
			const double u = i <= k ? s.u[i][k] : 0;
			read8(y, s.r[k] + j0);
#pragma unroll
			for (int c = 0; c < GROUP; c++)
				x[0][c] = __fma_rn(-u, y[c], x[0][c]);
		}
#pragma unroll
		for (int c = 0; c < GROUP; c++)
			x[0][c] *= -s.sign[j0 + c];
		if (thread < SIDE)
			s.inverse[thread] = 1;
		__syncthreads();
		divide(x, &s.a[0][0], LD, s.l, s.inverse, thread);
#pragma unroll
		for (int c = 0; c < GROUP; c++)
			t[i + (j0 + c) * ldt] = i <= j0 + c ? s.a[j0 + c][i] : 0;
	}

	// own calls act(i, j) for the elements of the slice that this thread has: row i of it, column j.
	template <class Act> __device__ void own(Act act)
	{
#pragma unroll
		for (int k = 0; k < SLICES; k++)
#pragma unroll
			for (int c = 0; c < GROUP; c++) {
				const int i = mine() + k * SIDE, j = group() * GROUP + c;
				if (i < rows)
					act(i, j);
			}
	}

	__device__ void put_reflectors(double *y, i64 ldy)
	{
		own([&](int i, int j) { y[first + i + j * ldy] = first + i < SIDE ? s.l[j][i] : s.a[j][i]; });
	}

	// clear makes the slice of the panel zero below the factor.
	__device__ void clear(double *a, i64 lda)
	{
		own([&](int i, int j) {
			if (first + i >= SIDE)
				a[first + i + j * lda] = 0;
		});
	}

	// factor factors the panel if that serves, and tells whether it does.
	template <class Arguments> __device__ bool factor(const Arguments &f)
	{
		if (rows > 0)
			load(f.a, f.lda);
#pragma unroll 1
		for (int pass = 0; pass < 2; pass++) {
			sum(pass == 1);
			if (!(pass == 0 ? cholesky() : correct()))
				return false;
			if (pass == 1) {
				if (blockIdx.x == gridDim.x - 2)
					make_factor();
				expand();
				eliminate();
			}
			if (rows > 0)
				divide_slice(pass == 0 ? s.r : s.u);
		}
		if (rows > 0) {
			put_reflectors(f.y, f.ldy);
			if (f.r == f.a)
				clear(f.a, f.lda);
		} else if (blockIdx.x == gridDim.x - 2)
			put_factor(f.r, f.ldr);
		else
			put_triangle(f.t, f.ldt);
		return true;
	}
};
