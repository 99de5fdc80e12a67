// The postmultiplication kernel ([Nov15, Alg. 4.2]), included once for every instruction set and type. Each
// element of the product is one chain of fused multiply-adds over l = 0 … k−1, whatever the tile. Where the
// diagonal element of a column of t is at least 1/2, the product is formed as x + x·(t − I), where t − I is
// exact. In the late sweeps t is close to I. Then there is one rounding of the size of x, instead of one in
// each term.

#define PANEL (LANES * MULTIPLY_VECTORS) // rows of a packed panel

// near tells whether the identity is taken out of column c of t.
INLINE int near(const REAL *t, int64_t ldt, int64_t c) { return t[c + c * ldt] >= (REAL)0.5; }

// pack_t packs the k×k matrix t, less the identity in the columns near it (self), in slices of
// MULTIPLY_COLUMNS columns, row by row, the last slice padded with zeros.
INLINE void pack_t(int64_t k, const REAL *t, int64_t ldt, const char *self, REAL *out)
{
	for (int64_t j = 0; j < k; j += MULTIPLY_COLUMNS)
		for (int64_t l = 0; l < k; l++)
			for (int64_t c = j; c < j + MULTIPLY_COLUMNS; c++)
				*out++ = c < k ? t[l + c * ldt] - (l == c && self[c]) : 0;
}

// weighed puts t_ij·rows[i]·columns[j] into out, 0 where t_ij is 0.
INLINE void weighed(int64_t k, const REAL *t, int64_t ldt, const double *rows, const double *columns,
		    REAL *out)
{
	for (int64_t j = 0; j < k; j++)
		for (int64_t i = 0; i < k; i++)
			out[i + j * k] = t[i + j * ldt] == 0 ? 0 : (REAL)(t[i + j * ldt] * (rows[i] * columns[j]));
}

// pack_panel copies rows of column c[j], j < k, to out: PANEL rows of column after column, the rows
// from `rows` on zero.
INLINE void pack_panel(int64_t rows, int64_t k, REAL *const *c, int64_t i0, REAL *out)
{
	for (int64_t j = 0; j < k; j++, out += PANEL) {
		const REAL *x = c[j] + i0;
		for (int64_t i = 0; i < PANEL; i += LANES)
			v_store(out + i, rows - i >= LANES ? v_load(x + i)
					  : rows > i        ? v_load_part(x + i, (int)(rows - i))
							    : v_set1(0));
	}
}

// tile multiplies a packed panel by one packed slice of t, the columns from j0 on, into rows i0 … of the
// columns c[j0+j]. self[j0+j] is not 0 where the identity has been taken out of t.
INLINE void tile(int64_t rows, int64_t k, const REAL *a, const REAL *t, const char *self,
		 REAL *const *c, int64_t j0, int64_t i0)
{
	const REAL *panel = a;
	vec acc[MULTIPLY_COLUMNS][MULTIPLY_VECTORS];
	for (int j = 0; j < MULTIPLY_COLUMNS; j++)
		for (int v = 0; v < MULTIPLY_VECTORS; v++)
			acc[j][v] = v_set1(0);
	for (int64_t l = 0; l < k; l++, a += PANEL, t += MULTIPLY_COLUMNS) {
		vec x[MULTIPLY_VECTORS];
		for (int v = 0; v < MULTIPLY_VECTORS; v++)
			x[v] = v_load(a + v * LANES);
		for (int j = 0; j < MULTIPLY_COLUMNS; j++) {
			vec b = v_set1(t[j]);
			for (int v = 0; v < MULTIPLY_VECTORS; v++)
				acc[j][v] = v_fma(x[v], b, acc[j][v]);
		}
	}
	for (int j = 0; j < MULTIPLY_COLUMNS; j++)
		for (int v = 0; v < MULTIPLY_VECTORS; v++) {
			int64_t left = rows - v * LANES;
			if (j0 + j >= k || left <= 0)
				continue;
			if (self[j0 + j])
				acc[j][v] = v_add(acc[j][v], v_load(panel + (j0 + j) * PANEL + v * LANES));
			REAL *y = c[j0 + j] + i0 + v * LANES;
			if (left >= LANES)
				v_store(y, acc[j][v]);
			else
				v_store_part(y, acc[j][v], (int)left);
		}
}

// Rows that are packed at a time.
#define CHUNK (JMPI_MULTIPLY_ROWS * 64 / BITS)

static int64_t multiply_work(int64_t k) { return k * (2 * k + LANES + CHUNK); }

static void multiply(struct jmpi_pivot g, const void *transformation, int64_t ldt, const double *rows,
		     const double *columns, void *work)
{
	int64_t k = g.np + g.nq;
	const REAL *t = transformation;
	REAL *packed = work, *panels = packed + k * (k + MULTIPLY_COLUMNS), *c[JMPI_MAX_ORDER];
	char self[JMPI_MAX_ORDER];
	columns_of(g, c);
	if (rows) {
		REAL *w = panels + k * CHUNK;
		weighed(k, t, ldt, rows, columns, w);
		t = w, ldt = k;
	}
	for (int64_t j = 0; j < k; j++)
		self[j] = (char)near(t, ldt, j);
	pack_t(k, t, ldt, self, packed);
	for (int64_t chunk = 0; chunk < g.m; chunk += CHUNK) {
		int64_t end = chunk + CHUNK < g.m ? chunk + CHUNK : g.m;
		REAL *a = panels;
		for (int64_t i = chunk; i < end; i += PANEL, a += PANEL * k)
			pack_panel(end - i, k, c, i, a);
		a = panels;
		for (int64_t i = chunk; i < end; i += PANEL, a += PANEL * k)
			for (int64_t j = 0; j < k; j += MULTIPLY_COLUMNS)
				tile(end - i, k, a, packed + j * k, self, c, j, i);
	}
}
