// Chooses the kernels for the processor at hand.
#include "kernels.h"

#include <string.h>

#define DECLARE(set) extern const struct jmpi_kernels jmpi_kernels_##set##_64, jmpi_kernels_##set##_32
#define CHOOSE(set) (bits == 64 ? &jmpi_kernels_##set##_64 : &jmpi_kernels_##set##_32)

DECLARE(generic);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

DECLARE(avx2);
DECLARE(avx512);

const struct jmpi_kernels *jmpi_select(const char *best, int bits)
{
	__builtin_cpu_init();
	int avx512 = !strcmp(best, "avx512"), avx2 = avx512 || !strcmp(best, "avx2");
	if (avx512 && __builtin_cpu_supports("x86-64-v4"))
		return CHOOSE(avx512);
	if (avx2 && __builtin_cpu_supports("x86-64-v3"))
		return CHOOSE(avx2);
	return CHOOSE(generic);
}

#else

const struct jmpi_kernels *jmpi_select(const char *best, int bits)
{
	(void)best;
	return CHOOSE(generic);
}

#endif
