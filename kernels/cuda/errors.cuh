// What becomes of the errors in a step.
#pragma once

#include "pivoted.cuh"

// far_length is hypot, for numbers whose squares are not ordinary.
__device__ __noinline__ double far_length(double x, double y) { return hypot(x, y); }

// far_root is √square where `square` is not ordinary, because the numbers x of the lanes of a group of 8 are
// not.
__device__ __noinline__ double far_root(double x)
{
	double most = fabs(x);
	for (int distance = SAMPLES / 2; distance > 0; distance /= 2)
		most = fmax(most, __shfl_xor_sync(0xffffffff, most, distance));
	const int e = scaling(most);
	const double y = power(-e) * x;
	double sum = y * y;
	for (int distance = SAMPLES / 2; distance > 0; distance /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, distance);
	return power(e) * sqrt(sum);
}

// resize finds the lengths of the samples of a column of the warp.
__device__ void Worker::resize(int c)
{
	const double x = lane < WIDTH ? s.samples[c][lane] : 0;
	double sum = x * x;
	for (int distance = SAMPLES / 2; distance > 0; distance /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, distance);
	double length = sum == 0 ? 0 : root(sum, inverse_root(sum));
	if (__any_sync(0xffffffff, !ordinary(sum) && !(x == 0 && sum == 0)))
		length = far_root(x);
	if (lane < WIDTH && lane % SAMPLES == 0)
		s.size[c][lane / SAMPLES] = length;
	__syncwarp();
}

// follow does to the samples of a column of the warp what reflector j does to the column.
__device__ void Worker::follow(int j, int c)
{
	if (c < 0 || taken(c))
		return;
	const double left = s.top[c] - s.tau[j] * s.products[c]; // of row j
	if (lane < WIDTH)
		s.samples[c][lane] -= left * s.over * s.samples[s.pivot][lane];
	__syncwarp();
	resize(c);
}

// spread spreads the errors of the warp's rows as reflector j−1 does, unless there is none, and returns the
// sum of their squares from row j on, scaled.
__device__ double Worker::spread(int j, bool none)
{
	const int p = place(j - 1), next = place(j), e = ERRORS + bound;
	const double size = scale(e), back = power(s.exponent[e]);
	const double all = none ? 0 : s.products[e], tau = all == 0 ? 0 : s.tau[j - 1];
	const int pivot = all == 0 ? 0 : s.pivot;
	const double *x = slice.vector(pivot), factor = scale(pivot), inverse = all == 0 ? 0 : s.inverse[j - 1];
	double *r = slice.vector(e), sum = 0;
	share(all == 0 ? next : p, [&](int i) {
		double y = size * r[i];
		if (all != 0) {
			const double u = i == p ? 1 : inverse * (factor * x[i]), part = u * y;
			const double own = (1 - tau * u * u) * y, others = tau * u, rest = fmax(0.0, all - part * part);
			const double whole = __fma_rn(own, own, others * others * rest);
			y = root(whole, inverse_root(whole));
			if (!ordinary(whole))
				y = own == 0 && others == 0 ? 0 : far_length(own, others * sqrt(rest));
			r[i] = back * y;
		}
		if (i >= next)
			sum = __fma_rn(y, y, sum);
	});
	return warp_sum(sum);
}
