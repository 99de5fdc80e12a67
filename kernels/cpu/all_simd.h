// All kernels for the instruction set INSTRUCTIONS and elements of BITS bits, in the table
// jmpi_kernels_<INSTRUCTIONS>_<BITS>.
#define NAME_(a) #a
#define NAME(a) NAME_(a)

#include "simd.h"

// columns_of fills c with the addresses of the columns of [P Q].
INLINE void columns_of(struct jmpi_pivot g, REAL **c)
{
	for (int64_t j = 0; j < g.np; j++)
		*c++ = (REAL *)g.p + j * g.ldp;
	for (int64_t j = 0; j < g.nq; j++)
		*c++ = (REAL *)g.q + j * g.ldq;
}

// scaled copies m rows and n columns of src, times c, to dst; the rows of dst between m and ldd are
// not touched.
INLINE void scaled(int64_t m, int64_t n, REAL *dst, int64_t ldd, const REAL *src, int64_t lds, REAL c)
{
	vec s = v_set1(c);
	for (int64_t j = 0; j < n; j++) {
		REAL *d = dst + j * ldd;
		const REAL *x = src + j * lds;
		int64_t i = 0;
		for (; i + LANES <= m; i += LANES)
			v_store(d + i, v_mul(s, v_load(x + i)));
		if (i < m)
			v_store_part(d + i, v_mul(s, v_load_part(x + i, (int)(m - i))), (int)(m - i));
	}
}

#include "gram_simd.h"
#include "screen_simd.h"
#include "multiply_simd.h"
#if BITS == 64
#include "newton_simd.h"
#endif
#include "rotation_simd.h"
#include "jacobi_simd.h"
#include "dense_simd.h"

const struct jmpi_kernels JOIN(JOIN(jmpi_kernels_, INSTRUCTIONS), JOIN(_, BITS)) = {
	NAME(INSTRUCTIONS), gram, screen, jacobi, jacobi_work, multiply, multiply_work, combine, angles};
