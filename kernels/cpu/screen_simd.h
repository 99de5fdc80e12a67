// The look at a Gram matrix (kernels.Pivots, Cholesky), included once for every instruction set and type.

// cosines_of returns the cosines of the angles between a column and the others.
INLINE vec cosines_of(vec h, vec scales, vec own) { return v_mul(v_mul(v_abs(h), scales), own); }

static struct jmpi_screening screen(int64_t k, const void *product, int64_t ldh, const void *scales,
				    double limit)
{
	const REAL *h = product, *scale = scales;
	vec largest = v_set1(0), most = v_set1((REAL)limit);
	mask within = v_ge(most, largest);
	for (int64_t j = 1; j < k; j++) {
		const REAL *c = h + j * ldh;
		vec own = v_set1(scale[j]);
		for (int64_t i = 0; i < j; i += LANES) {
			int64_t at = i + LANES <= j ? i : j - LANES; // some a second time, which a maximum does not mind
			vec x = at >= 0 ? cosines_of(v_load(c + at), v_load(scale + at), own)
					: cosines_of(v_load_part(c, (int)j), v_load_part(scale, (int)j), own);
			largest = v_max(x, largest); // which stays where x is not a number
			within = m_and(within, v_ge(most, x));
		}
	}
	REAL lanes[LANES];
	v_store(lanes, largest);
	struct jmpi_screening s = {0, m_bits(within) == (1u << LANES) - 1};
	for (int i = 0; i < LANES; i++)
		if (lanes[i] > s.cosine)
			s.cosine = lanes[i] < 1 ? lanes[i] : 1;
	return s;
}
