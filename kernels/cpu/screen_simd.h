// The look at a Gram matrix (kernels.Pivots, Cholesky), included once for every instruction set and type.

// cosines_of returns the cosines of the angles between a column and the others.
INLINE vec cosines_of(vec h, vec scales, vec own) { return v_mul(v_mul(v_abs(h), scales), own); }

// largest_of returns the larger ones of `largest` and of the cosines with columns i0 ≤ i < i1, and where none
// of them exceeds the limit.
INLINE vec largest_of(const REAL *h, const REAL *scale, vec own, int64_t i0, int64_t i1, vec largest,
		      vec limit, mask *within)
{
	for (int64_t i = i0; i < i1; i += LANES) {
		int64_t at = i + LANES <= i1 ? i : i1 - LANES; // some a second time, which a maximum does not mind
		int part = (int)(i1 - i);
		vec x = at >= i0 ? cosines_of(v_load(h + at), v_load(scale + at), own)
				 : cosines_of(v_load_part(h + i, part), v_load_part(scale + i, part), own);
		largest = v_max(x, largest); // which stays where x is not a number
		*within = m_and(*within, v_ge(limit, x));
	}
	return largest;
}

static struct jmpi_screening screen(int64_t k, const void *product, int64_t ldh, const void *scales,
				    double limit, int64_t left)
{
	const REAL *h = product, *scale = scales;
	vec largest = v_set1(0), most = v_set1((REAL)limit);
	mask within = v_ge(most, largest);
	for (int64_t j = 1; j < k; j++) {
		const REAL *c = h + j * ldh;
		vec own = v_set1(scale[j]);
		int64_t end = left < 0 ? j : j < left ? 0 : left; // of those that are compared
		mask other = within;
		largest = largest_of(c, scale, own, 0, end, largest, most, &within);
		largest = largest_of(c, scale, own, end, j, largest, most, &other);
	}
	REAL lanes[LANES];
	v_store(lanes, largest);
	struct jmpi_screening s = {0, m_bits(within) == (1u << LANES) - 1};
	for (int i = 0; i < LANES; i++)
		if (lanes[i] > s.cosine)
			s.cosine = lanes[i] < 1 ? lanes[i] : 1;
	return s;
}
