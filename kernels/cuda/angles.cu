// Cosines of pairs of columns, and angles in their place; how far columns are from orthonormal ones.

#include "common.cuh"

constexpr int SIDE = 32; // kernels.PivotSide
constexpr int OWN = 2;   // columns of a warp
constexpr int WARPS = SIDE / OWN;

// What is found in a column, by a lane and then by all.
struct Found {
	double cosine, largest, sum, low, high;
};

__device__ inline double angle(double c, double di, double dj)
{
	const double small = fmin(di, dj), big = fmax(di, dj), r = small / big;
	const double e = r * c / ((big - small) / big * (1 + r));
	return dj > di ? e : -e;
}

// look measures an element c off the diagonal, in row i, and returns the angle that comes in its place. seen
// tells whether its cosine is over the tolerance.
__device__ inline double look(double c, i64 i, double di, double dj, double tolerance, double limit, Found &f,
			      bool &seen)
{
	const double size = fabs(c);
	f.cosine = fmax(f.cosine, size);
	if (size <= tolerance)
		return 0;
	seen = true;
	const double e = angle(c, di, dj), turn = fabs(e);
	if (turn > limit) {
		f.low = fmin(f.low, (double)i);
		f.high = fmax(f.high, (double)i);
		return 0;
	}
	f.largest = fmax(f.largest, turn);
	f.sum += turn;
	return e;
}

// angles measures the panels of a list, panel k having the columns from first[k] on of a square matrix. out
// has five lists with a number for each column of all panels: the largest cosine, the largest angle, the sum
// of angles, the first and the last row of those left out; and one more, of how many pieces are active, which
// the first of SIDE columns has for all. Grid (pieces of SIDE columns, panels; at most 65535), block 512
// threads.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
angles(const Member *list, i64 count, const i64 *first, const double *norms, double tolerance, double limit,
       i64 write, double *out, i64 columns)
{
	__shared__ unsigned masks[WARPS];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	for (i64 k = blockIdx.y; k < count; k += gridDim.y) {
		const Member p = list[k];
		for (i64 j0 = (i64)blockIdx.x * SIDE; j0 < p.n; j0 += (i64)gridDim.x * SIDE) {
			Found found[OWN];
			double dj[OWN];
#pragma unroll
			for (int s = 0; s < OWN; s++) {
				const i64 j = j0 + warp * OWN + s;
				found[s] = {0, 0, 0, (double)p.m, -1};
				dj[s] = j < p.n ? norms[first[k] + j] : 1;
			}
			i64 active = 0;
			for (i64 top = 0; top < p.m; top += 32 * SIDE) { // 32 pieces at a time
				unsigned mask = 0; // those in which this warp has seen some
#pragma unroll 4
				for (int piece = 0; piece < 32; piece++) {
					const i64 i = top + piece * SIDE + lane;
					const double di = i < p.m ? norms[i] : 1;
					bool seen = false;
#pragma unroll
					for (int s = 0; s < OWN; s++) {
						const i64 j = j0 + warp * OWN + s;
						if (i >= p.m || j >= p.n)
							continue;
						double *const at = p.p + i + j * p.ld;
						const double e = i == first[k] + j ? 0
							: look(*at, i, di, dj[s], tolerance, limit, found[s], seen);
						if (write)
							*at = e;
					}
					mask |= (__any_sync(0xffffffff, seen) ? 1u : 0u) << piece;
				}
				if (lane == 0)
					masks[warp] = mask;
				__syncthreads();
				for (int w = 0; w < WARPS; w++)
					mask |= masks[w];
				active += __popc(mask);
				__syncthreads();
			}
#pragma unroll
			for (int s = 0; s < OWN; s++) {
				const i64 j = j0 + warp * OWN + s;
				const Found f = {warp_max(found[s].cosine), warp_max(found[s].largest),
						 warp_sum(found[s].sum), -warp_max(-found[s].low),
						 warp_max(found[s].high)};
				if (lane != 0 || j >= p.n)
					continue;
				double *const to = out + p.first + j;
				to[0] = f.cosine;
				to[columns] = f.largest;
				to[2 * columns] = f.sum;
				to[3 * columns] = f.low;
				to[4 * columns] = f.high;
				to[5 * columns] = j == j0 ? (double)active : 0;
			}
		}
	}
}

// departures makes the upper triangular S with S + Sᵀ = P − I of each square panel P of a list. Grid
// (columns, panels; at most 65535), block 256 threads.
extern "C" __global__ void __launch_bounds__(256) departures(const Member *list, i64 count)
{
	for (i64 k = blockIdx.y; k < count; k += gridDim.y) {
		const Member p = list[k];
		for (i64 j = blockIdx.x; j < p.n; j += gridDim.x)
			for (i64 i = j + threadIdx.x; i < p.m; i += 256) {
				double *const at = p.p + i + j * p.ld;
				*at = i == j ? (*at - 1) / 2 : 0;
			}
	}
}
