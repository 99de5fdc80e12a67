// The pointwise Jacobi kernel ([Nov15, §4.3]), included once for every instruction set. `mixed`, a
// constant in all functions, tells whether some columns have sign −1; then the rotations of columns with
// different signs are hyperbolic.

#define T_ROWS JMPI_T_ROWS
#define TURNS JMPI_TURNS

// A set of up to eight pivot pairs of one p-step, one a lane.
struct pairs {
	int n;
	const int32_t *p, *q;
};

// The pivot matrices [hpp hpq; hpq hqq] of a set of pairs.
struct pivots {
	v8 pp, qq, pq;
};

// What the signs of a set of pairs ask for: 𝔱 of kernels.Kind, and whether h'pp ≥ h'qq (1), h'pp ≤ h'qq (−1)
// or nothing (0) is the order.
struct signs {
	double kind[LANES], order[LANES];
};

INLINE struct signs signs_of(struct pairs s, int64_t positive)
{
	struct signs r;
	for (int i = 0; i < LANES; i++) {
		int p = i < s.n && s.p[i] >= positive, q = i < s.n && s.q[i] >= positive;
		r.kind[i] = p == q ? 1 : -1;
		r.order[i] = 1 - p - q;
	}
	return r;
}

// The rotations of a set of pairs, as sin φ and tan(φ/2); a pair without a rotation has both 0. See
// kernels.Kind.Rotation.
struct rotations {
	double sin[LANES], tau[LANES];
	unsigned rotate, proper, open, idle, swap, degenerate; // bit masks
};

INLINE void rotations8(struct pivots h, v8 tol, const int mixed, const struct signs *sign,
		       struct rotations *r)
{
	const v8 zero = v8_set1(0), one = v8_set1(1), half = v8_set1(0.5), big = v8_set1(0x1p27);
	const v8 smallest = v8_set1(0x1p-1022);

	v8 np = v8_sqrt(h.pp), nq = v8_sqrt(h.qq), bound = v8_mul(v8_mul(tol, np), nq);
	m8 rotate = m8_and(v8_gt(v8_abs(h.pq), bound), m8_and(v8_ge(h.pp, smallest), v8_ge(h.qq, smallest)));
	r->rotate = m8_bits(rotate);
	if (!r->rotate) {
		v8_store(r->sin, zero);
		v8_store(r->tau, zero);
		r->proper = r->open = r->idle = 0;
		r->swap = 0;
		r->degenerate = 0;
		return;
	}
	v8 kind = mixed ? v8_load(sign->kind) : one;
	v8 cot2 = v8_mul(half, v8_div(mixed ? v8_fnma(kind, h.pp, h.qq) : v8_sub(h.qq, h.pp), h.pq));
	v8 a = v8_abs(cot2);
	r->degenerate = 0;
	if (mixed) {
		m8 degenerate = m8_and(v8_gt(zero, kind), v8_ge(one, a));
		a = v8_select(degenerate, v8_set1(1.25), a);
		cot2 = v8_mul(kind, cot2);
		r->degenerate = r->rotate & m8_bits(degenerate);
	}
	v8 cot = v8_add(a, v8_select(v8_gt(big, a), v8_sqrt(v8_fma(a, a, kind)), a));
	v8 tan = v8_select(rotate, v8_copysign(v8_div(one, cot), cot2), zero);
	v8 s = v8_sqrt(v8_fma(mixed ? v8_mul(kind, tan) : tan, tan, one));
	v8 sin = v8_div(tan, s), tau = v8_div(tan, v8_add(one, s));
	v8_store(r->sin, sin);
	v8_store(r->tau, tau);
	v8 size = v8_abs(h.pq), product = v8_mul(np, nq);
	unsigned large = m8_bits(v8_ne(v8_fnma(mixed ? v8_mul(kind, sin) : sin, tau, one), one));
	r->open = r->rotate & m8_bits(v8_gt(size, v8_mul(v8_set1(0x1p-48), product)));
	r->proper = (large & r->open) | (r->rotate & m8_bits(v8_gt(size, v8_mul(v8_set1(0x1p-26), product))));
	r->idle = r->rotate & large & ~r->open;
	// Only proper rotations sort: a sweep that ends the method because it has none must have met every pair.
	v8 pp = v8_fnma(tan, h.pq, h.pp), qq = v8_fma(tan, h.pq, h.qq), order = mixed ? v8_load(sign->order) : one;
	r->swap = r->proper & m8_bits(mixed ? v8_gt(v8_mul(order, qq), v8_mul(order, pp)) : v8_gt(qq, pp));
}

