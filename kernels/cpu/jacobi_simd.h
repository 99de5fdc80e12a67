// The pointwise Jacobi kernel ([Nov15, §4.3]), included once for every instruction set and type. `mixed`, a
// constant in all functions, tells whether some columns have sign −1; then the rotations of columns with
// different signs are hyperbolic. Columns of float32 have their norms apart. So have those of T then: what is
// found is D·T·D'⁻¹, D and D' the norms before and after.

#define T_ROWS (4 * LANES) // rows of a panel of T
#define TURNS JMPI_TURNS

// pivot_matrices forms the three dot products of each pair of columns of r (leading dimension ld, a
// multiple of 8).
INLINE struct pivots pivot_matrices(const REAL *r, int64_t ld, struct pairs s)
{
	vec pp[LANES], qq[LANES], pq[LANES];
	for (int i = 0; i < LANES; i++) {
		vec a = v_set1(0), b = a, c = a;
		if (i < s.n) {
			const REAL *x = r + s.p[i] * ld, *y = r + s.q[i] * ld;
			for (int64_t j = 0; j < ld; j += LANES) {
				vec u = v_load(x + j), v = v_load(y + j);
				a = v_fma(u, u, a);
				b = v_fma(v, v, b);
				c = v_fma(u, v, c);
			}
		}
		pp[i] = a, qq[i] = b, pq[i] = c;
	}
	return (struct pivots){v_sums(pp), v_sums(qq), v_sums(pq)};
}

// A rotation (struct rotations) that waits to be applied to T: columns at offsets p, q of a panel go,
// rotated, to offsets pd, qd.
struct turn {
	REAL sin, tau, back, over;
	int32_t p, q, pd, qd;
};

// rotate replaces columns x, y by the rotated ones, in the order (xd, yd), a permutation of (x, y).
INLINE void rotate(const REAL *x, const REAL *y, REAL *xd, REAL *yd, int64_t ld, const struct turn *r)
{
	vec sin = v_set1(r->sin), tau = v_set1(r->tau), back = v_set1(r->back), over = v_set1(r->over);
	for (int64_t j = 0; j < ld; j += LANES) {
		vec u = v_load(x + j), v = v_load(y + j);
		vec a = v_fma(tau, u, v), b = v_fnma(over, v, u);
		v_store(xd + j, v_fnma(back, a, u));
		v_store(yd + j, v_fma(sin, b, v));
	}
}

// The state of one problem. R is worked on rotation by rotation. T is cut into panels of T_ROWS rows, one
// after the other; the rotations for it are kept and then applied to panel after panel, each of which stays
// in the first-level cache.
struct problem {
	int64_t k, ld;     // order; leading dimension of r, a multiple of LANES
	int64_t positive;  // columns with sign +1
	REAL *r, *t;     // t: element (i,j) at (i/T_ROWS)·k·T_ROWS + j·T_ROWS + i mod T_ROWS
	struct turn *turns; // TURNS of them
	int waiting;
	double *norms; // of the columns of r, float32
	vec tol, cosine;
	struct jmpi_tally tally;
};

// flush applies the waiting rotations to T.
INLINE void flush(struct problem *a)
{
	for (int64_t i = 0; i < a->k; i += T_ROWS) {
		REAL *t = a->t + i * a->k;
		for (const struct turn *u = a->turns; u < a->turns + a->waiting; u++)
			rotate(t + u->p, t + u->q, t + u->pd, t + u->qd, T_ROWS, u);
	}
	a->waiting = 0;
}

// apply rotates and swaps the pairs of columns of R, and notes the same for T.
INLINE void apply(struct problem *a, const int64_t ld, struct pairs s, const struct rotations *rot)
{
	unsigned todo = rot->rotate;
	if (a->waiting + LANES > TURNS)
		flush(a);
	for (int i = 0; i < s.n; i++) {
		if (!(todo >> i & 1))
			continue;
		int32_t p = s.p[i], q = s.q[i], pd = rot->swap >> i & 1 ? q : p, qd = p + q - pd;
		REAL *r = a->r;
		struct turn *u = a->turns + a->waiting++;
		*u = (struct turn){rot->sin[i], rot->tau[i], rot->back[i], rot->over[i],
				   p * T_ROWS,  q * T_ROWS,  pd * T_ROWS,  qd * T_ROWS};
		rotate(r + p * ld, r + q * ld, r + pd * ld, r + qd * ld, ld, u);
#if BITS == 32
		double np = a->norms[p], nq = a->norms[q];
		a->norms[pd] = np, a->norms[qd] = nq;
#endif
	}
}

