// Vectors of LANES numbers of type REAL, 64 bytes, in three ways: AVX-512 (one register), AVX with FMA (two
// registers), and plain C. The lanes and the order of all operations are the same in all three, so the
// results are too, bit by bit. Each instruction set and type is one translation unit, which sets its target
// and BITS, 64 or 32, and then includes this file.
#ifndef JMPI_SIMD_H
#define JMPI_SIMD_H

#include <string.h>

#include "kernels.h"

#define LANES (64 * 8 / BITS)
#define HALF (LANES / 2)
#define INLINE static inline __attribute__((always_inline))

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#if BITS == 64
typedef double REAL;
#define SUFFIX pd // of intrinsics
#define OF_TYPE(name) name
#define SMALLEST 0x1p-1022 // normal number
#else
typedef float REAL;
#define SUFFIX ps
#define OF_TYPE(name) name##f // of functions of C
#define SMALLEST 0x1p-126f
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

#define X(operation) JOIN(_mm512_##operation##_, SUFFIX)
#if BITS == 64
typedef __m512d vec;
typedef __mmask8 mask;
#define COMPARE(a, b, op) _mm512_cmp_pd_mask(a, b, op)
#else
typedef __m512 vec;
typedef __mmask16 mask;
#define COMPARE(a, b, op) _mm512_cmp_ps_mask(a, b, op)
#endif

INLINE vec v_set1(REAL a) { return X(set1)(a); }
INLINE vec v_load(const REAL *p) { return X(loadu)(p); }
INLINE vec v_load_part(const REAL *p, int n) { return X(maskz_loadu)((mask)((1 << n) - 1), p); }
INLINE void v_store(REAL *p, vec a) { X(storeu)(p, a); }
INLINE void v_store_part(REAL *p, vec a, int n) { X(mask_storeu)(p, (mask)((1 << n) - 1), a); }
INLINE vec v_add(vec a, vec b) { return X(add)(a, b); }
INLINE vec v_sub(vec a, vec b) { return X(sub)(a, b); }
INLINE vec v_mul(vec a, vec b) { return X(mul)(a, b); }
INLINE vec v_div(vec a, vec b) { return X(div)(a, b); }
INLINE vec v_sqrt(vec a) { return X(sqrt)(a); }
INLINE vec v_max(vec a, vec b) { return X(max)(a, b); }
INLINE vec v_abs(vec a) { return X(andnot)(X(set1)((REAL)-0.0), a); }
INLINE vec v_copysign(vec a, vec s) { return X(or)(v_abs(a), X(and)(X(set1)((REAL)-0.0), s)); }
INLINE vec v_fma(vec a, vec b, vec c) { return X(fmadd)(a, b, c); }   // a·b + c
INLINE vec v_fnma(vec a, vec b, vec c) { return X(fnmadd)(a, b, c); } // c − a·b
INLINE mask v_gt(vec a, vec b) { return COMPARE(a, b, _CMP_GT_OQ); }
INLINE mask v_ge(vec a, vec b) { return COMPARE(a, b, _CMP_GE_OQ); }
INLINE mask v_ne(vec a, vec b) { return COMPARE(a, b, _CMP_NEQ_UQ); }
INLINE mask m_and(mask a, mask b) { return a & b; }
INLINE unsigned m_bits(mask a) { return a; }
INLINE vec v_select(mask m, vec a, vec b) { return X(mask_mov)(b, m, a); } // m ? a : b

// v_halve adds the halves of a in the low half of the result, those of b in the high half.
INLINE vec v_halve(vec a, vec b)
{
#if BITS == 64
	return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xee));
#else
	return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
#endif
}

// v_sums puts into lane i the sum of the lanes of a[i]: l and l + LANES/2 are added, of these l and l +
// LANES/4, and so on.
INLINE vec v_sums(const vec a[LANES])
{
#if BITS == 64
	vec b[4], c[2];
	for (int i = 0; i < 4; i++) // b[i]: a[i] in the low half, a[i+4] in the high half
		b[i] = v_halve(a[i], a[i + 4]);
	for (int i = 0; i < 2; i++) { // c[i]: two lanes each of a[i], a[i+2], a[i+4], a[i+6]
		vec lo = _mm512_permutex2var_pd(b[i], _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b[i + 2]);
		vec hi = _mm512_permutex2var_pd(b[i], _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b[i + 2]);
		c[i] = _mm512_add_pd(lo, hi);
	}
	return _mm512_add_pd(_mm512_unpacklo_pd(c[0], c[1]), _mm512_unpackhi_pd(c[0], c[1]));
#else
	__m512d q[4];
	for (int i = 0; i < 4; i++) { // q[i]: four lanes each of a[i], a[i+4], a[i+8], a[i+12]
		vec x = v_halve(a[i], a[i + 4]), y = v_halve(a[i + 8], a[i + 12]);
		q[i] = _mm512_castps_pd(
			_mm512_add_ps(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd)));
	}
	vec h[2];
	for (int i = 0; i < 2; i++) // h[i]: two lanes each, of q[2i] and q[2i+1] in turn
		h[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(q[2 * i], q[2 * i + 1])),
				     _mm512_castpd_ps(_mm512_unpackhi_pd(q[2 * i], q[2 * i + 1])));
	return _mm512_add_ps(_mm512_shuffle_ps(h[0], h[1], 0x88), _mm512_shuffle_ps(h[0], h[1], 0xdd));
