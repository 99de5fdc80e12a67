// Rotations from Gram matrices, LANES pairs of columns at a time, included once for every instruction set and
// type.

// A set of up to LANES pivot pairs of one p-step, one a lane.
struct pairs {
	int n;
	const int32_t *p, *q;
};

// The pivot matrices [hpp hpq; hpq hqq] of a set of pairs.
struct pivots {
	vec pp, qq, pq;
};

// What the signs of a set of pairs ask for: 𝔱 of kernels.Kind, and whether h'pp ≥ h'qq (1), h'pp ≤ h'qq (−1)
// or nothing (0) is the order.
struct signs {
	REAL kind[LANES], order[LANES];
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

// The rotations of a set of pairs x, y: x' = x − back·(y + tau·x), y' = y + sin·(x − over·y). A pair without
// a rotation has all four 0.
struct rotations {
	REAL sin[LANES], tau[LANES], back[LANES], over[LANES];
	unsigned rotate, proper, open, idle, swap, degenerate; // bit masks
};

#if BITS == 64

// rotations_of forms the rotations of kernels.Kind.Rotation: sin φ, tan(φ/2), 𝔱·sin φ and 𝔱·tan(φ/2).
INLINE void rotations_of(struct pivots h, vec tol, const int mixed, const struct signs *sign,
			 struct rotations *r)
{
	const vec zero = v_set1(0), one = v_set1(1), half = v_set1(0.5), big = v_set1(0x1p27);
	const vec smallest = v_set1(SMALLEST);

	memset(r, 0, sizeof *r);
	vec np = v_sqrt(h.pp), nq = v_sqrt(h.qq), bound = v_mul(v_mul(tol, np), nq);
	mask rotate = m_and(v_gt(v_abs(h.pq), bound), m_and(v_ge(h.pp, smallest), v_ge(h.qq, smallest)));
	r->rotate = m_bits(rotate);
	if (!r->rotate)
		return;
	vec kind = mixed ? v_load(sign->kind) : one;
	vec cot2 = v_mul(half, v_div(mixed ? v_fnma(kind, h.pp, h.qq) : v_sub(h.qq, h.pp), h.pq));
	vec a = v_abs(cot2);
	if (mixed) {
		mask degenerate = m_and(v_gt(zero, kind), v_ge(one, a));
		a = v_select(degenerate, v_set1(1.25), a);
		cot2 = v_mul(kind, cot2);
		r->degenerate = r->rotate & m_bits(degenerate);
	}
	vec cot = v_add(a, v_select(v_gt(big, a), v_sqrt(v_fma(a, a, kind)), a));
	vec tan = v_select(rotate, v_copysign(v_div(one, cot), cot2), zero);
	vec s = v_sqrt(v_fma(mixed ? v_mul(kind, tan) : tan, tan, one));
	vec sin = v_div(tan, s), tau = v_div(tan, v_add(one, s));
	vec back = mixed ? v_mul(kind, sin) : sin;
	v_store(r->sin, sin);
	v_store(r->tau, tau);
	v_store(r->back, back);
	v_store(r->over, mixed ? v_mul(kind, tau) : tau);
	vec size = v_abs(h.pq), product = v_mul(np, nq);
	unsigned large = m_bits(v_ne(v_fnma(back, tau, one), one));
	r->open = r->rotate & m_bits(v_gt(size, v_mul(v_set1(0x1p-48), product)));
	r->proper = (large & r->open) | (r->rotate & m_bits(v_gt(size, v_mul(v_set1(0x1p-26), product))));
	r->idle = r->rotate & large & ~r->open;
	// Only proper rotations sort: a sweep that ends the method because it has none must have met every pair.
	vec pp = v_fnma(tan, h.pq, h.pp), qq = v_fma(tan, h.pq, h.qq), order = mixed ? v_load(sign->order) : one;
	r->swap = r->proper & m_bits(mixed ? v_gt(v_mul(order, qq), v_mul(order, pp)) : v_gt(qq, pp));
}

#else

// LEAST bounds from below what the length of a column is taken for in one call: one that rotations leave
// shorter is nothing but rounding errors, of columns of length 1. Such columns are not rotated any more: what
// is squared in a rotation would leave the range.
#define LEAST 0x1p-22f

// rotations_of forms the rotations of columns dp·x, dq·y of which h has the products of x and y. These are
// what is rotated: with ρ = dq/dp, x' = x − ρ·sin φ·(y + tan(φ/2)/ρ·x) and y' = y + sin φ/ρ·(x −
// ρ·tan(φ/2)·y). The ratio ϱ of the smaller norm to the larger one may underflow. So with δ the difference of
// the squared norms, over the square of the larger one, w = tan φ/ϱ = 2·hpq/(|δ| + √(δ² + (2·ϱ·hpq)²)), with
// its sign, is what all is formed from. wider tells where dp ≥ dq. tol and cosine bound the cosines of pairs
// that are not rotated, and of those whose rotation is not proper.
INLINE void rotations_of(struct pivots h, vec tol, vec cosine, vec ratio, mask wider, struct rotations *r)
{
	const vec zero = v_set1(0), one = v_set1(1), smallest = v_set1(LEAST * LEAST);

	memset(r, 0, sizeof *r);
	vec size = v_abs(h.pq), product = v_sqrt(v_mul(h.pp, h.qq));
	mask rotate = m_and(v_gt(size, v_mul(tol, product)), m_and(v_ge(h.pp, smallest), v_ge(h.qq, smallest)));
	r->rotate = m_bits(rotate);
	if (!r->rotate)
		return;
	vec square = v_mul(ratio, ratio);
	vec pp = v_select(wider, h.pp, v_mul(square, h.pp)), qq = v_select(wider, v_mul(square, h.qq), h.qq);
	vec delta = v_sub(qq, pp), twice = v_add(size, size), z = v_mul(ratio, twice);
	vec w = v_div(twice, v_add(v_abs(delta), v_sqrt(v_fma(delta, delta, v_mul(z, z)))));
	w = v_select(rotate, v_copysign(w, v_mul(v_copysign(one, delta), h.pq)), zero);
	vec tan = v_mul(ratio, w), s = v_sqrt(v_fma(tan, tan, one));
	vec sin = v_div(w, s), tau = v_div(w, v_add(one, s)); // over ϱ
	vec sin2 = v_mul(square, sin), tau2 = v_mul(square, tau);
	v_store(r->sin, v_select(wider, sin, sin2));
	v_store(r->back, v_select(wider, sin2, sin));
	v_store(r->tau, v_select(wider, tau, tau2));
	v_store(r->over, v_select(wider, tau2, tau));
	r->proper = r->open = r->rotate & m_bits(v_gt(size, v_mul(cosine, product)));
	r->swap = r->proper & m_bits(v_gt(qq, pp));
}

#endif
