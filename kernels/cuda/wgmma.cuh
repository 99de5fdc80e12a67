// Products on the tensor cores of compute capability 9.0, which a group of 128 threads starts together:
// numbers of type TF32, that is float32 of which the last 13 bits do not count, summed in float32. The sums
// are cut off and not rounded, so they must be short. Only where WGMMA is set: the compiler must know sm_90a.
#pragma once

#include "barrier.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define WGMMA 1
#endif

// high is what TF32 has of a number, rest what it has of what is left, times `factor`, a power of 2.
__device__ inline float high(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000); }
__device__ inline float rounded(float x) { return __uint_as_float(__float_as_uint(x) + 0x1000); }
__device__ inline float rest(float x, float factor) { return rounded((x - high(x)) * factor); }

#ifdef WGMMA
// copy4 starts to copy four numbers to shared memory: the first n, the others become zero. ALIGNED: they lie
// at a multiple of 16 bytes.
template <bool ALIGNED> __device__ inline void copy4(unsigned to, const float *from, int n)
{
	n = n < 0 ? 0 : n > 4 ? 4 : n;
	if (ALIGNED)
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(4 * n)
			     : "memory");
#pragma unroll
	for (int i = 0; i < (ALIGNED ? 0 : 4); i++)
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + 4 * i),
			     "l"(i < n ? from + i : from), "r"(i < n ? 4 : 0) : "memory");
}

// operand describes a matrix in shared memory, of 8 rows of 32 bytes or more. Its rows are 128 bytes apart.
// Within 8 rows that begin at a multiple of 1024 bytes, piece i of 16 bytes of row r is in place i⊕r.
__device__ inline u64 operand(unsigned address)
{
	return (u64)(address >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// begin_products comes before products of registers that were changed, end_products after the last one.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// The operands of an instruction that changes 32 numbers d, and their names in its text: the first 32, and
// the next ones.
#define CHANGED8(d, i)                                                                                       \
	"+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),          \
		"+f"(d[i + 6]), "+f"(d[i + 7])
#define CHANGED(d) CHANGED8(d, 0), CHANGED8(d, 8), CHANGED8(d, 16), CHANGED8(d, 24)
#define FIRST_32                                                                                             \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                               \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NEXT_32                                                                                              \
	"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                     \
	"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// wait_products waits until d has the products.
__device__ inline void wait_products(float (&d)[1][32])
{
	asm volatile("wgmma.wait_group.sync.aligned 0;" : CHANGED(d[0])::"memory");
}
__device__ inline void wait_products(float (&d)[2][32])
{
	asm volatile("wgmma.wait_group.sync.aligned 0;" : CHANGED(d[0]), CHANGED(d[1])::"memory");
}

// see_copied lets the tensor cores see what others have written to shared memory.
__device__ inline void see_copied() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// add_product starts d ← a·b, or d + a·b if add ≠ 0, for a 64×8 matrix a and an 8×64 or 8×128 matrix b. Lane
// 4g+t of warp w of the group has elements (g,t), (g+8,t), (g,t+4), (g+8,t+4) of rows 16w … 16w+15 of a, and
// in d[4j+2h+e] element (g+8h, 8j+2t+e) of these rows of d. bᵀ is the operand.
#define ADD_PRODUCT(COLUMNS, D, A, B, ADD)                                                                   \
	"{\n.reg .pred add;\nsetp.ne.b32 add, " ADD ", 0;\n"                                                     \
	"wgmma.mma_async.sync.aligned.m64n" COLUMNS "k8.f32.tf32.tf32 {" D "}, {" A "}, " B ", add, 1, 1;\n}"
#define OPERANDS(a, b, add)                                                                                  \
	"r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),                        \
		"r"(__float_as_uint(a[3])), "l"(b), "r"(add)
__device__ inline void add_product(float (&d)[1][32], const float (&a)[4], u64 b, int add)
{
	asm volatile(ADD_PRODUCT("64", FIRST_32, "%32, %33, %34, %35", "%36", "%37")
		     : CHANGED(d[0])
		     : OPERANDS(a, b, add));
}
__device__ inline void add_product(float (&d)[2][32], const float (&a)[4], u64 b, int add)
{
	asm volatile(ADD_PRODUCT("128", FIRST_32 ", " NEXT_32, "%64, %65, %66, %67", "%68", "%69")
		     : CHANGED(d[0]), CHANGED(d[1])
		     : OPERANDS(a, b, add));
}
#endif
