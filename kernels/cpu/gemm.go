package cpu

import (
	"gonum.org/v1/gonum/blas"

	"jmpi/internal/dense"
	"jmpi/kernels"
)

// tileColumns is the number of columns of a result that one call of BLAS computes: the bits of a column may
// depend on how many there are.
const tileColumns = 256

func tiled(kernels.Panel) int { return tileColumns }

func (d *device) Gemm(products []kernels.Gemm) error {
	err := kernels.CheckGemm(products)
	if err == nil {
		c := make([]kernels.Panel, len(products))
		for i := range products {
			c[i] = products[i].C
		}
		err = d.eachPiece(c, tiled, func(i, j0, j1 int) {
			g := products[i]
			if g.C = g.C.Columns(j0, j1); g.TransB {
				g.B = g.B.Rows(j0, j1)
			} else {
				g.B = g.B.Columns(j0, j1)
			}
			gemm(g)
		})
	}
	return named("Gemm", err)
}

// TurnColumns multiplies a copy of each panel, of whole columns, as Gemm does.
func (d *device) TurnColumns(a, q []kernels.Panel) error {
	err := kernels.CheckTurnColumns(a, q)
	if err == nil {
		err = d.each(len(a), func(w *workspace, i int) error {
			x := a[i]
			if x.M == 0 || x.N == 0 {
				return nil
			}
			before, err := w.floats(x.M * x.N)
			if err != nil {
				return err
			}
			for j := range x.N {
				copy(before[j*x.M:], column(x, j))
			}
			dense.Product(false, false, x.M, x.N, x.N, 1, before, x.M, elements(q[i]), q[i].Ld, 0, elements(x), x.Ld)
			return nil
		})
	}
	return named("TurnColumns", err)
}

// gemm does one product; row-major, Cᵀ ← α·op(B)ᵀ·op(A)ᵀ + β·Cᵀ.
func gemm(g kernels.Gemm) {
	m, n, k := g.C.M, g.C.N, g.Inner()
	switch {
	case m == 0 || n == 0:
	case k == 0:
		multiplyBy(g.C, g.Beta)
	case g.C.Type == kernels.Float64:
		dense.Product(g.TransA, g.TransB, m, n, k, g.Alpha, elements(g.A), g.A.Ld, elements(g.B), g.B.Ld, g.Beta,
			elements(g.C), g.C.Ld)
	default:
		singleGemm(g)
	}
}

func op(transposed bool) blas.Transpose {
	if transposed {
		return blas.Trans
	}
	return blas.NoTrans
}

// multiplyBy does C ← β·C, which is not read if β = 0.
func multiplyBy(c kernels.Panel, beta float64) {
	if c.Type == kernels.Float64 {
		multiplyAll(c, beta)
	} else {
		multiplyAll(c, float32(beta))
	}
}

func multiplyAll[T real](p kernels.Panel, f T) {
	for j := range p.N {
		c := columnOf[T](p, j)
		if f == 0 {
			clear(c)
			continue
		}
		for i := range c {
			c[i] *= f
		}
	}
}
