package cpu

// #include <stdint.h>
// #if defined(__SSE__)
// #include <xmmintrin.h>
// #endif
//
// void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
//	const float *alpha, const float *a, const int *lda, const float *b, const int *ldb, const float *beta,
//	float *c, const int *ldc);
// void ssyrk_(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha,
//	const float *a, const int *lda, const float *beta, float *c, const int *ldc);
//
// // flush lets the calling thread take zero for subnormal numbers, and returns what restore is to restore.
// static uint64_t flush(void)
// {
// #if defined(__SSE__)
//	const unsigned before = _mm_getcsr();
//	_mm_setcsr(before | 0x8040); // results, and operands
//	return before;
// #elif defined(__aarch64__)
//	uint64_t before;
//	__asm__ volatile("mrs %0, fpcr" : "=r"(before));
//	__asm__ volatile("msr fpcr, %0" : : "r"(before | 1ull << 24));
//	return before;
// #else
//	return 0;
// #endif
// }
//
// static void restore(uint64_t before)
// {
// #if defined(__SSE__)
//	_mm_setcsr((unsigned)before);
// #elif defined(__aarch64__)
//	__asm__ volatile("msr fpcr, %0" : : "r"(before));
// #endif
// }
//
// static void single_gemm(char ta, char tb, int m, int n, int k, float alpha, const float *a, int lda,
//	const float *b, int ldb, float beta, float *c, int ldc)
// {
//	const uint64_t before = flush();
//	sgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
//	restore(before);
// }
//
// static void single_syrk(int n, int k, float alpha, const float *a, int lda, float beta, float *c, int ldc)
// {
//	const uint64_t before = flush();
//	ssyrk_("U", "T", &n, &k, &alpha, a, &lda, &beta, c, &ldc);
//	restore(before);
// }
import "C"

import "jmpi/kernels"

// singleGemm does one product of float32, and singleSyrk the upper triangle of one of Aᵀ and A. They take
// zero for numbers below 2⁻¹²⁶: processors of Intel take a hundred times as long for those, and the powers of
// small angles are full of them. No sum of others changes by more than its rounding errors.
func singleGemm(g kernels.Gemm) {
	C.single_gemm(letter(g.TransA), letter(g.TransB), C.int(g.C.M), C.int(g.C.N), C.int(g.Inner()),
		C.float(g.Alpha), singles(g.A), C.int(g.A.Ld), singles(g.B), C.int(g.B.Ld), C.float(g.Beta), singles(g.C),
		C.int(g.C.Ld))
}

func singleSyrk(g kernels.Gemm) {
	C.single_syrk(C.int(g.C.N), C.int(g.A.M), C.float(g.Alpha), singles(g.A), C.int(g.A.Ld), C.float(g.Beta),
		singles(g.C), C.int(g.C.Ld))
}

func singles(p kernels.Panel) *C.float { return (*C.float)(pointer(p.Data)) }

func letter(transposed bool) C.char {
	if transposed {
		return 'T'
	}
	return 'N'
}
