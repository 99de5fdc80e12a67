// Postmultiplication of pivots of 65 to 128 columns, [Nov15, Alg. 4.2], as in multiply.cu: [P Q] ← [P Q]·T
// in place. A warp keeps 16 columns of T in registers, so that only [P Q] is read from shared memory. T
// comes there the same way: its tiles go before those of G and V. The tiles of rows of all problems that
// change are divided evenly among the blocks. An element has the same bits whichever block forms it, and
// the same as in multiply.cu.

#include "changed.cuh"
#include "stream.cuh"

constexpr int T_TILES = STREAM_COLUMNS / STREAM_ROWS; // of T

#if STREAM_STAGES > 0
// multiply_add16 does c ← c + a·b for a 16×8 matrix c, a 16×16 matrix a and a 16×8 matrix b in
// fragments: lane 4g+t has rows g and g + 8 of column 4i + t of a in a[i], row 4i + t of column g of b
// in b[i], and c as in tile.cuh.
__device__ inline void multiply_add16(double c[4], const double a[4][2], const double b[4])
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
		     "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
		     : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
		     : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(a[2][0]), "d"(a[2][1]),
		       "d"(a[3][0]), "d"(a[3][1]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

// A place on the way through the listed problems: the tiles of T, then those of G, then those of V.
struct Place {
	const Problem *problems;
	const unsigned short *list;
	int problem, tile, before; // problem: in the list; before: tiles of T before that tile
	int g_tiles, tiles;	   // of G; of G and V
	bool fresh;		   // the tile before was of another matrix

	__device__ const Problem &owner() const { return problems[list[problem]]; }
	__device__ bool v() const { return tile >= g_tiles; }
	__device__ Pivot matrix() const
	{
		const Problem &b = owner();
		return before > 0 ? Pivot{b.t, b.t, b.k, b.k, b.ldt, b.ldt} : v() ? b.v : b.g;
	}
	__device__ int row() const { return before > 0 ? 0 : STREAM_ROWS * (v() ? tile - g_tiles : tile); }
	__device__ void advance()
	{
		if (before > 0) {
			fresh = --before == 0;
			return;
		}
		tile++;
		fresh = tile == g_tiles || tile == tiles;
		if (tile == tiles)
			tile = 0, problem++, before = T_TILES;
	}
};

// What a block does: tiles from `next` on are copied, tiles from `here` on processed.
struct Multiplication {
	Place next, here;
	const unsigned char *columns; // flags
	int order;

	Columns from;
	int next_row;

	double t[STREAM_COLUMNS / 4][2]; // lane 4g+r has rows r + 4s of columns g and g + 8 of the warp's part of T
	bool near[2], zero[2];
	double *out[2]; // where the thread's columns go, from row 2r of the tile on,
	int rows[2];	// and how many rows are left from there

	__device__ void load(double *tile)
	{
		if (next.fresh) {
			from.set(next.matrix(), next.owner().k);
			next_row = next.row();
		}
		from.start(tile, next_row, from.m - next_row);
		next_row += STREAM_ROWS;
		next.advance();
	}
	__device__ void process(double *tile)
	{
		if (here.before > 0) {
			keep(tile, T_TILES - here.before);
		} else {
			if (here.fresh)
				enter();
			multiply(tile);
		}
		here.advance();
	}

	// keep takes the identity out of the warp's 16 columns of tile i of T, and keeps them.
	__device__ void keep(double *tile, int i)
	{
		const int first = threadIdx.x / 32 * 16, lane = threadIdx.x % 32, j = first + lane;
		if (first / STREAM_ROWS == i && lane < 16) {
			double &y = tile[j * STREAM_LD + j % STREAM_ROWS];
			if (y >= 0.5)
				y -= 1;
		}
		__syncwarp();
		const double *const x = tile + (first + lane / 4) * STREAM_LD + lane % 4;
#pragma unroll
		for (int n = 0; n < T_TILES; n++)
			if (n == i)
#pragma unroll
				for (int s = 0; s < STREAM_ROWS / 4; s++)
#pragma unroll
					for (int h = 0; h < 2; h++)
						t[n * STREAM_ROWS / 4 + s][h] = x[8 * h * STREAM_LD + 4 * s];
	}

	// enter prepares for the first tile of G, or of V.
	__device__ void enter()
	{
		const Pivot x = here.matrix();
		const int k = (int)here.owner().k, row = here.row() + threadIdx.x % 4 * 2;
		const unsigned char *const flags = columns + (2 * here.list[here.problem] + here.v()) * (i64)order;
#pragma unroll
		for (int h = 0; h < 2; h++) {
			const int j = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * h, flag = j < k ? flags[j] : 0;
			near[h] = flag & NEAR;
			zero[h] = flag & ZERO;
			out[h] = column(x, min(j, k - 1)) + row;
			rows[h] = j < k ? (int)x.m - row : 0;
		}
	}

	__device__ void multiply(const double *tile)
	{
		const int g = threadIdx.x % 32 / 4, r = threadIdx.x % 4;
		const double *const own = tile + (threadIdx.x / 32 * 16 + g) * STREAM_LD + 2 * r;
		tile += r * STREAM_LD + g;
		double sum[STREAM_ROWS / 8][4] = {}; // row 8f + 2r + e of column g + 8h in sum[f][2h+e]
#pragma unroll
		for (int s = 0; s < STREAM_COLUMNS / 4; s += 4)
#pragma unroll
			for (int f = 0; f < STREAM_ROWS / 8; f++) {
				double x[4];
#pragma unroll
				for (int i = 0; i < 4; i++)
					x[i] = tile[4 * (s + i) * STREAM_LD + 8 * f];
				multiply_add16(sum[f], t + s, x);
			}
#pragma unroll
		for (int h = 0; h < 2; h++)
			put(sum, h, own + 8 * h * STREAM_LD);
	}

	// put adds what the tile has in the thread's column h, where T is near the identity, and stores the column.
	__device__ void put(double sum[STREAM_ROWS / 8][4], int h, const double *own)
	{
		const bool aligned = ((u64)out[h] & 15) == 0;
		double2 old[STREAM_ROWS / 8];
#pragma unroll
		for (int f = 0; f < STREAM_ROWS / 8; f++)
			old[f] = near[h] ? *(const double2 *)(own + 8 * f) : double2{0, 0};
#pragma unroll
		for (int f = 0; f < STREAM_ROWS / 8; f++) {
			const double x = zero[h] ? 0 : sum[f][2 * h] + old[f].x;
			const double y = zero[h] ? 0 : sum[f][2 * h + 1] + old[f].y;
			double *const to = out[h] + 8 * f;
			if (aligned && 8 * f + 1 < rows[h]) {
				asm volatile("st.global.v2.f64 [%0], {%1,%2};" ::"l"(to), "d"(x), "d"(y) : "memory");
			} else {
				if (8 * f < rows[h])
					to[0] = x;
				if (8 * f + 1 < rows[h])
					to[1] = y;
			}
		}
		out[h] += STREAM_ROWS;
		rows[h] -= STREAM_ROWS;
	}
};
#endif

// multiply_stream: grid (any number of blocks), block 256 threads, at most LISTED problems. columns has
// 2·order flags for each problem, for G and V, which have at most so many tiles of STREAM_ROWS rows. Shared
// bytes: 8·STREAM_STAGES·STREAM_TILE.
extern "C" __global__ void __launch_bounds__(STREAM_THREADS, 1)
multiply_stream(const Problem *problems, i64 count, const unsigned char *columns, i64 order, i64 g_tiles,
		i64 v_tiles)
{
	in_turn();
#if STREAM_STAGES > 0
	extern __shared__ __align__(16) double shared[];
	__shared__ unsigned short list[LISTED];
	const int each = (int)(g_tiles + v_tiles);
	const i64 all = (i64)list_changed<STREAM_THREADS>(problems, (int)count, list) * each;
	const i64 first = all * blockIdx.x / gridDim.x, end = all * (blockIdx.x + 1) / gridDim.x;
	if (first == end)
		return;
	const int problem = (int)(first / each), problems_here = (int)((end - 1) / each) - problem + 1;
	const Place start = {problems, list, problem, (int)(first % each), T_TILES, (int)g_tiles, each, true};
	Multiplication work = {start, start, columns, (int)order};
	stream((int)(end - first) + T_TILES * problems_here, shared, work);
#endif
}
