// One Newton–Schulz step towards an orthogonal or J-orthogonal matrix, of float64, included once for every
// instruction set.

// A sum of products of which the parts that are multiples of 2⁻⁴⁰ are summed for themselves, which is exact
// as long as they are below 2¹¹. So none is lost against a large one.
struct split_sum {
	vec high, low;
};

// add_squares adds sign·x_i² for the n elements of x.
INLINE void add_squares(int64_t n, const double *x, double sign, struct split_sum *sum)
{
	const vec split = v_set1(0x1.8p12), s = v_set1(sign);
	for (int64_t i = 0; i < n; i += LANES) {
		vec u = n - i < LANES ? v_load_part(x + i, (int)(n - i)) : v_load(x + i), v = v_mul(s, u);
		vec part = v_sub(v_fma(u, v, split), split);
		sum->high = v_add(sum->high, part);
		sum->low = v_add(sum->low, v_fma(u, v, v_sub(v_set1(0), part)));
	}
}

// excess returns tᵀJt − s for a column t, s being its sign, with a relative error of ε or so.
INLINE double excess(int64_t k, int64_t positive, const double *t, double s)
{
	struct split_sum sum = {v_set1(0), v_set1(0)};
	add_squares(positive, t, 1, &sum);
	add_squares(k - positive, t + positive, -1, &sum);
	double high[LANES], low[LANES], least = 0;
	v_store(high, sum.high);
	v_store(low, sum.low);
	for (int i = 0; i < LANES; i++)
		s -= high[i], least += low[i];
	return least - s;
}

// departure puts (J − tᵀJt)/2 into the upper triangle of e, for J = diag(I, −I) with `positive` ones, and
// d = t, or d = t − I if close. f is like e. Where t is not orthogonal, its columns may be long, and
// elements above 2⁻²⁶ = √ε are nothing but their rounding errors: 0 takes their place. The diagonal of
// tᵀJt is a sum of squares that are mostly small. Were those lost that come after a large one, the
// columns of t would be too long.
INLINE void departure(int64_t k, int64_t positive, double close, const double *d, double *e, double *f,
		      int64_t ld)
{
	double *c = (double *)d;
	gram((struct jmpi_pivot){positive, c, k, ld, c, 0, ld}, e, ld, k, 0, k);
	if (positive < k)
		gram((struct jmpi_pivot){k - positive, c + positive, k, ld, c, 0, ld}, f, ld, k, 0, k);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i <= j; i++) {
			double sum = e[i + j * ld], own = close ? d[i + j * ld] + d[j + i * ld] : -(i == j);
			if (positive < k) {
				double si = i < positive ? 1 : -1, sj = j < positive ? 1 : -1;
				sum -= f[i + j * ld];
				own = close ? si * d[i + j * ld] + sj * d[j + i * ld] : -si * (i == j);
			}
			double h = -0.5 * (sum + own);
			if (i == j && !close)
				h = -0.5 * excess(k, positive, d + j * ld, i < positive ? 1 : -1);
			e[i + j * ld] = positive < k && !(__builtin_fabs(h) <= 0x1p-26) ? 0 : h;
		}
}

// newton_schulz does t ← t + t·E with E = (I − J·tᵀJt)/2 for the k×k matrix t, which takes what thousands
// of rotations have lost of the (J-)orthogonality of t. In the late sweeps no column of t has moved far.
// Then E is formed from d = t − I, which is exact, as −(d + J·dᵀJ + J·dᵀJd)/2. So small deviations are not
// lost against the ones of the diagonal. Both ways keep the graded structure that t has for graded columns:
// E_ij is small where t_ij is.
static void newton_schulz(int64_t k, int64_t positive, double *t, int64_t ldt, double *work)
{
	int64_t ld = (k + LANES - 1) / LANES * LANES;
	double *d = work, *e = d + k * ld;
	double close = 1;
	for (int64_t j = 0; j < k && close; j++)
		close = near(t, ldt, j);
	scaled(k, k, d, ld, t, ldt, 1);
	for (int64_t j = 0; j < k; j++)
		d[j + j * ld] -= close;
	departure(k, positive, close, d, e, e + k * ld, ld);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i <= j; i++) { // J·E is symmetric
			double h = e[i + j * ld];
			e[i + j * ld] = i < positive ? h : -h;
			e[j + i * ld] = j < positive ? h : -h;
		}
	for (int64_t j = 0; j < k; j++)
		d[j + j * ld] += close;
	multiply((struct jmpi_pivot){k, d, k, ld, d, 0, ld}, e, ld, NULL, NULL, e + k * ld);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i < k; i++)
			t[i + j * ldt] += d[i + j * ld];
}
