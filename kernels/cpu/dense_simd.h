// Kernels of kernels.Dense and of products with vectors, included once for every instruction set and type.

// combine does high + low ← high + low + Σ_j x_j·(column j of p), each term as kernels.AddTwice adds it.
static void combine(int64_t m, int64_t n, const void *p, int64_t ldp, const void *factors, void *high,
		    void *low)
{
	const REAL *x = factors;
	REAL *h = high, *l = low;
	for (int64_t j = 0; j < n; j++) {
		const REAL *c = (const REAL *)p + j * ldp;
		vec f = v_set1(x[j]);
		for (int64_t i = 0; i < m; i += LANES) {
			int rest = m - i < LANES ? (int)(m - i) : LANES;
			int whole = rest == LANES;
			vec e = whole ? v_load(c + i) : v_load_part(c + i, rest);
			vec a = whole ? v_load(h + i) : v_load_part(h + i, rest);
			vec b = whole ? v_load(l + i) : v_load_part(l + i, rest);
			vec term = v_mul(f, e), sum = v_add(a, term), t = v_sub(sum, a);
			vec d = v_add(v_sub(a, v_sub(sum, t)), v_sub(term, t));
			b = v_sub(v_add(b, d), v_fnma(f, e, term));
			if (whole) {
				v_store(h + i, sum);
				v_store(l + i, b);
			} else {
				v_store_part(h + i, sum, rest);
				v_store_part(l + i, b, rest);
			}
		}
	}
}

// angle_of is the angle of a rotation (kernels.Dense, Angles) of columns with the norms a and b, and the
// cosine c.
INLINE vec angle_of(vec c, vec a, vec b)
{
	mask rising = v_gt(b, a);
	vec small = v_select(rising, a, b), big = v_select(rising, b, a), r = v_div(small, big);
	vec e = v_div(v_mul(r, c), v_mul(v_div(v_sub(big, small), big), v_add(v_set1(1), r)));
	return v_select(rising, e, v_mul(e, v_set1(-1)));
}

static struct jmpi_angles angles(struct jmpi_column o, void *cosines, const void *lengths,
				 unsigned char *seen)
{
	REAL *c = cosines, lane[LANES];
	const REAL *norms = lengths;
	struct jmpi_angles a = {0};
	vec cosine = v_set1(0), largest[jmpi_limits], sum[jmpi_limits], zero = v_set1(0);
	vec tolerance = v_set1((REAL)o.tolerance), own = v_set1(norms[o.j]);
	for (int64_t l = 0; l < o.count; l++) {
		largest[l] = sum[l] = zero;
		a.within[l].low = (int32_t)o.n;
		a.within[l].high = -1;
	}
	for (int64_t i = 0; i < o.n; i += LANES) {
		int rest = o.n - i < LANES ? (int)(o.n - i) : LANES;
		vec x = v_load_part(c + i, rest), d = own, e = zero;
		if (i <= o.j && o.j < i + LANES) {
			v_store(lane, x);
			lane[o.j - i] = 0;
			x = v_load(lane);
		}
		vec size = v_abs(x);
		cosine = v_max(size, cosine); // which stays where x is not a number
		mask within = v_ge(tolerance, size);
		if (m_bits(within) != (1u << LANES) - 1) {
			seen[i / o.side] = 1;
			d = v_load_part(norms + i, rest);
			vec every = v_select(within, zero, angle_of(x, d, own));
			for (int64_t l = 0; l < o.count; l++) {
				mask over = v_gt(v_abs(every), v_set1((REAL)o.limits[l]));
				unsigned left = m_bits(over);
				if (left) {
					if (a.within[l].low == o.n)
						a.within[l].low = (int32_t)i + __builtin_ctz(left);
					a.within[l].high = (int32_t)i + 31 - __builtin_clz(left);
				}
				e = v_select(over, zero, every);
				largest[l] = v_max(v_abs(e), largest[l]);
				sum[l] = v_add(sum[l], v_abs(e));
			}
		}
		if (o.write)
			v_store_part(c + i, e, rest);
	}
	v_store(lane, cosine);
	for (int i = 0; i < LANES; i++)
		a.cosine = lane[i] > a.cosine ? lane[i] : a.cosine;
	for (int64_t l = 0; l < o.count; l++) {
		REAL all[LANES];
		v_store(lane, largest[l]);
		v_store(all, sum[l]);
		for (int i = 0; i < LANES; i++) {
			a.within[l].largest = lane[i] > a.within[l].largest ? lane[i] : a.within[l].largest;
			a.within[l].sum += all[i];
		}
	}
	return a;
}
