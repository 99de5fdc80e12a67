// Products of matrices that are spread over the lanes of a warp as the tensor cores have them.
#pragma once

#include "tile.cuh"

// add_product adds to c the product of a 16×4 and a 4×8 matrix: lane 4g+t has the elements (g,t) and (g+8,t)
// of a, (t,g) of b, and in c[2h+e] element (g+8h, 2t+e) of the sum.
__device__ inline void add_product(double c[4], const double a[2], double b)
{
#if __CUDA_ARCH__ >= 800
	mma(c, a, b);
#else
	const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
	for (int l = 0; l < 4; l++)
		for (int i = 0; i < 4; i++)
			c[i] = __fma_rn(__shfl_sync(0xffffffff, a[i / 2], 4 * g + l),
					__shfl_sync(0xffffffff, b, 4 * (2 * t + i % 2) + l), c[i]);
#endif
}
