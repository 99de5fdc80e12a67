// The choice of a pivot, and of the columns that are nothing but noise.
#pragma once

#include "panel.cuh"

constexpr double NEGLIGIBLE = 0x1p-900, THRESHOLD = 0.5; // kernels.NegligibleLength, kernels.PanelThreshold

// noise returns the length of the errors in what is left of column c.
__device__ double Worker::noise(int c, int j) const
{
	double least = s.size[c][f.bounds];
	for (int b = 0; b < f.bounds; b++)
		least = fmin(least, s.from[b][j] * s.size[c][b]);
	return least;
}

// choose brings the longest column that may be taken to place j. The first warp calls it. Its lane l has the
// column in place l.
__device__ void Worker::choose(int j)
{
	const int c = s.columns[lane];
	const bool open = lane >= j && lane < f.n, followed = f.bounds > 0;
	const double errors = open && followed ? noise(c, j) : 0;
	double x = open && s.length[c] >= 0 ? s.length[c] : -1;
	unsigned zeroed = s.zeroed, cleared = 0;
	int dropped = s.dropped, best, pivot = -1, rank = s.rank;

	// zero makes columns zero; `which` has their places, the same in all lanes.
	const auto zero = [&](unsigned which) {
		for (; which != 0; which &= which - 1) {
			const int place = __ffs(which) - 1, slot = __shfl_sync(0xffffffff, c, place);
			if (lane == place)
				x = 0;
			if (lane == 0) {
				s.noisy[dropped][0] = slot;
				s.noisy[dropped][1] = j;
			}
			dropped++;
			zeroed |= 1u << slot;
			cleared |= 1u << slot;
		}
	};
	const bool covered = open && followed && f.reach > 0 && !(zeroed >> c & 1) && s.sums[VECTORS + c] == 0 &&
			     !(x > errors) && !(errors < f.reach);
	zero(__ballot_sync(0xffffffff, covered));
	for (;;) {
		double longest = x;
		best = lane;
		for (int distance = 16; distance > 0; distance /= 2) {
			const double y = __shfl_xor_sync(0xffffffff, longest, distance);
			const int other = __shfl_xor_sync(0xffffffff, best, distance);
			if (y > longest || (y == longest && other < best)) {
				longest = y;
				best = other;
			}
		}
		if (longest < NEGLIGIBLE || (j > 0 && longest < THRESHOLD * f.bound))
			break;
		const double least = __shfl_sync(0xffffffff, errors, best);
		pivot = __shfl_sync(0xffffffff, c, best);
		if (!followed || longest > least) {
			rank++;
			break;
		}
		if (longest > f.longest) {
			if (!f.retain && j > 0)
				pivot = -1;
			break;
		}
		pivot = -1;
		zero(1u << best);
	}
	__syncwarp();
	if (lane == 0) {
		s.zeroed = zeroed;
		s.cleared = cleared;
		s.dropped = dropped;
		s.rank = rank;
		s.pivot = pivot;
		if (pivot >= 0) {
			s.columns[best] = s.columns[j];
			s.columns[j] = pivot;
		}
	}
}
