// The Gram kernel ([Nov15, Alg. 4.1]), included once for every instruction set and type. Each element of the
// Gram matrix is a sum over chunks of GRAM_ROWS rows, in order; a chunk is summed in LANES interleaved chains
// of fused multiply-adds, whose sums are added pairwise. So the result does not depend on the tiles.

#define GRAM_ROWS (512 * 64 / BITS) // GRAM_J columns of a chunk stay in the first-level cache
#define GRAM_SUMS ((GRAM_I * GRAM_J + LANES - 1) / LANES * LANES)

// gram_tile forms the products of GRAM_I columns x with GRAM_J columns y over rows r0 … r1−1.
INLINE void gram_tile(int64_t r0, int64_t r1, REAL *const *x, REAL *const *y, REAL *sums)
{
	vec acc[GRAM_SUMS];
	for (int s = 0; s < GRAM_SUMS; s++)
		acc[s] = v_set1(0);
	int64_t r = r0;
	for (; r + LANES <= r1; r += LANES) {
		vec u[GRAM_I];
		for (int i = 0; i < GRAM_I; i++)
			u[i] = v_load(x[i] + r);
		for (int j = 0; j < GRAM_J; j++) {
			vec v = v_load(y[j] + r);
			for (int i = 0; i < GRAM_I; i++)
				acc[i + j * GRAM_I] = v_fma(u[i], v, acc[i + j * GRAM_I]);
		}
	}
	if (r < r1)
		for (int j = 0; j < GRAM_J; j++)
			for (int i = 0; i < GRAM_I; i++)
				acc[i + j * GRAM_I] = v_fma(v_load_part(x[i] + r, (int)(r1 - r)),
							     v_load_part(y[j] + r, (int)(r1 - r)), acc[i + j * GRAM_I]);
	for (int s = 0; s < GRAM_SUMS; s += LANES)
		v_store(sums + s, v_sums(acc + s));
}

// gram_add adds a tile to h: all of it, or where it reaches beyond the upper triangle, the last row or the
// last column, the elements i ≤ j + offset of the first `rows` rows and `columns` columns.
INLINE void gram_add(REAL *h, int64_t ldh, const REAL *sums, int64_t offset, int64_t rows, int64_t columns)
{
	if (offset >= GRAM_I - 1 && rows >= GRAM_I && columns >= GRAM_J)
		for (int j = 0; j < GRAM_J; j++)
			for (int i = 0; i < GRAM_I; i++)
				h[i + j * ldh] += sums[i + j * GRAM_I];
	else
		for (int j = 0; j < GRAM_J && j < columns; j++)
			for (int i = 0; i < GRAM_I && i < rows && i <= j + offset; i++)
				h[i + j * ldh] += sums[i + j * GRAM_I];
}

static void gram(struct jmpi_pivot g, void *product, int64_t ldh, int64_t i1, int64_t j0, int64_t j1)
{
	REAL *h = product;
	REAL *c[JMPI_MAX_ORDER + LANES];
	columns_of(g, c);
	for (int64_t j = g.np + g.nq; j < g.np + g.nq + LANES; j++)
		c[j] = c[0]; // a tile may reach beyond the last column; what it finds there is not used

	for (int64_t j = j0; j < j1; j++)
		memset(h + j * ldh, 0, (size_t)(j < i1 ? j + 1 : i1) * sizeof *h);
	for (int64_t r0 = 0; r0 < g.m; r0 += GRAM_ROWS) {
		int64_t r1 = r0 + GRAM_ROWS < g.m ? r0 + GRAM_ROWS : g.m;
		for (int64_t tj = j0; tj < j1; tj += GRAM_J)
			for (int64_t ti = 0; ti < tj + GRAM_J && ti < j1 && ti < i1; ti += GRAM_I) {
				REAL sums[GRAM_SUMS];
				gram_tile(r0, r1, c + ti, c + tj, sums);
				gram_add(h + ti + tj * ldh, ldh, sums, tj - ti, i1 - ti, j1 - tj);
			}
	}
	for (int64_t j = j0; j < j1; j++)
		for (int64_t i = 0; i < j && i < i1; i++)
			h[j + i * ldh] = h[i + j * ldh];
}
