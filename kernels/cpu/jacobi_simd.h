// The pointwise Jacobi kernel ([Nov15, §4.3]), included once for every instruction set.

// A set of up to eight pivot pairs of one p-step, one a lane.
struct pairs {
	int n;
	const int32_t *p, *q;
};

// The pivot matrices [hpp hpq; hpq hqq] of a set of pairs.
struct pivots {
	v8 pp, qq, pq;
};

// The rotations of a set of pairs; a pair without a rotation has tan = delta = 0. See kernels.Rotation.
struct rotations {
	double tan[LANES], delta[LANES];
	unsigned rotate, proper, swap; // bit masks
};

INLINE void rotations8(struct pivots h, v8 tol, struct rotations *r)
{
	const v8 zero = v8_set1(0), one = v8_set1(1), half = v8_set1(0.5), big = v8_set1(0x1p27);
	const v8 smallest = v8_set1(0x1p-1022);

	v8 bound = v8_mul(v8_mul(tol, v8_sqrt(h.pp)), v8_sqrt(h.qq));
	m8 rotate = m8_and(v8_gt(v8_abs(h.pq), bound), m8_and(v8_ge(h.pp, smallest), v8_ge(h.qq, smallest)));
	r->rotate = m8_bits(rotate);
	if (!r->rotate) {
		v8_store(r->tan, zero);
		v8_store(r->delta, zero);
		r->proper = 0;
		r->swap = m8_bits(v8_gt(h.qq, h.pp));
		return;
	}
	v8 cot2 = v8_mul(half, v8_div(v8_sub(h.qq, h.pp), h.pq));
	v8 a = v8_abs(cot2);
	v8 cot = v8_add(a, v8_select(v8_gt(big, a), v8_sqrt(v8_fma(a, a, one)), a));
	v8 tan = v8_select(rotate, v8_copysign(v8_div(one, cot), cot2), zero);
	v8 s = v8_sqrt(v8_fma(tan, tan, one));
	v8 delta = v8_div(v8_mul(tan, tan), v8_mul(s, v8_add(one, s)));
	v8_store(r->tan, tan);
	v8_store(r->delta, delta);
	r->proper = r->rotate & m8_bits(v8_ne(v8_sub(one, delta), one));
	r->swap = m8_bits(v8_gt(v8_fma(tan, h.pq, h.qq), v8_fnma(tan, h.pq, h.pp)));
}

// pivot_matrices forms the three dot products of each pair of columns of r (leading dimension ld, a multiple of 8).
INLINE struct pivots pivot_matrices(const double *r, int64_t ld, struct pairs s)
{
	v8 pp[LANES], qq[LANES], pq[LANES];
	for (int i = 0; i < LANES; i++) {
		v8 a = v8_set1(0), b = a, c = a;
		if (i < s.n) {
			const double *x = r + s.p[i] * ld, *y = r + s.q[i] * ld;
			for (int64_t j = 0; j < ld; j += LANES) {
				v8 u = v8_load(x + j), v = v8_load(y + j);
				a = v8_fma(u, u, a);
				b = v8_fma(v, v, b);
				c = v8_fma(u, v, c);
			}
		}
		pp[i] = a, qq[i] = b, pq[i] = c;
	}
	return (struct pivots){v8_sum8(pp), v8_sum8(qq), v8_sum8(pq)};
}

// rotate replaces columns x, y by the rotated ones, in the order (xd, yd), a permutation of (x, y).
INLINE void rotate(const double *x, const double *y, double *xd, double *yd, int64_t ld, v8 tan, v8 delta)
{
	for (int64_t j = 0; j < ld; j += LANES) {
		v8 u = v8_load(x + j), v = v8_load(y + j);
		v8 a = v8_fnma(tan, v, u), b = v8_fma(tan, u, v);
		v8_store(xd + j, v8_fnma(delta, a, a));
		v8_store(yd + j, v8_fnma(delta, b, b));
	}
}

INLINE void apply(double *r, double *t, int64_t ld, struct pairs s, const struct rotations *rot)
{
	unsigned todo = rot->rotate | rot->swap;
	for (int i = 0; i < s.n; i++) {
		if (!(todo >> i & 1))
			continue;
		int64_t p = s.p[i] * ld, q = s.q[i] * ld;
		int64_t pd = rot->swap >> i & 1 ? q : p, qd = p + q - pd;
		v8 tan = v8_set1(rot->tan[i]), delta = v8_set1(rot->delta[i]);
		rotate(r + p, r + q, r + pd, r + qd, ld, tan, delta);
		rotate(t + p, t + q, t + pd, t + qd, ld, tan, delta);
	}
}

