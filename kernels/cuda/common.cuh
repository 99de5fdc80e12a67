// What all kernels share: the description of a pivot problem, and sums over a warp or a block.
// All matrices are column-major; sizes and leading dimensions are in elements.
#pragma once

typedef long long i64;
typedef unsigned long long u64;

constexpr double EPSILON = 0x1p-53;

// The least squared norm of a column that Cholesky takes in float64. Below it a column has lost its scaling.
constexpr double LEAST_TAKEN = 0x1p-900;

// kernels.Tally
struct Tally {
	i64 rotations, proper, open, idle, changed, broken, inactive, degenerate;
	double cosine;
};

// A pivot block-pair [P Q] of m rows, P of np columns, of float64 or float32.
template <class E> struct PivotOf {
	E *p, *q;
	i64 m, np, ldp, ldq;
};

// A pivot problem of order k, laid out as `problem` in queue.go. What a primitive does not use may be 0.
template <class E> struct ProblemOf {
	PivotOf<E> g, v;
	E *r, *t; // k×k
	i64 ldr, ldt, k;
	i64 chunk; // rows of g that one block of the Gram kernel sums
	double tol; // c(ε)
	double screen; // the largest cosine of columns that pass for orthogonal
	Tally *tally;
	i64 positive; // columns with sign +1, the leading ones
	i64 left; // columns of P where only pairs with one of Q are to be made orthogonal; -1: all pairs

	E *gram_p, *gram_q; // the products of the columns of P, and of Q; 0 where they are not kept
	i64 ld_gram_p, ld_gram_q;
	i64 afresh; // 1: the products are to be formed anew

	// of float32 only: kernels.Single
	double *norms_p, *norms_q; // of the columns of g
	double *factors; // those of r
	i64 scaled; // 1: V is multiplied by T
};

using Pivot = PivotOf<double>;
using Problem = ProblemOf<double>;
using SingleProblem = ProblemOf<float>;

// What a column of T asks for: that the identity is taken out of T, or that the product is zero.
enum Column { NEAR = 1, ZERO = 2 };

// A panel of a list, as `member` in lists.go.
struct Member {
	double *p;
	i64 m, n, ld, first; // first: how many columns the panels before it have
};

// in_turn waits until the kernel before this one in its stream has ended, which launch.go lets start early
// (`inTurn`). Nothing that another kernel writes is read before it, and nothing is written.
__device__ inline void in_turn()
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// skipped tells whether nothing is to be done for a problem after Cholesky: its columns are orthogonal.
template <class E> __device__ inline bool skipped(const ProblemOf<E> &b) { return b.tally->inactive != 0; }

// factored tells whether R is, or becomes, a Cholesky factor.
template <class E> __device__ inline bool factored(const ProblemOf<E> &b)
{
	return !b.tally->broken && !skipped(b);
}

// column returns the address of column j of [P Q].
template <class E> __device__ inline E *column(const PivotOf<E> &g, i64 j)
{
	return j < g.np ? g.p + j * g.ldp : g.q + (j - g.np) * g.ldq;
}

// even tells whether columns from p on, ld apart, lie at multiples of 16 bytes.
__device__ inline bool even(const double *p, i64 ld) { return ((u64)p & 15) == 0 && (ld & 1) == 0; }

// fused returns x·y + z, rounded once.
__device__ inline double fused(double x, double y, double z) { return __fma_rn(x, y, z); }
__device__ inline float fused(float x, float y, float z) { return __fmaf_rn(x, y, z); }

// warp_sum returns the sum over the lanes, the same bits on all of them: lanes i and i⊕16, ⊕8, … are added.
template <class E> __device__ inline E warp_sum(E x)
{
	for (int distance = 16; distance > 0; distance /= 2)
		x += __shfl_xor_sync(0xffffffff, x, distance);
	return x;
}

template <class E> __device__ inline E warp_max(E x)
{
	for (int distance = 16; distance > 0; distance /= 2)
		x = max(x, __shfl_xor_sync(0xffffffff, x, distance));
	return x;
}

// block_reduce combines x of all 256 threads, the warps in order, and returns the result to all.
template <class F>
__device__ inline double block_reduce(double x, double *shared, F combine)
{
	for (int distance = 16; distance > 0; distance /= 2)
		x = combine(x, __shfl_xor_sync(0xffffffff, x, distance));
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		shared[threadIdx.x / 32] = x;
	__syncthreads();
	x = shared[0];
	for (int w = 1; w < 8; w++)
		x = combine(x, shared[w]);
	return x;
}

// exponent returns e with 2ᵉ⁻¹ ≤ x < 2ᵉ, or 0 if x is 0 or not finite.
__device__ inline int exponent(double x)
{
	if (!(x > 0 && x < 1.0 / 0.0))
		return 0;
	const bool tiny = x < 0x1p-1022;
	return (int)(__double_as_longlong(tiny ? x * 0x1p54 : x) >> 52) - (tiny ? 1022 + 54 : 1022);
}

// power returns 2ᵉ for −1022 ≤ e ≤ 1023.
__device__ inline double power(int e) { return __longlong_as_double((i64)(1023 + e) << 52); }
