// The postmultiplication kernel ([Nov15, Alg. 4.2]), included once for every instruction set. Each element of
// the product is one chain of fused multiply-adds over l = 0 … k−1, whatever the tile. Where the diagonal
// element of a column of t is at least 1/2, the product is formed as x + x·(t − I), where t − I is exact. In
// the late sweeps t is close to I. Then there is one rounding of the size of x, instead of one in each term.

#define PANEL (LANES * MULTIPLY_VECTORS) // rows of a packed panel

// near tells whether the identity is taken out of column c of t.
INLINE int near(const double *t, int64_t ldt, int64_t c) { return t[c + c * ldt] >= 0.5; }

// pack_t packs the k×k matrix t, less the identity in the columns near it, in slices of MULTIPLY_COLUMNS
// columns, row by row, the last slice padded with zeros.
INLINE void pack_t(int64_t k, const double *t, int64_t ldt, double *out)
{
	for (int64_t j = 0; j < k; j += MULTIPLY_COLUMNS)
		for (int64_t l = 0; l < k; l++)
			for (int64_t c = j; c < j + MULTIPLY_COLUMNS; c++)
				*out++ = c < k ? t[l + c * ldt] - (l == c && near(t, ldt, c)) : 0;
}

// pack_panel copies rows of column c[j], j < k, to out: PANEL rows of column after column, the rows
// from `rows` on zero.
INLINE void pack_panel(int64_t rows, int64_t k, double *const *c, int64_t i0, double *out)
{
	for (int64_t j = 0; j < k; j++, out += PANEL) {
		const double *x = c[j] + i0;
		for (int64_t i = 0; i < PANEL; i += LANES)
			v8_store(out + i, rows - i >= LANES ? v8_load(x + i)
					  : rows > i        ? v8_load_part(x + i, (int)(rows - i))
							    : v8_set1(0));
	}
}

// tile multiplies a packed panel by one packed slice of t, the columns from j0 on, into rows i0 … of the
// columns c[j0+j]. self[j0+j] is not 0 where the identity has been taken out of t.
INLINE void tile(int64_t rows, int64_t k, const double *a, const double *t, const char *self,
		 double *const *c, int64_t j0, int64_t i0)
{
	const double *panel = a;
	v8 acc[MULTIPLY_COLUMNS][MULTIPLY_VECTORS];
	for (int j = 0; j < MULTIPLY_COLUMNS; j++)
		for (int v = 0; v < MULTIPLY_VECTORS; v++)
			acc[j][v] = v8_set1(0);
	for (int64_t l = 0; l < k; l++, a += PANEL, t += MULTIPLY_COLUMNS) {
		v8 x[MULTIPLY_VECTORS];
		for (int v = 0; v < MULTIPLY_VECTORS; v++)
			x[v] = v8_load(a + v * LANES);
		for (int j = 0; j < MULTIPLY_COLUMNS; j++) {
			v8 b = v8_set1(t[j]);
			for (int v = 0; v < MULTIPLY_VECTORS; v++)
				acc[j][v] = v8_fma(x[v], b, acc[j][v]);
		}
	}
	for (int j = 0; j < MULTIPLY_COLUMNS; j++)
		for (int v = 0; v < MULTIPLY_VECTORS; v++) {
			int64_t left = rows - v * LANES;
			if (j0 + j >= k || left <= 0)
				continue;
			if (self[j0 + j])
				acc[j][v] = v8_add(acc[j][v], v8_load(panel + (j0 + j) * PANEL + v * LANES));
			double *y = c[j0 + j] + i0 + v * LANES;
			if (left >= LANES)
				v8_store(y, acc[j][v]);
			else
				v8_store_part(y, acc[j][v], (int)left);
		}
}

static void multiply(struct jmpi_pivot g, const double *t, int64_t ldt, double *work)
{
	int64_t k = g.np + g.nq;
	double *panels = work + k * (k + MULTIPLY_COLUMNS), *c[JMPI_MAX_ORDER];
	char self[JMPI_MAX_ORDER];
	columns_of(g, c);
	pack_t(k, t, ldt, work);
	for (int64_t j = 0; j < k; j++)
		self[j] = (char)near(t, ldt, j);
	for (int64_t chunk = 0; chunk < g.m; chunk += JMPI_MULTIPLY_ROWS) {
		int64_t end = chunk + JMPI_MULTIPLY_ROWS < g.m ? chunk + JMPI_MULTIPLY_ROWS : g.m;
		double *a = panels;
		for (int64_t i = chunk; i < end; i += PANEL, a += PANEL * k)
			pack_panel(end - i, k, c, i, a);
		a = panels;
		for (int64_t i = chunk; i < end; i += PANEL, a += PANEL * k)
			for (int64_t j = 0; j < k; j += MULTIPLY_COLUMNS)
				tile(end - i, k, a, work + j * k, self, c, j, i);
	}
}