#if BITS == 32
// ratios puts the smaller norm of each pair over the larger one into ratio, and returns where the first is
// not the smaller.
INLINE mask ratios(const double *norms, struct pairs s, REAL *ratio)
{
	double low[LANES], high[LANES];
	REAL p[LANES], q[LANES];
	for (int i = 0; i < LANES; i++) {
		double a = i < s.n ? norms[s.p[i]] : 1, b = i < s.n ? norms[s.q[i]] : 1;
		low[i] = a < b ? a : b, high[i] = a < b ? b : a;
		p[i] = a >= b, q[i] = 0.5f;
	}
	for (int i = 0; i < LANES; i++)
		ratio[i] = (REAL)(low[i] / high[i]);
	return v_gt(v_load(p), v_load(q));
}
#endif

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
#if BITS == 64
		struct signs sign;
		if (mixed)
			sign = signs_of(s, a->positive);
		rotations_of(h, a->tol, mixed, &sign, &rot);
#else
		REAL ratio[LANES];
		mask wider = ratios(a->norms, s, ratio);
		rotations_of(h, a->tol, a->cosine, v_load(ratio), wider, &rot);
#endif
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
		apply(a, ld, now, &rot);
	}
}

// column_at returns the column with an index of the schedule, k for none.
INLINE int32_t column_at(const struct jmpi_schedule *s, int32_t index, int64_t k)
{
	if (s->left < 0 || (index < s->half && index < s->left))
		return index;
	return index < s->half ? (int32_t)k : (int32_t)(index - s->half + s->left);
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
			for (int64_t i = 0; i < s.half; i++) {
				int32_t left = column_at(&s, pair[2 * i], a->k), right = column_at(&s, pair[2 * i + 1], a->k);
				if (left < a->k && right < a->k)
					p[n] = left, q[n++] = right;
			}
			p_step(a, ld, mixed, n, p, q);
		}
		if (a->tally.rotations == before)
			break;
	}
	flush(a);
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

// norms puts the norms of the k columns of r into out.
INLINE void norms(int64_t k, const REAL *r, int64_t ld, REAL *out)
{
	for (int64_t j = 0; j < k; j++) {
		vec sum[LANES] = {v_set1(0)};
		for (int64_t i = 0; i < ld; i += LANES) {
			vec x = v_load(r + j * ld + i);
			sum[0] = v_fma(x, x, sum[0]);
		}
		REAL lane[LANES];
		v_store(lane, v_sums(sum));
		out[j] = OF_TYPE(__builtin_sqrt)(lane[0]);
	}
}

#if BITS == 64

// exponent returns e such that the largest |element| of the k columns is in [2ᵉ⁻¹, 2ᵉ), or 0 if it
// is 0 or not finite.
INLINE int exponent(int64_t k, const double *r, int64_t ld)
{
	vec m = v_set1(0);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i < k; i += LANES)
			m = v_max(v_abs(k - i < LANES ? v_load_part(r + j * ld + i, (int)(k - i)) : v_load(r + j * ld + i)),
				   m);
	double lane[LANES], largest = 0;
	int e = 0;
	v_store(lane, m);
	for (int l = 0; l < LANES; l++)
		largest = lane[l] > largest ? lane[l] : largest;
	if (largest < __builtin_inf())
		__builtin_frexp(largest, &e);
	return e;
}

// cancel sets to zero the columns of r that are nothing but rounding errors: column j of r·t if its norm is
// at most null·√Σᵢ(tᵢⱼ·before[i])². null is the tolerance, or −1 for none. before has the norms of the
// columns that it is a combination of; their errors are independent, and add up so. Their sum would take
// singular values of many times ε·σ₁ with it. Where t is not orthogonal, no |tᵢⱼ| counts for more than 1.
INLINE void cancel(struct problem *a, const REAL *before, REAL null)
{
	REAL after[JMPI_MAX_ORDER], most = a->positive < a->k ? 1 : __builtin_inf();
	norms(a->k, a->r, a->ld, after);
	for (int64_t j = 0; j < a->k; j++) {
		REAL sum = 0;
		for (int64_t i = 0; i < a->k; i++) {
			REAL t = OF_TYPE(__builtin_fabs)(a->t[i / T_ROWS * a->k * T_ROWS + j * T_ROWS + i % T_ROWS]);
			REAL x = (t > most ? most : t) * before[i];
			sum += x * x;
		}
		if (after[j] <= null * OF_TYPE(__builtin_sqrt)(sum))
			memset(a->r + j * a->ld, 0, (size_t)a->ld * sizeof *a->r);
	}
}

