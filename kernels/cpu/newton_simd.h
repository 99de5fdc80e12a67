// One Newton–Schulz step towards an orthogonal matrix, included once for every instruction set.

// newton_schulz does t ← t + t·E with E = (I − tᵀt)/2 for the k×k matrix t, which takes what thousands of rotations have lost
// of the orthogonality of t. If no column of t has moved far, as in the late sweeps, E is formed from d = t − I, which is
// exact, as −(d + dᵀ + dᵀd)/2, so that small deviations are not lost beside the ones of the diagonal. Both ways keep the
// graded structure that t has for graded columns: E_ij is small where t_ij is.
static void newton_schulz(int64_t k, double *t, int64_t ldt, double *work)
{
	int64_t ld = (k + LANES - 1) / LANES * LANES;
	double *d = work, *e = d + k * ld;
	double close = 1;
	for (int64_t j = 0; j < k && close; j++)
		close = near(t, ldt, j);
	scaled(k, k, d, ld, t, ldt, 1);
	for (int64_t j = 0; j < k; j++)
		d[j + j * ld] -= close;
	struct jmpi_pivot all = {k, d, k, ld, d, 0, ld};
	gram(all, e, ld, 0, k);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i <= j; i++) {
			double own = close ? d[i + j * ld] + d[j + i * ld] : -(i == j);
			e[i + j * ld] = e[j + i * ld] = -0.5 * (e[i + j * ld] + own);
		}
	for (int64_t j = 0; j < k; j++)
		d[j + j * ld] += close;
	multiply(all, e, ld, e + k * ld);
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i < k; i++)
			t[i + j * ldt] += d[i + j * ld];
}