#endif
}

#elif defined(__AVX__) && defined(__FMA__)
#include <immintrin.h>

#define X(operation) JOIN(_mm256_##operation##_, SUFFIX)
#if BITS == 64
typedef __m256d half;
#define X_COMPARE _mm256_cmp_pd
#else
typedef __m256 half;
#define X_COMPARE _mm256_cmp_ps
#endif
typedef struct { half l, h; } vec;
typedef struct { half l, h; } mask;

#define PAIR(x, y) (vec){(x), (y)}
INLINE vec v_set1(REAL a) { return PAIR(X(set1)(a), X(set1)(a)); }
INLINE vec v_load(const REAL *p) { return PAIR(X(loadu)(p), X(loadu)(p + HALF)); }
INLINE void v_store(REAL *p, vec a) { X(storeu)(p, a.l), X(storeu)(p + HALF, a.h); }
INLINE vec v_load_part(const REAL *p, int n)
{
	REAL t[LANES] = {0};
	for (int i = 0; i < n; i++) t[i] = p[i];
	return v_load(t);
}
INLINE void v_store_part(REAL *p, vec a, int n)
{
	REAL t[LANES];
	v_store(t, a);
	for (int i = 0; i < n; i++) p[i] = t[i];
}
INLINE vec v_add(vec a, vec b) { return PAIR(X(add)(a.l, b.l), X(add)(a.h, b.h)); }
INLINE vec v_sub(vec a, vec b) { return PAIR(X(sub)(a.l, b.l), X(sub)(a.h, b.h)); }
INLINE vec v_mul(vec a, vec b) { return PAIR(X(mul)(a.l, b.l), X(mul)(a.h, b.h)); }
INLINE vec v_div(vec a, vec b) { return PAIR(X(div)(a.l, b.l), X(div)(a.h, b.h)); }
INLINE vec v_sqrt(vec a) { return PAIR(X(sqrt)(a.l), X(sqrt)(a.h)); }
INLINE vec v_max(vec a, vec b) { return PAIR(X(max)(a.l, b.l), X(max)(a.h, b.h)); }
INLINE vec v_and(vec a, vec b) { return PAIR(X(and)(a.l, b.l), X(and)(a.h, b.h)); }
INLINE vec v_or(vec a, vec b) { return PAIR(X(or)(a.l, b.l), X(or)(a.h, b.h)); }
INLINE vec v_abs(vec a)
{
	half s = X(set1)((REAL)-0.0);
	return PAIR(X(andnot)(s, a.l), X(andnot)(s, a.h));
}
INLINE vec v_copysign(vec a, vec s) { return v_or(v_abs(a), v_and(v_set1((REAL)-0.0), s)); }
INLINE vec v_fma(vec a, vec b, vec c) { return PAIR(X(fmadd)(a.l, b.l, c.l), X(fmadd)(a.h, b.h, c.h)); }
INLINE vec v_fnma(vec a, vec b, vec c) { return PAIR(X(fnmadd)(a.l, b.l, c.l), X(fnmadd)(a.h, b.h, c.h)); }
#define COMPARE(a, b, op) (mask){X_COMPARE(a.l, b.l, op), X_COMPARE(a.h, b.h, op)}
INLINE mask v_gt(vec a, vec b) { return COMPARE(a, b, _CMP_GT_OQ); }
INLINE mask v_ge(vec a, vec b) { return COMPARE(a, b, _CMP_GE_OQ); }
INLINE mask v_ne(vec a, vec b) { return COMPARE(a, b, _CMP_NEQ_UQ); }
INLINE mask m_and(mask a, mask b) { return (mask){X(and)(a.l, b.l), X(and)(a.h, b.h)}; }
INLINE unsigned m_bits(mask a) { return (unsigned)X(movemask)(a.l) | (unsigned)X(movemask)(a.h) << HALF; }
INLINE vec v_select(mask m, vec a, vec b) { return PAIR(X(blendv)(b.l, a.l, m.l), X(blendv)(b.h, a.h, m.h)); }