// TOP is the exponent that the largest element gets before the method runs: its square is far from
// overflow, and columns down to 2⁻⁹⁹⁰ of the largest have squared norms in the normal range. The
// scaling is by a power of two.
#define TOP 480

// shift_of returns the exponent of the scaling of r.
INLINE int shift_of(int64_t k, const REAL *r, int64_t ldr)
{
	int shift = TOP - exponent(k, r, ldr);
	return shift > 1000 ? 1000 : shift;
}

#else

// part makes the columns of r and those of t unit columns of r, and puts their norms into norms. Those below
// the range become zero.
INLINE void part(struct problem *a)
{
	REAL length[JMPI_MAX_ORDER];
	norms(a->k, a->r, a->ld, length);
	for (int64_t j = 0; j < a->k; j++) {
		REAL l = length[j] > LEAST || length[j] == 0 ? length[j] : LEAST;
		if ((a->norms[j] *= l) < 0x1p-1022) {
			a->norms[j] = 0;
			memset(a->r + j * a->ld, 0, (size_t)a->ld * sizeof *a->r);
		}
		if (l > 0) {
			scaled(a->ld, 1, a->r + j * a->ld, a->ld, a->r + j * a->ld, a->ld, 1 / l);
			for (int64_t i = 0; i < a->k; i += T_ROWS) {
				REAL *t = a->t + i * a->k + j * T_ROWS;
				scaled(T_ROWS, 1, t, T_ROWS, t, T_ROWS, 1 / l);
			}
		}
	}
}

#endif

static int64_t jacobi_work(int64_t k)
{
	// R, T and the rotations; afterwards T, the departure from orthogonality and what multiply needs. The latter
	// is enough for a second matrix like the departure, too.
	int64_t turns = (int64_t)(sizeof(struct turn) / sizeof(REAL) * TURNS);
	int64_t rotations = k * (k + LANES) + k * (k + T_ROWS) + turns;
	int64_t newton = 2 * k * (k + LANES) + multiply_work(k);
	return rotations > newton ? rotations : newton;
}

static struct jmpi_tally jacobi(struct jmpi_jacobi o, void *r, int64_t ldr, void *t, int64_t ldt,
				struct jmpi_schedule s, void *work)
{
	int64_t k = o.k;
	struct problem a = {.k = k, .ld = (k + LANES - 1) / LANES * LANES, .positive = o.positive, .norms = o.norms,
			    .tol = v_set1((REAL)o.tol), .cosine = v_set1((REAL)o.cosine)};
	int64_t rows = (k + T_ROWS - 1) / T_ROWS * T_ROWS; // of T

	memset(work, 0, (size_t)(k * (a.ld + rows)) * sizeof *a.r);
	a.r = work;
	a.t = a.r + k * a.ld;
	a.turns = (struct turn *)(a.t + k * rows);
	for (int64_t j = 0; j < k; j++)
		a.t[j / T_ROWS * k * T_ROWS + j * T_ROWS + j % T_ROWS] = 1;
#if BITS == 64
	int shift = shift_of(k, r, ldr);
	scaled(k, k, a.r, a.ld, r, ldr, __builtin_ldexp(1, shift));
	double before[JMPI_MAX_ORDER];
	norms(k, a.r, a.ld, before);
	if (o.positive < k)
		sweeps_of_order(&a, 1, s, o.max_sweeps);
	else
		sweeps_of_order(&a, 0, s, o.max_sweeps);
	if (a.tally.changed) {
		cancel(&a, before, o.null);
		scaled(k, k, r, ldr, a.r, a.ld, __builtin_ldexp(1, -shift));
	}
#else
	scaled(k, k, a.r, a.ld, r, ldr, 1);
	sweeps_of_order(&a, 0, s, o.max_sweeps);
	if (a.tally.changed) {
		part(&a);
		scaled(k, k, r, ldr, a.r, a.ld, 1);
	}
#endif
	for (int64_t i = 0; i < k; i += T_ROWS)
		scaled(k - i < T_ROWS ? k - i : T_ROWS, k, (REAL *)t + i, ldt, a.t + i * k, T_ROWS, 1);
#if BITS == 64
	if (a.tally.changed)
		newton_schulz(k, o.positive, t, ldt, work);
#endif
	return a.tally;
}
