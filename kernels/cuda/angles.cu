// Cosines of pairs of columns, and angles in their place; how far columns are from orthonormal ones.

#include "common.cuh"

constexpr int SIDE = 32; // kernels.PivotSide
constexpr int OWN = 2;   // columns of a warp
constexpr int WARPS = SIDE / OWN;

// Limits of angles.
template <int N> struct Limits {
	double of[N];
};

// What is found in a column, by a lane and then by all: of angles for each limit.
template <int N> struct Found {
	double cosine, largest[N], sum[N];
	int low[N], high[N];
};

__device__ inline double angle(double c, double di, double dj)
{
	const double small = fmin(di, dj), big = fmax(di, dj), r = small / big;
	const double e = r * c / ((big - small) / big * (1 + r));
	return dj > di ? e : -e;
}

// look measures an element c off the diagonal, in row i, and returns the angle that comes in its place. seen
// tells whether its cosine is over the tolerance.
template <int N>
__device__ inline double look(double c, int i, double di, double dj, double tolerance,
			      const Limits<N> &limits, Found<N> &f, bool &seen)
{
	const double size = fabs(c);
	f.cosine = fmax(f.cosine, size);
	if (size <= tolerance)
		return 0;
	seen = true;
	const double e = angle(c, di, dj), turn = fabs(e);
#pragma unroll
	for (int l = 0; l < N; l++) {
		if (turn > limits.of[l]) {
			f.low[l] = min(f.low[l], i);
			f.high[l] = max(f.high[l], i);
		} else {
			f.largest[l] = fmax(f.largest[l], turn);
			f.sum[l] += turn;
		}
	}
	return turn > limits.of[N - 1] ? 0 : e;
}

// later returns the bits of the larger of two numbers that are not negative, or of a NaN. They have the order
// of the numbers, and a NaN is behind them all.
__device__ inline u64 later(u64 bits, double x) { return max(bits, (u64)__double_as_longlong(x)); }

// found_in measures the panels of a list, panel k having the columns from first[k] on of a square matrix. out
// has the largest cosine, the number of active pieces, the largest angles, the largest sums over a column of
// angles, all of which are 0 before; then, for each limit and each column of all panels, the first and the
// last row of those left out.
template <int N>
__device__ inline void found_in(const Member *list, i64 count, const i64 *first, const double *norms,
				double tolerance, i64 write, u64 *out, i64 columns, const Limits<N> &limits)
{
	constexpr int MOST = 1 + 2 * N; // numbers of which the largest count
	__shared__ unsigned masks[WARPS];
	__shared__ u64 most[MOST][WARPS];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int2 *const left = (int2 *)(out + MOST + 1);
	for (i64 k = blockIdx.y; k < count; k += gridDim.y) {
		const Member p = list[k];
		for (i64 j0 = (i64)blockIdx.x * SIDE; j0 < p.n; j0 += (i64)gridDim.x * SIDE) {
			Found<N> found[OWN];
			double dj[OWN];
#pragma unroll
			for (int s = 0; s < OWN; s++) {
				const i64 j = j0 + warp * OWN + s;
				found[s].cosine = 0;
#pragma unroll
				for (int l = 0; l < N; l++) {
					found[s].largest[l] = found[s].sum[l] = 0;
					found[s].low[l] = (int)p.m;
					found[s].high[l] = -1;
				}
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
							: look(*at, (int)i, di, dj[s], tolerance, limits, found[s], seen);
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
			u64 own[MOST] = {};
#pragma unroll
			for (int s = 0; s < OWN; s++) {
				const i64 j = j0 + warp * OWN + s;
				own[0] = later(own[0], warp_max(found[s].cosine));
#pragma unroll
				for (int l = 0; l < N; l++) {
					own[1 + l] = later(own[1 + l], warp_max(found[s].largest[l]));
					own[1 + N + l] = later(own[1 + N + l], warp_sum(found[s].sum[l]));
					const int low = -warp_max(-found[s].low[l]), high = warp_max(found[s].high[l]);
					if (lane == 0 && j < p.n)
						left[l * columns + p.first + j] = make_int2(low, high);
				}
			}
#pragma unroll
			for (int l = 0; l < MOST; l++)
				if (lane == 0)
					most[l][warp] = own[l];
			__syncthreads();
			if (threadIdx.x < MOST) {
				u64 x = 0;
				for (int w = 0; w < WARPS; w++)
					x = max(x, most[threadIdx.x][w]);
				atomicMax(out + (threadIdx.x == 0 ? 0 : threadIdx.x + 1), x);
			}
			if (threadIdx.x == 0)
				atomicAdd(out + 1, (u64)active);
			__syncthreads();
		}
	}
}

// angles_1 and angles_4 are found_in for so many limits. Grid (pieces of SIDE columns, panels; at most
// 65535), block 512 threads.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
angles_1(const Member *list, i64 count, const i64 *first, const double *norms, double tolerance, i64 write,
	 u64 *out, i64 columns, Limits<1> limits)
{
	found_in(list, count, first, norms, tolerance, write, out, columns, limits);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
angles_4(const Member *list, i64 count, const i64 *first, const double *norms, double tolerance, i64 write,
	 u64 *out, i64 columns, Limits<4> limits)
{
	found_in(list, count, first, norms, tolerance, write, out, columns, limits);
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
