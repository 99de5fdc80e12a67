package cpu

import (
	"gonum.org/v1/gonum/blas"

	"jmpi/kernels"
)

func (d *device) Potrf(a kernels.Panel) (done int, err error) {
	if err := kernels.CheckPotrf(a); err != nil {
		return 0, named("Potrf", err)
	}
	if done = a.N; done == 0 {
		return 0, nil
	}
	if info := potrf(a); info > 0 {
		done = info - 1
	}
	for j := range done {
		c := column(a, j)
		if !(c[j] > 0) { // NaN, which is no failure for LAPACK
			return j, nil
		}
		clear(c[j+1:])
	}
	return done, nil
}

// trsmRows is the number of rows that one call of BLAS solves for. It is fixed as tileColumns is.
const trsmRows = 256

// Trsm solves for rows; row-major, Rᵀ·Xᵀ = Bᵀ or R·Xᵀ = Bᵀ, with Rᵀ, a lower triangle, in memory.
func (d *device) Trsm(b []kernels.Panel, r kernels.Panel, transposed bool) error {
	err := kernels.CheckTrsm(b, r)
	for i := 0; i < len(b) && r.N > 0 && err == nil; i++ {
		err = d.eachRows(b[i].M, trsmRows, func(_ *workspace, i0, i1 int) error {
			x := b[i].Rows(i0, i1)
			if x.Type == kernels.Float64 {
				openblas.Dtrsm(blas.Left, blas.Lower, op(transposed), blas.NonUnit, x.N, x.M, 1, elements(r), r.Ld,
					elements(x), x.Ld)
			} else {
				openblas.Strsm(blas.Left, blas.Lower, op(transposed), blas.NonUnit, x.N, x.M, 1,
					elementsOf[float32](r), r.Ld, elementsOf[float32](x), x.Ld)
			}
			return nil
		})
	}
	return named("Trsm", err)
}
