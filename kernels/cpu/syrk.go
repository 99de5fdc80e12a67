package cpu

import (
	"gonum.org/v1/gonum/blas"

	"jmpi/kernels"
)

// A tall matrix of one tile is cut into pieces of at least syrkRows rows, at most syrkPieces, so that threads
// share the work. They are fixed as tileColumns is.
const (
	syrkRows   = 256
	syrkPieces = 16

	// Of so few columns the sums are formed over so many rows at a time: BLAS adds all of a piece one after the
	// other, which is off by many rounding errors where the terms are equal, and costs as much as that here.
	fewColumns, fewRows = 16, 32
)

// Syrk forms the tiles on and above the diagonal, and copies them below it.
func (d *device) Syrk(a, c []kernels.Panel) error {
	err := kernels.CheckSyrk(a, c)
	for i := 0; i < len(a) && err == nil; i++ {
		switch x := a[i]; {
		case x.N == 0:
		case x.M >= 2*syrkRows && x.N <= tileColumns && x.Type == kernels.Float64:
			err = d.syrkTall(x, c[i])
		default:
			err = d.syrkTiled(x, c[i])
		}
	}
	return named("Syrk", err)
}

func (d *device) syrkTiled(a, c kernels.Panel) error {
	type tile struct{ i0, i1, j0, j1 int }
	var tiles []tile
	for j := 0; j < c.N; j += tileColumns {
		for i := 0; i <= j; i += tileColumns {
			tiles = append(tiles, tile{i, min(i+tileColumns, c.N), j, min(j+tileColumns, c.N)})
		}
	}
	return d.each(len(tiles), func(_ *workspace, k int) error {
		t := tiles[k]
		g := kernels.Gemm{TransA: true, Alpha: 1, A: a.Columns(t.i0, t.i1), B: a.Columns(t.j0, t.j1),
			C: c.Columns(t.j0, t.j1).Rows(t.i0, t.i1)}
		if t.i0 == t.j0 && a.M > 0 {
			syrk(g)
		} else {
			gemm(g)
		}
		if lower := c.Columns(t.i0, t.i1).Rows(t.j0, t.j1); c.Type == kernels.Float64 {
			transpose[float64](lower, g.C)
		} else {
			transpose[float32](lower, g.C)
		}
		return nil
	})
}

// syrkTall forms the products of pieces of rows, and adds them in their order.
func (d *device) syrkTall(a, c kernels.Panel) error {
	n, pieces := a.N, min(a.M/syrkRows, syrkPieces)
	parts := make([]float64, pieces*n*n)
	err := d.each(pieces, func(_ *workspace, k int) error {
		rows := a.Rows(k*a.M/pieces, (k+1)*a.M/pieces)
		step := rows.M
		if n <= fewColumns {
			step = fewRows
		}
		for i := 0; i < rows.M; i += step {
			some := rows.Rows(i, min(i+step, rows.M))
			openblas.Dsyrk(blas.Lower, blas.NoTrans, n, some.M, 1, elements(some), some.Ld, 1, parts[k*n*n:], n)
		}
		return nil
	})
	for j := range n {
		sums := column(c, j)[:j+1]
		clear(sums)
		for k := range pieces {
			for i, x := range parts[(k*n+j)*n:][:j+1] {
				sums[i] += x
			}
		}
	}
	transpose[float64](c, c)
	return err
}

// syrk forms the upper triangle of a product AᵀA; row-major, the lower one of a product of Aᵀ and A.
func syrk(g kernels.Gemm) {
	n, k := g.C.N, g.A.M
	if g.C.Type == kernels.Float64 {
		openblas.Dsyrk(blas.Lower, blas.NoTrans, n, k, g.Alpha, elements(g.A), g.A.Ld, g.Beta, elements(g.C),
			g.C.Ld)
	} else {
		singleSyrk(g)
	}
}
