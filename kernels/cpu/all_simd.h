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

// scaled copies m rows and n columns of src, times c, to dst; the rows of dst between m and ldd are
// not touched.
INLINE void scaled(int64_t m, int64_t n, double *dst, int64_t ldd, const double *src, int64_t lds, double c)
{
	v8 s = v8_set1(c);
	for (int64_t j = 0; j < n; j++) {
		double *d = dst + j * ldd;
		const double *x = src + j * lds;
		int64_t i = 0;
		for (; i + LANES <= m; i += LANES)
			v8_store(d + i, v8_mul(s, v8_load(x + i)));
		if (i < m)
			v8_store_part(d + i, v8_mul(s, v8_load_part(x + i, (int)(m - i))), (int)(m - i));
	}
}

#include "gram_simd.h"
#include "multiply_simd.h"
#include "newton_simd.h"
#include "jacobi_simd.h"

const struct jmpi_kernels JOIN(jmpi_kernels_, INSTRUCTIONS) = {NAME(INSTRUCTIONS), gram, jacobi, multiply};
