// Vectors of eight doubles, in three ways: AVX-512 (one register), AVX with FMA (two registers), and plain C.
// The lanes and the order of all operations are the same in all three, so the results are too, bit by bit.
// Each instruction set is one translation unit, which sets its target and then includes this file.
#ifndef JMPI_SIMD_H
#define JMPI_SIMD_H

#include <string.h>

#include "kernels.h"

#define LANES JMPI_LANES
#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

typedef __m512d v8;
typedef __mmask8 m8;

INLINE v8 v8_set1(double a) { return _mm512_set1_pd(a); }
INLINE v8 v8_load(const double *p) { return _mm512_loadu_pd(p); }
INLINE v8 v8_load_part(const double *p, int n) { return _mm512_maskz_loadu_pd((__mmask8)((1 << n) - 1), p); }
INLINE void v8_store(double *p, v8 a) { _mm512_storeu_pd(p, a); }
INLINE void v8_store_part(double *p, v8 a, int n) { _mm512_mask_storeu_pd(p, (__mmask8)((1 << n) - 1), a); }
INLINE v8 v8_add(v8 a, v8 b) { return _mm512_add_pd(a, b); }
INLINE v8 v8_sub(v8 a, v8 b) { return _mm512_sub_pd(a, b); }
INLINE v8 v8_mul(v8 a, v8 b) { return _mm512_mul_pd(a, b); }
INLINE v8 v8_div(v8 a, v8 b) { return _mm512_div_pd(a, b); }
INLINE v8 v8_sqrt(v8 a) { return _mm512_sqrt_pd(a); }
INLINE v8 v8_max(v8 a, v8 b) { return _mm512_max_pd(a, b); }
INLINE v8 v8_abs(v8 a) { return _mm512_andnot_pd(_mm512_set1_pd(-0.0), a); }
INLINE v8 v8_copysign(v8 a, v8 s)
{
	return _mm512_or_pd(v8_abs(a), _mm512_and_pd(_mm512_set1_pd(-0.0), s));
}
INLINE v8 v8_fma(v8 a, v8 b, v8 c) { return _mm512_fmadd_pd(a, b, c); }   // a·b + c
INLINE v8 v8_fnma(v8 a, v8 b, v8 c) { return _mm512_fnmadd_pd(a, b, c); } // c − a·b
INLINE m8 v8_gt(v8 a, v8 b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
INLINE m8 v8_ge(v8 a, v8 b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
INLINE m8 v8_ne(v8 a, v8 b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }
INLINE m8 m8_and(m8 a, m8 b) { return a & b; }
INLINE unsigned m8_bits(m8 a) { return a; }
INLINE v8 v8_select(m8 m, v8 a, v8 b) { return _mm512_mask_mov_pd(b, m, a); } // m ? a : b

// v8_halve adds the halves of a in the low half of the result, those of b in the high half.
INLINE v8 v8_halve(v8 a, v8 b)
{
	return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xee));
}
// v8_sum8 puts into lane i the sum of the lanes of a[i], ((0+4)+(2+6)) + ((1+5)+(3+7)).
INLINE v8 v8_sum8(const v8 a[8])
{
	v8 b[4], c[2];
	for (int i = 0; i < 4; i++) // b[i]: a[i] in the low half, a[i+4] in the high half
		b[i] = v8_halve(a[i], a[i + 4]);
	for (int i = 0; i < 2; i++) { // c[i]: two lanes each of a[i], a[i+2], a[i+4], a[i+6]
		v8 lo = _mm512_permutex2var_pd(b[i], _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b[i + 2]);
		v8 hi = _mm512_permutex2var_pd(b[i], _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b[i + 2]);
		c[i] = _mm512_add_pd(lo, hi);
	}
	return _mm512_add_pd(_mm512_unpacklo_pd(c[0], c[1]), _mm512_unpackhi_pd(c[0], c[1]));
}

#elif defined(__AVX__) && defined(__FMA__)
#include <immintrin.h>

typedef struct { __m256d l, h; } v8;
typedef struct { __m256d l, h; } m8;

