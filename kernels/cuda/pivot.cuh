// The choice of a pivot, and of the columns that are nothing but noise.
#pragma once

#include "pivoted.cuh"

constexpr double NEGLIGIBLE = 0x1p-900, THRESHOLD = 0.5; // kernels.NegligibleLength, kernels.PanelThreshold

// noise returns the length of the errors in what is left of column c.
__device__ double Worker::noise(int c, int j) const
{
	double least = s.size[c][f.bounds];
#pragma unroll 1
	for (int b = 0; b < bounds(); b++)
		least = fmin(least, s.from[b][j] * s.size[c][b]);
	return least;
}

// choose brings the longest column that may be taken to place j. The first warp calls it. Its lane l has the
// column in place l.
__device__ void Worker::choose(int j)
{
	const int c = s.columns[lane];
	const bool open = lane >= j && lane < n(), followed = bounds() > 0;
	if (lane < bounds())
		s.from[lane][j] = sqrt(s.sums[ERRORS + lane]) * power(s.exponent[ERRORS + lane]);
	__syncwarp();
	const Reflector h = reflector(scale(c) * s.top[c], s.sums[c]);
	const double back = power(s.exponent[c]), length = fabs(h.beta) * back;
	const double errors = open && followed ? noise(c, j) : 0;
	double x = open && length >= 0 ? length : -1;
	unsigned zeroed = s.zeroed, cleared = 0;
	int dropped = s.dropped, best, pivot = -1, rank = s.rank;

	// zero makes columns zero; `which` has their places, the same in all lanes.
	const auto zero = [&](unsigned which) {
		for (; which != 0; which &= which - 1) {
			const int place = __ffs(which) - 1, slot = __shfl_sync(0xffffffff, c, place);
			if (lane == place) {
				x = 0;
				s.top[slot] = 0;
				s.bare[slot] = 1;
			}
			if (lane == 0) {
				s.noisy[dropped][0] = slot;
				s.noisy[dropped][1] = j;
			}
			dropped++;
			zeroed |= 1u << slot;
			cleared |= 1u << slot;
		}
	};
	const bool covered = open && followed && f.reach > 0 && !(zeroed >> c & 1) && !s.more[c] &&
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
	if (pivot >= 0 && lane == best) {
		s.tau[j] = h.tau;
		s.inverse[j] = h.inverse;
		s.beta[j] = h.beta * back;
	}
	__syncwarp();
	if (lane == 0) {
		s.zeroed = zeroed;
		s.cleared = cleared;
		s.dropped = dropped;
		s.rank = rank;
		s.pivot = pivot;
		if (pivot >= 0) {
			s.taken |= 1u << pivot;
			s.columns[best] = s.columns[j];
			s.columns[j] = pivot;
		}
	}
}
