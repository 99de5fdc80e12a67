// Products of small matrices of float32 that are spread over the lanes of a warp as the tensor cores have
// them. An operand is split into two numbers of type TF32, so that three products have nearly the accuracy of
// float32. Before compute capability 8.0 there is neither, and one product.
#pragma once

#include "common.cuh"

template <int N> struct Split {
	float high[N], low[N];
};

template <int N> __device__ inline Split<N> split(const float (&x)[N])
{
	Split<N> s;
#pragma unroll
	for (int i = 0; i < N; i++) {
#if __CUDA_ARCH__ >= 800
		s.high[i] = __uint_as_float((__float_as_uint(x[i]) + 0x1000) & 0xffffe000);
		s.low[i] = x[i] - s.high[i]; // of which the tensor cores take what counts
#else
		s.high[i] = x[i];
		s.low[i] = 0;
#endif
	}
	return s;
}

#if __CUDA_ARCH__ < 800
struct Part {
	float c[4];
};

// with_part is add_part without tensor cores. A function of its own, so that the compiler does not take
// minutes.
__device__ __noinline__ Part with_part(Part x, float a0, float a1, float a2, float a3, float b0, float b1)
{
	const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
	for (int l = 0; l < 8; l++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			x.c[i] = __fmaf_rn(__shfl_sync(0xffffffff, l < 4 ? i < 2 ? a0 : a1 : i < 2 ? a2 : a3, 4 * g + l % 4),
					   __shfl_sync(0xffffffff, l < 4 ? b0 : b1, 4 * (2 * t + i % 2) + l % 4), x.c[i]);
	return x;
}
#endif

// add_part adds to c the product of a 16×8 and an 8×8 matrix of TF32: lane 4g+t has the elements (g,t),
// (g+8,t), (g,t+4), (g+8,t+4) of a, (t,g), (t+4,g) of b, and in c[2h+e] element (g+8h, 2t+e) of the sum.
__device__ inline void add_part(float (&c)[4], const float (&a)[4], const float (&b)[2])
{
#if __CUDA_ARCH__ >= 800
	asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
	    "{%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
	      "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else
	const Part x = with_part({c[0], c[1], c[2], c[3]}, a[0], a[1], a[2], a[3], b[0], b[1]);
#pragma unroll
	for (int i = 0; i < 4; i++)
		c[i] = x.c[i];
#endif
}

// add_product adds the product of split matrices, all three parts.
__device__ inline void add_product(float (&c)[4], const Split<4> &a, const Split<2> &b)
{
	add_part(c, a.high, b.high);
#if __CUDA_ARCH__ >= 800
	add_part(c, a.low, b.high);
	add_part(c, a.high, b.low);
#endif
}

// A sum of products of split matrices whose parts do not wait for each other.
struct Sum {
	float whole[4] = {}, left[4] = {}, right[4] = {};

	__device__ void add(const Split<4> &a, const Split<2> &b)
	{
		add_part(whole, a.high, b.high);
#if __CUDA_ARCH__ >= 800
		add_part(left, a.low, b.high);
		add_part(right, a.high, b.low);
#endif
	}
	__device__ float get(int i) const { return whole[i] + (left[i] + right[i]); }
};
