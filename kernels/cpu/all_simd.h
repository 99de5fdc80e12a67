// All kernels for the instruction set INSTRUCTIONS, in the table jmpi_kernels_<INSTRUCTIONS>.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME_(a) #a
#define NAME(a) NAME_(a)

#include "simd.h"

// columns_of fills c with the addresses of the columns of [P Q].
INLINE void columns_of(struct jmpi_pivot g, double **c)
{
	for (int64_t j = 0; j < g.np; j++)
		*c++ = g.p + j * g.ldp;
	for (int64_t j = 0; j < g.nq; j++)
		*c++ = g.q + j * g.ldq;
}

#include "gram_simd.h"
#include "jacobi_simd.h"
#include "multiply_simd.h"

const struct jmpi_kernels JOIN(jmpi_kernels_, INSTRUCTIONS) = {NAME(INSTRUCTIONS), gram, jacobi, multiply};