// half_sums puts into lane i the sum of the lanes of a[i], in the order of v_sums for AVX-512.
INLINE half half_sums(const vec a[HALF])
{
	half b[HALF], c[2];
	for (int i = 0; i < HALF; i++)
		b[i] = X(add)(a[i].l, a[i].h);
#if BITS == 64
	for (int i = 0; i < 2; i++)
		c[i] = _mm256_add_pd(_mm256_permute2f128_pd(b[i], b[i + 2], 0x20),
				     _mm256_permute2f128_pd(b[i], b[i + 2], 0x31));
	return _mm256_add_pd(_mm256_unpacklo_pd(c[0], c[1]), _mm256_unpackhi_pd(c[0], c[1]));
#else
	__m256d q[4];
	for (int i = 0; i < 4; i++)
		q[i] = _mm256_castps_pd(_mm256_add_ps(_mm256_permute2f128_ps(b[i], b[i + 4], 0x20),
						      _mm256_permute2f128_ps(b[i], b[i + 4], 0x31)));
	for (int i = 0; i < 2; i++)
		c[i] = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(q[2 * i], q[2 * i + 1])),
				     _mm256_castpd_ps(_mm256_unpackhi_pd(q[2 * i], q[2 * i + 1])));
	return _mm256_add_ps(_mm256_shuffle_ps(c[0], c[1], 0x88), _mm256_shuffle_ps(c[0], c[1], 0xdd));
#endif
}
INLINE vec v_sums(const vec a[LANES]) { return PAIR(half_sums(a), half_sums(a + HALF)); }

#else

typedef struct { REAL x[LANES]; } vec;
typedef unsigned mask;

#define EACH(expr) vec r; for (int i = 0; i < LANES; i++) r.x[i] = (expr); return r
#define EACH_BIT(expr) mask r = 0; for (int i = 0; i < LANES; i++) r |= (unsigned)(expr) << i; return r
INLINE vec v_set1(REAL a) { EACH(a); }
INLINE vec v_load(const REAL *p) { EACH(p[i]); }
INLINE vec v_load_part(const REAL *p, int n) { EACH(i < n ? p[i] : 0); }
INLINE void v_store_part(REAL *p, vec a, int n) { for (int i = 0; i < n; i++) p[i] = a.x[i]; }
INLINE void v_store(REAL *p, vec a) { v_store_part(p, a, LANES); }
INLINE vec v_add(vec a, vec b) { EACH(a.x[i] + b.x[i]); }
INLINE vec v_sub(vec a, vec b) { EACH(a.x[i] - b.x[i]); }
INLINE vec v_mul(vec a, vec b) { EACH(a.x[i] * b.x[i]); }
INLINE vec v_div(vec a, vec b) { EACH(a.x[i] / b.x[i]); }
INLINE vec v_sqrt(vec a) { EACH(OF_TYPE(__builtin_sqrt)(a.x[i])); }
INLINE vec v_max(vec a, vec b) { EACH(a.x[i] > b.x[i] ? a.x[i] : b.x[i]); }
INLINE vec v_abs(vec a) { EACH(OF_TYPE(__builtin_fabs)(a.x[i])); }
INLINE vec v_copysign(vec a, vec s) { EACH(OF_TYPE(__builtin_copysign)(a.x[i], s.x[i])); }
INLINE vec v_fma(vec a, vec b, vec c) { EACH(OF_TYPE(__builtin_fma)(a.x[i], b.x[i], c.x[i])); }
INLINE vec v_fnma(vec a, vec b, vec c) { EACH(OF_TYPE(__builtin_fma)(-a.x[i], b.x[i], c.x[i])); }
INLINE mask v_gt(vec a, vec b) { EACH_BIT(a.x[i] > b.x[i]); }
INLINE mask v_ge(vec a, vec b) { EACH_BIT(a.x[i] >= b.x[i]); }
INLINE mask v_ne(vec a, vec b) { EACH_BIT(a.x[i] != b.x[i]); }
INLINE mask m_and(mask a, mask b) { return a & b; }
INLINE unsigned m_bits(mask a) { return a; }
INLINE vec v_select(mask m, vec a, vec b) { EACH(m >> i & 1 ? a.x[i] : b.x[i]); }
INLINE REAL sum(vec a)
{
	for (int n = HALF; n > 0; n /= 2)
		for (int i = 0; i < n; i++)
			a.x[i] += a.x[i + n];
	return a.x[0];
}
INLINE vec v_sums(const vec a[LANES]) { EACH(sum(a[i])); }

#endif
#endif