// p_step does the p-step of the n pairs (p[i], q[i]). The dot products of a set of pairs
// are formed while the divisions and square roots of the previous set are under way.
INLINE void p_step(double *r, double *t, int64_t ld, int n, const int32_t *p, const int32_t *q, v8 tol, struct jmpi_tally *tally)
{
	struct pairs s = {n < LANES ? n : LANES, p, q};
	struct pivots h = pivot_matrices(r, ld, s);
	for (int i = 0; i < n; i += LANES) {
		struct rotations rot;
		struct pairs now = s;
		rotations8(h, tol, &rot);
		int left = n - i - LANES;
		if (left > 0) {
			s = (struct pairs){left < LANES ? left : LANES, p + i + LANES, q + i + LANES};
			h = pivot_matrices(r, ld, s);
		}
		tally->rotations += __builtin_popcount(rot.rotate);
		tally->proper += __builtin_popcount(rot.proper);
		tally->changed |= (rot.rotate | rot.swap) != 0;
		apply(r, t, ld, now, &rot);
	}
}

// exponent returns e such that the largest |element| of the k columns is in [2ᵉ⁻¹, 2ᵉ), or 0 if it is 0 or not finite.
INLINE int exponent(int64_t k, const double *r, int64_t ld)
{
	v8 m = v8_set1(0);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i < k; i += LANES)
			m = v8_max(v8_abs(k - i < LANES ? v8_load_part(r + j * ld + i, (int)(k - i)) : v8_load(r + j * ld + i)), m);
	double lane[LANES], largest = 0;
	int e = 0;
	v8_store(lane, m);
	for (int l = 0; l < LANES; l++)
		largest = lane[l] > largest ? lane[l] : largest;
	if (largest < __builtin_inf())
		__builtin_frexp(largest, &e);
	return e;
}

// scaled copies k rows and columns of src, times c, to dst; the rows of dst between k and ldd are not touched.
INLINE void scaled(int64_t k, double *dst, int64_t ldd, const double *src, int64_t lds, double c)
{
	v8 s = v8_set1(c);
	for (int64_t j = 0; j < k; j++) {
		double *d = dst + j * ldd;
		const double *x = src + j * lds;
		int64_t i = 0;
		for (; i + LANES <= k; i += LANES)
			v8_store(d + i, v8_mul(s, v8_load(x + i)));
		if (i < k)
			v8_store_part(d + i, v8_mul(s, v8_load_part(x + i, (int)(k - i))), (int)(k - i));
	}
}

// TOP is the exponent that the largest element gets before the method runs: its square is far from overflow, and
// columns down to 2⁻⁹⁹⁰ of the largest have squared norms in the normal range. The scaling is by a power of two.
#define TOP 480
static struct jmpi_tally jacobi(int64_t k, double *r, int64_t ldr, double *t, int64_t ldt, struct jmpi_schedule s,
			       int64_t max_sweeps, double tol, double *work)
{
	int64_t ld = (k + LANES - 1) / LANES * LANES;
	double *rw = work, *tw = work + k * ld;
	struct jmpi_tally tally = {0};
	int shift = TOP - exponent(k, r, ldr);
	if (shift > 1000)
		shift = 1000;

	memset(work, 0, (size_t)(2 * k * ld) * sizeof *work);
	scaled(k, rw, ld, r, ldr, __builtin_ldexp(1, shift));
	for (int64_t j = 0; j < k; j++)
		tw[j + j * ld] = 1;

	for (int64_t sweep = 0; sweep < max_sweeps; sweep++) {
		int64_t before = tally.rotations;
		for (int64_t step = 0; step < s.steps; step++) {
			int32_t p[JMPI_MAX_ORDER / 2], q[JMPI_MAX_ORDER / 2];
			const int32_t *pair = s.pairs + 2 * s.half * step;
			int n = 0;
			for (int64_t i = 0; i < s.half; i++)
				if (pair[2 * i + 1] < k)
					p[n] = pair[2 * i], q[n++] = pair[2 * i + 1];
			p_step(rw, tw, ld, n, p, q, v8_set1(tol), &tally);
		}
		if (tally.rotations == before)
			break;
	}
	if (tally.changed)
		scaled(k, r, ldr, rw, ld, __builtin_ldexp(1, -shift));
	scaled(k, t, ldt, tw, ld, 1);
	return tally;
}
