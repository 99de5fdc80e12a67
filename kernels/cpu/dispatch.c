// Chooses the kernels for the processor at hand.
#include "kernels.h"

#include <string.h>

extern const struct jmpi_kernels jmpi_kernels_generic;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

extern const struct jmpi_kernels jmpi_kernels_avx2, jmpi_kernels_avx512;

const struct jmpi_kernels *jmpi_select(const char *best)
{
	__builtin_cpu_init();
	int avx512 = !strcmp(best, "avx512"), avx2 = avx512 || !strcmp(best, "avx2");
	if (avx512 && __builtin_cpu_supports("x86-64-v4"))
		return &jmpi_kernels_avx512;
	if (avx2 && __builtin_cpu_supports("x86-64-v3"))
		return &jmpi_kernels_avx2;
	return &jmpi_kernels_generic;
}

#else

const struct jmpi_kernels *jmpi_select(const char *best)
{
	(void)best;
	return &jmpi_kernels_generic;
}

#endif