// pivot_matrices forms the three dot products of each pair of columns of r (leading dimension ld, a
// multiple of 8).
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

// rotate replaces columns x, y by the rotated ones, in the order (xd, yd), a permutation of (x, y). kind is
// 1, or −1 for a hyperbolic rotation.
INLINE void rotate(const double *x, const double *y, double *xd, double *yd, int64_t ld, double sine,
		   double tangent, double kind)
{
	v8 sin = v8_set1(sine), tau = v8_set1(tangent), back = v8_set1(kind * sine), over = v8_set1(kind * tangent);
	for (int64_t j = 0; j < ld; j += LANES) {
		v8 u = v8_load(x + j), v = v8_load(y + j);
		v8 a = v8_fma(tau, u, v), b = v8_fnma(over, v, u);
		v8_store(xd + j, v8_fnma(back, a, u));
		v8_store(yd + j, v8_fma(sin, b, v));
	}
}

// A rotation that waits to be applied to T: columns at offsets p, q of a panel go, rotated, to
// offsets pd, qd.
struct turn {
	double sin, tau;
	int32_t p, q, pd, qd;
};

// The state of one problem. R is worked on rotation by rotation. T is cut into panels of T_ROWS rows, one
// after the other; the rotations for it are kept and then applied to panel after panel, each of which stays
// in the first-level cache.
struct problem {
	int64_t k, ld;     // order; leading dimension of r, a multiple of LANES
	int64_t positive;  // columns with sign +1
	double *r, *t;     // t: element (i,j) at (i/T_ROWS)·k·T_ROWS + j·T_ROWS + i mod T_ROWS
	struct turn *turns; // TURNS of them
	int waiting;
	v8 tol;
	struct jmpi_tally tally;
};

// kind_of is kernels.KindOf for columns that begin at p and q, `positive` being where the first
// with sign −1 begins.
INLINE double kind_of(int64_t p, int64_t q, int64_t positive)
{
	return p < positive && positive <= q ? -1 : 1;
}

// flush applies the waiting rotations to T.
INLINE void flush(struct problem *a, const int mixed)
{
	for (int64_t i = 0; i < a->k; i += T_ROWS) {
		double *t = a->t + i * a->k;
		for (const struct turn *u = a->turns; u < a->turns + a->waiting; u++)
			rotate(t + u->p, t + u->q, t + u->pd, t + u->qd, T_ROWS, u->sin, u->tau,
			       mixed ? kind_of(u->p, u->q, a->positive * T_ROWS) : 1);
	}
	a->waiting = 0;
}

// apply rotates and swaps the pairs of columns of R, and notes the same for T.
INLINE void apply(struct problem *a, const int64_t ld, const int mixed, struct pairs s,
		  const struct rotations *rot)
{
	unsigned todo = rot->rotate;
	if (a->waiting + LANES > TURNS)
		flush(a, mixed);
	for (int i = 0; i < s.n; i++) {
		if (!(todo >> i & 1))
			continue;
		int32_t p = s.p[i], q = s.q[i], pd = rot->swap >> i & 1 ? q : p, qd = p + q - pd;
		double *r = a->r;
		rotate(r + p * ld, r + q * ld, r + pd * ld, r + qd * ld, ld, rot->sin[i], rot->tau[i],
		       mixed ? kind_of(p, q, a->positive) : 1);
		a->turns[a->waiting++] =
			(struct turn){rot->sin[i], rot->tau[i], p * T_ROWS, q * T_ROWS, pd * T_ROWS, qd * T_ROWS};
	}
}

