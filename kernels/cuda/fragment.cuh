// Products of matrices that are spread over the lanes of a warp as the tensor cores have them.
#pragma once

#include "tile.cuh"

#if __CUDA_ARCH__ < 800
struct Fragment {
	double c[4];
};

// with_product is add_product without tensor cores. A function of its own, so that the compiler does not take
// minutes.
__device__ __noinline__ Fragment with_product(Fragment f, double a0, double a1, double b)
{
	const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
	for (int l = 0; l < 4; l++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			f.c[i] = __fma_rn(__shfl_sync(0xffffffff, i / 2 ? a1 : a0, 4 * g + l),
					  __shfl_sync(0xffffffff, b, 4 * (2 * t + i % 2) + l), f.c[i]);
	return f;
}
#endif

// add_product adds to c the product of a 16×4 and a 4×8 matrix: lane 4g+t has the elements (g,t) and (g+8,t)
// of a, (t,g) of b, and in c[2h+e] element (g+8h, 2t+e) of the sum.
__device__ inline void add_product(double c[4], const double a[2], double b)
{
#if __CUDA_ARCH__ >= 800
	mma(c, a, b);
#else
	const Fragment f = with_product({c[0], c[1], c[2], c[3]}, a[0], a[1], b);
#pragma unroll
	for (int i = 0; i < 4; i++)
		c[i] = f.c[i];
#endif
}
