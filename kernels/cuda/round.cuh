// A round of up to eight p-steps as a warp sees it: sixteen columns, eight on the left to be paired with each
// of eight on the right, by their products with each other. E is double or float.
#pragma once

#include "common.cuh"

// owner is the lane that has the products of the columns of pair s with each other (ProductsOf), and so forms
// its rotation.
__device__ inline int owner(int s) { return 4 * s + s / 2; }

// number returns the number of column s of eight, a byte each.
__device__ inline int number(u64 columns, int s) { return (int)(columns >> 8 * s & 0xff); }

// What a rotation makes of two columns p and q: p·a + q·c and p·b + q·d.
template <class E> struct alignas(16) MixOf {
	E a, b, c, d;
};

// mix_of returns cos·p + back·q and sin·p + cos·q, in the other order where the columns are swapped: then cos
// is negative.
template <class E> __device__ inline MixOf<E> mix_of(E cos, E sin, E back)
{
	const bool swap = cos < 0;
	const E c = fabs(cos);
	return {swap ? sin : c, swap ? c : sin, swap ? c : back, swap ? back : c};
}

// place_of returns an address within shared memory, of a lane, so that it stays in a register. The compiler
// would compute it anew in every p-step, from a special register that is slow to be read.
__device__ inline unsigned place_of(const void *shared)
{
	return __shfl_sync(0xffffffff, (unsigned)__cvta_generic_to_shared(shared), 0);
}

// put_mix puts a mix there if `own` is set.
__device__ inline void put_mix(unsigned at, const MixOf<float> &x, bool own)
{
	asm volatile("{\n.reg .pred own;\nsetp.ne.u32 own, %5, 0;\n"
		     "@own st.shared.v4.f32 [%0], {%1, %2, %3, %4};\n}" ::"r"(at),
		     "f"(x.a), "f"(x.b), "f"(x.c), "f"(x.d), "r"((unsigned)own)
		     : "memory");
}

__device__ inline MixOf<float> get_mix(unsigned at)
{
	MixOf<float> x;
	asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
		     : "=f"(x.a), "=f"(x.b), "=f"(x.c), "=f"(x.d)
		     : "r"(at)
		     : "memory");
	return x;
}

// What the p-steps of a round do to sixteen columns: a matrix by which they are multiplied. Lane 4g+t has
// four rows of two of its columns, the left one of pair g and the right one. Which rows is as the tensor
// cores want it: t, t+4, t+8, t+12 of float64, 2t, 2t+1, 2t+8, 2t+9 of float32.
template <class E> struct ProductOf {
	E left[4], right[4];
	int step; // that the columns on the right are in the order of

	// row is that of element i.
	static __device__ int row(int i)
	{
		const int t = threadIdx.x % 4;
		return sizeof(E) == 8 ? 4 * i + t : 8 * (i / 2) + 2 * t + i % 2;
	}

	// reset makes it the identity, in the order of p-step 0.
	__device__ void reset()
	{
		const int g = threadIdx.x % 32 / 4;
#pragma unroll
		for (int i = 0; i < 4; i++) {
			left[i] = row(i) == g;
			right[i] = row(i) == g + 8;
		}
		step = 0;
	}

	// take_identity takes the identity out, in the order of p-step 0.
	__device__ void take_identity()
	{
		const int g = threadIdx.x % 32 / 4;
#pragma unroll
		for (int i = 0; i < 4; i++) {
			left[i] -= row(i) == g;
			right[i] -= row(i) == g + 8;
		}
	}

	__device__ void go_to(int t)
	{
		const int move = step ^ t;
#pragma unroll
		for (int i = 0; i < 4; i++)
			right[i] = __shfl_xor_sync(0xffffffff, right[i], 4 * move);
		step = t;
	}

	// turn applies the rotation of pair g.
	__device__ void turn(const MixOf<E> &m)
	{
#pragma unroll
		for (int i = 0; i < 4; i++) {
			const E x = left[i], y = right[i];
			left[i] = fused(y, m.c, x * m.a);
			right[i] = fused(y, m.d, x * m.b);
		}
	}
};

// The products of sixteen columns with each other. Lane 4g+t has those of the columns of pair g with those of
// pairs 2t and 2t+1: left·left, left·right, right·left and right·right.
template <class E> struct ProductsOf {
	E ll[2], lr[2], rl[2], rr[2];
	int step; // that the columns on the right are in the order of

	// quiet tells whether no pair of the round has a cosine near tol or above: nothing will be rotated. Squares
	// of products must be in the range. square is tol².
	__device__ bool quiet(E square) const
	{
		const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
		const E left = (E)0.98 * square * __shfl_sync(0xffffffff, g & 1 ? ll[1] : ll[0], owner(g));
		bool all = true;
#pragma unroll
		for (int e = 0; e < 2; e++) {
			const E right = __shfl_sync(0xffffffff, rr[e], owner(2 * t + e));
			all = all && lr[e] * lr[e] <= left * right;
		}
		return __all_sync(0xffffffff, all);
	}

	__device__ void go_to(int t)
	{
		const int move = step ^ t;
		if (move & 1)
			exchange();
		shuffle(move);
		step = t;
	}

	// exchange and shuffle are the two parts of go_to: within lanes, if move is odd, and between them.
	__device__ void exchange()
	{
		const E x = lr[0], y = rr[0];
		lr[0] = lr[1];
		lr[1] = x;
		rr[0] = rr[1];
		rr[1] = y;
	}
	__device__ void shuffle(int move)
	{
#pragma unroll
		for (int e = 0; e < 2; e++) {
			lr[e] = __shfl_xor_sync(0xffffffff, lr[e], move / 2);
			rl[e] = __shfl_xor_sync(0xffffffff, rl[e], 4 * move);
			rr[e] = __shfl_xor_sync(0xffffffff, rr[e], 4 * move + move / 2);
		}
	}

	// turn applies the rotations of a p-step: own is that of pair g, others those of 2t and 2t+1.
	__device__ void turn(const MixOf<E> &own, const MixOf<E> (&others)[2])
	{
#pragma unroll
		for (int e = 0; e < 2; e++) {
			const MixOf<E> &other = others[e];
			const E a = fused(lr[e], other.c, ll[e] * other.a), b = fused(lr[e], other.d, ll[e] * other.b);
			const E c = fused(rr[e], other.c, rl[e] * other.a), d = fused(rr[e], other.d, rl[e] * other.b);
			ll[e] = fused(own.c, c, own.a * a);
			rl[e] = fused(own.d, c, own.b * a);
			lr[e] = fused(own.c, d, own.a * b);
			rr[e] = fused(own.d, d, own.b * b);
		}
	}
};