// p_step does the p-step of the n pairs (p[i], q[i]). The dot products of a set of pairs
// are formed while the divisions and square roots of the previous set are under way.
INLINE void p_step(struct problem *a, const int64_t ld, const int mixed, int n, const int32_t *p,
		   const int32_t *q)
{
	struct pairs s = {n < LANES ? n : LANES, p, q};
	struct pivots h = pivot_matrices(a->r, ld, s);
	for (int i = 0; i < n; i += LANES) {
		struct rotations rot;
		struct pairs now = s;
		struct signs sign;
		if (mixed)
			sign = signs_of(s, a->positive);
		rotations8(h, a->tol, mixed, &sign, &rot);
		int left = n - i - LANES;
		if (left > 0) {
			s = (struct pairs){left < LANES ? left : LANES, p + i + LANES, q + i + LANES};
			h = pivot_matrices(a->r, ld, s);
		}
		a->tally.rotations += __builtin_popcount(rot.rotate);
		a->tally.proper += __builtin_popcount(rot.proper);
		a->tally.open += __builtin_popcount(rot.open);
		a->tally.idle += __builtin_popcount(rot.idle);
		a->tally.changed |= rot.rotate != 0;
		if (mixed)
			a->tally.degenerate += __builtin_popcount(rot.degenerate);
		apply(a, ld, mixed, now, &rot);
	}
}

// sweeps runs up to max_sweeps sweeps, the last one being the first without a rotation.
INLINE void sweeps(struct problem *a, const int64_t ld, const int mixed, struct jmpi_schedule s,
		   int64_t max_sweeps)
{
	for (int64_t sweep = 0; sweep < max_sweeps; sweep++) {
		int64_t before = a->tally.rotations;
		for (int64_t step = 0; step < s.steps; step++) {
			int32_t p[JMPI_MAX_ORDER / 2], q[JMPI_MAX_ORDER / 2];
			const int32_t *pair = s.pairs + 2 * s.half * step;
			int n = 0;
			for (int64_t i = 0; i < s.half; i++)
				if (pair[2 * i + 1] < a->k)
					p[n] = pair[2 * i], q[n++] = pair[2 * i + 1];
			p_step(a, ld, mixed, n, p, q);
		}
		if (a->tally.rotations == before)
			break;
	}
	flush(a, mixed);
}

// sweeps_of_order is sweeps with loops of constant length for the usual orders.
INLINE void sweeps_of_order(struct problem *a, const int mixed, struct jmpi_schedule s, int64_t max_sweeps)
{
	switch (a->ld) {
	case 32: sweeps(a, 32, mixed, s, max_sweeps); break;
	case 64: sweeps(a, 64, mixed, s, max_sweeps); break;
	case 96: sweeps(a, 96, mixed, s, max_sweeps); break;
	case 128: sweeps(a, 128, mixed, s, max_sweeps); break;
	default: sweeps(a, a->ld, mixed, s, max_sweeps);
	}
}

// exponent returns e such that the largest |element| of the k columns is in [2ᵉ⁻¹, 2ᵉ), or 0 if it
// is 0 or not finite.
INLINE int exponent(int64_t k, const double *r, int64_t ld)
{
	v8 m = v8_set1(0);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i < k; i += LANES)
			m = v8_max(v8_abs(k - i < LANES ? v8_load_part(r + j * ld + i, (int)(k - i)) : v8_load(r + j * ld + i)),
				   m);
	double lane[LANES], largest = 0;
	int e = 0;
	v8_store(lane, m);
	for (int l = 0; l < LANES; l++)
		largest = lane[l] > largest ? lane[l] : largest;
	if (largest < __builtin_inf())
		__builtin_frexp(largest, &e);
	return e;
}