#define PAIR(x, y) (v8){(x), (y)}
INLINE v8 v8_set1(double a) { return PAIR(_mm256_set1_pd(a), _mm256_set1_pd(a)); }
INLINE v8 v8_load(const double *p) { return PAIR(_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)); }
INLINE void v8_store(double *p, v8 a) { _mm256_storeu_pd(p, a.l), _mm256_storeu_pd(p + 4, a.h); }
INLINE v8 v8_load_part(const double *p, int n)
{
	double t[LANES] = {0};
	for (int i = 0; i < n; i++) t[i] = p[i];
	return v8_load(t);
}
INLINE void v8_store_part(double *p, v8 a, int n)
{
	double t[LANES];
	v8_store(t, a);
	for (int i = 0; i < n; i++) p[i] = t[i];
}
INLINE v8 v8_add(v8 a, v8 b) { return PAIR(_mm256_add_pd(a.l, b.l), _mm256_add_pd(a.h, b.h)); }
INLINE v8 v8_sub(v8 a, v8 b) { return PAIR(_mm256_sub_pd(a.l, b.l), _mm256_sub_pd(a.h, b.h)); }
INLINE v8 v8_mul(v8 a, v8 b) { return PAIR(_mm256_mul_pd(a.l, b.l), _mm256_mul_pd(a.h, b.h)); }
INLINE v8 v8_div(v8 a, v8 b) { return PAIR(_mm256_div_pd(a.l, b.l), _mm256_div_pd(a.h, b.h)); }
INLINE v8 v8_sqrt(v8 a) { return PAIR(_mm256_sqrt_pd(a.l), _mm256_sqrt_pd(a.h)); }
INLINE v8 v8_max(v8 a, v8 b) { return PAIR(_mm256_max_pd(a.l, b.l), _mm256_max_pd(a.h, b.h)); }
INLINE v8 v8_and(v8 a, v8 b) { return PAIR(_mm256_and_pd(a.l, b.l), _mm256_and_pd(a.h, b.h)); }
INLINE v8 v8_or(v8 a, v8 b) { return PAIR(_mm256_or_pd(a.l, b.l), _mm256_or_pd(a.h, b.h)); }
INLINE v8 v8_abs(v8 a)
{
	__m256d s = _mm256_set1_pd(-0.0);
	return PAIR(_mm256_andnot_pd(s, a.l), _mm256_andnot_pd(s, a.h));
}
INLINE v8 v8_copysign(v8 a, v8 s) { return v8_or(v8_abs(a), v8_and(v8_set1(-0.0), s)); }
INLINE v8 v8_fma(v8 a, v8 b, v8 c)
{
	return PAIR(_mm256_fmadd_pd(a.l, b.l, c.l), _mm256_fmadd_pd(a.h, b.h, c.h));
}
INLINE v8 v8_fnma(v8 a, v8 b, v8 c)
{
	return PAIR(_mm256_fnmadd_pd(a.l, b.l, c.l), _mm256_fnmadd_pd(a.h, b.h, c.h));
}
#define COMPARE(a, b, op) (m8){_mm256_cmp_pd(a.l, b.l, op), _mm256_cmp_pd(a.h, b.h, op)}
INLINE m8 v8_gt(v8 a, v8 b) { return COMPARE(a, b, _CMP_GT_OQ); }
INLINE m8 v8_ge(v8 a, v8 b) { return COMPARE(a, b, _CMP_GE_OQ); }
INLINE m8 v8_ne(v8 a, v8 b) { return COMPARE(a, b, _CMP_NEQ_UQ); }
INLINE m8 m8_and(m8 a, m8 b) { return (m8){_mm256_and_pd(a.l, b.l), _mm256_and_pd(a.h, b.h)}; }
INLINE unsigned m8_bits(m8 a) { return (unsigned)(_mm256_movemask_pd(a.l) | _mm256_movemask_pd(a.h) << 4); }
INLINE v8 v8_select(m8 m, v8 a, v8 b)
{
	return PAIR(_mm256_blendv_pd(b.l, a.l, m.l), _mm256_blendv_pd(b.h, a.h, m.h));
}

