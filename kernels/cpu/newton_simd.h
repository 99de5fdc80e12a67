// One Newton–Schulz step towards an orthogonal or J-orthogonal matrix, of float64, included once for every
// instruction set.

// departure puts (J − tᵀJt)/2 into the upper triangle of e, for J = diag(I, −I) with `positive` ones, and
// d = t, or d = t − I if close. f is like e. Where t is not orthogonal, its columns may be long, and elements
// above 2⁻²⁶ = √ε are nothing but their rounding errors: 0 takes their place.
INLINE void departure(int64_t k, int64_t positive, double close, const double *d, double *e, double *f,
		      int64_t ld)
{
	double *c = (double *)d;
	gram((struct jmpi_pivot){positive, c, k, ld, c, 0, ld}, e, ld, 0, k);
	if (positive < k)
		gram((struct jmpi_pivot){k - positive, c + positive, k, ld, c, 0, ld}, f, ld, 0, k);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i <= j; i++) {
			double sum = e[i + j * ld], own = close ? d[i + j * ld] + d[j + i * ld] : -(i == j);
			if (positive < k) {
				double si = i < positive ? 1 : -1, sj = j < positive ? 1 : -1;
				sum -= f[i + j * ld];
				own = close ? si * d[i + j * ld] + sj * d[j + i * ld] : -si * (i == j);
			}
			double h = -0.5 * (sum + own);
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