// norms puts the norms of the k columns of r into out.
INLINE void norms(int64_t k, const double *r, int64_t ld, double *out)
{
	for (int64_t j = 0; j < k; j++) {
		v8 sum[LANES] = {v8_set1(0)};
		for (int64_t i = 0; i < ld; i += LANES) {
			v8 x = v8_load(r + j * ld + i);
			sum[0] = v8_fma(x, x, sum[0]);
		}
		double lane[LANES];
		v8_store(lane, v8_sum8(sum));
		out[j] = __builtin_sqrt(lane[0]);
	}
}

// cancel sets to zero the columns of r that are nothing but rounding errors: column j of r·t if its norm is
// at most null·√Σᵢ(tᵢⱼ·before[i])². null is the tolerance, or −1 for none. before has the norms of the
// columns that it is a combination of; their errors are independent, and add up so. Their sum would take
// singular values of many times ε·σ₁ with it. Where t is not orthogonal, no |tᵢⱼ| counts for more than 1.
INLINE void cancel(struct problem *a, const double *before, double null)
{
	double after[JMPI_MAX_ORDER], most = a->positive < a->k ? 1 : __builtin_inf();
	norms(a->k, a->r, a->ld, after);
	for (int64_t j = 0; j < a->k; j++) {
		double sum = 0;
		for (int64_t i = 0; i < a->k; i++) {
			double t = __builtin_fabs(a->t[i / T_ROWS * a->k * T_ROWS + j * T_ROWS + i % T_ROWS]);
			double x = (t > most ? most : t) * before[i];
			sum += x * x;
		}
		if (after[j] <= null * __builtin_sqrt(sum))
			memset(a->r + j * a->ld, 0, (size_t)a->ld * sizeof *a->r);
	}
}

// TOP is the exponent that the largest element gets before the method runs: its square is far from
// overflow, and columns down to 2⁻⁹⁹⁰ of the largest have squared norms in the normal range. The
// scaling is by a power of two.
#define TOP 480

static struct jmpi_tally jacobi(int64_t k, int64_t positive, double *r, int64_t ldr, double *t, int64_t ldt,
				struct jmpi_schedule s, int64_t max_sweeps, double tol, double null, double *work)
{
	struct problem a = {.k = k, .ld = (k + LANES - 1) / LANES * LANES, .positive = positive,
			    .tol = v8_set1(tol)};
	int64_t rows = (k + T_ROWS - 1) / T_ROWS * T_ROWS; // of T
	int shift = TOP - exponent(k, r, ldr);
	if (shift > 1000)
		shift = 1000;

	memset(work, 0, (size_t)(k * (a.ld + rows)) * sizeof *work);
	a.r = work;
	a.t = a.r + k * a.ld;
	a.turns = (struct turn *)(a.t + k * rows);
	scaled(k, k, a.r, a.ld, r, ldr, __builtin_ldexp(1, shift));
	for (int64_t j = 0; j < k; j++)
		a.t[j / T_ROWS * k * T_ROWS + j * T_ROWS + j % T_ROWS] = 1;

	double before[JMPI_MAX_ORDER];
	norms(k, a.r, a.ld, before);
	if (positive < k)
		sweeps_of_order(&a, 1, s, max_sweeps);
	else
		sweeps_of_order(&a, 0, s, max_sweeps);
	if (a.tally.changed) {
		cancel(&a, before, null);
		scaled(k, k, r, ldr, a.r, a.ld, __builtin_ldexp(1, -shift));
	}
	for (int64_t i = 0; i < k; i += T_ROWS)
		scaled(k - i < T_ROWS ? k - i : T_ROWS, k, t + i, ldt, a.t + i * k, T_ROWS, 1);
	if (a.tally.changed)
		newton_schulz(k, positive, t, ldt, work);
	return a.tally;
}