// sum4 puts into lane i the sum of the lanes of a[i], ((0+4)+(2+6)) + ((1+5)+(3+7)).
INLINE __m256d sum4(const v8 a[4])
{
	__m256d b[4], c[2];
	for (int i = 0; i < 4; i++)
		b[i] = _mm256_add_pd(a[i].l, a[i].h);
	for (int i = 0; i < 2; i++)
		c[i] = _mm256_add_pd(_mm256_permute2f128_pd(b[i], b[i + 2], 0x20),
				     _mm256_permute2f128_pd(b[i], b[i + 2], 0x31));
	return _mm256_add_pd(_mm256_unpacklo_pd(c[0], c[1]), _mm256_unpackhi_pd(c[0], c[1]));
}
INLINE v8 v8_sum8(const v8 a[8]) { return PAIR(sum4(a), sum4(a + 4)); }

#else

typedef struct { double x[LANES]; } v8;
typedef unsigned m8;

#define EACH(expr) v8 r; for (int i = 0; i < LANES; i++) r.x[i] = (expr); return r
#define EACH_BIT(expr) m8 r = 0; for (int i = 0; i < LANES; i++) r |= (unsigned)(expr) << i; return r
INLINE v8 v8_set1(double a) { EACH(a); }
INLINE v8 v8_load(const double *p) { EACH(p[i]); }
INLINE v8 v8_load_part(const double *p, int n) { EACH(i < n ? p[i] : 0); }
INLINE void v8_store_part(double *p, v8 a, int n) { for (int i = 0; i < n; i++) p[i] = a.x[i]; }
INLINE void v8_store(double *p, v8 a) { v8_store_part(p, a, LANES); }
INLINE v8 v8_add(v8 a, v8 b) { EACH(a.x[i] + b.x[i]); }
INLINE v8 v8_sub(v8 a, v8 b) { EACH(a.x[i] - b.x[i]); }
INLINE v8 v8_mul(v8 a, v8 b) { EACH(a.x[i] * b.x[i]); }
INLINE v8 v8_div(v8 a, v8 b) { EACH(a.x[i] / b.x[i]); }
INLINE v8 v8_sqrt(v8 a) { EACH(__builtin_sqrt(a.x[i])); }
INLINE v8 v8_max(v8 a, v8 b) { EACH(a.x[i] > b.x[i] ? a.x[i] : b.x[i]); }
INLINE v8 v8_abs(v8 a) { EACH(__builtin_fabs(a.x[i])); }
INLINE v8 v8_copysign(v8 a, v8 s) { EACH(__builtin_copysign(a.x[i], s.x[i])); }
INLINE v8 v8_fma(v8 a, v8 b, v8 c) { EACH(__builtin_fma(a.x[i], b.x[i], c.x[i])); }
INLINE v8 v8_fnma(v8 a, v8 b, v8 c) { EACH(__builtin_fma(-a.x[i], b.x[i], c.x[i])); }
INLINE m8 v8_gt(v8 a, v8 b) { EACH_BIT(a.x[i] > b.x[i]); }
INLINE m8 v8_ge(v8 a, v8 b) { EACH_BIT(a.x[i] >= b.x[i]); }
INLINE m8 v8_ne(v8 a, v8 b) { EACH_BIT(a.x[i] != b.x[i]); }
INLINE m8 m8_and(m8 a, m8 b) { return a & b; }
INLINE unsigned m8_bits(m8 a) { return a; }
INLINE v8 v8_select(m8 m, v8 a, v8 b) { EACH(m >> i & 1 ? a.x[i] : b.x[i]); }
INLINE double sum(v8 a)
{
	return ((a.x[0] + a.x[4]) + (a.x[2] + a.x[6])) + ((a.x[1] + a.x[5]) + (a.x[3] + a.x[7]));
}
INLINE v8 v8_sum8(const v8 a[8]) { EACH(sum(a[i])); }

#endif
#endif
