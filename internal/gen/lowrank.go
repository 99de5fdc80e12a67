package gen

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"jmpi/internal/parallel"
)

// maxExactRank bounds the rank of lowrank. The factors' entries are multiples of 2⁻¹² below 2⁴
// in magnitude, so their products are multiples of 2⁻²⁴ below 2⁸, and sums of up to 2²¹ of them
// need at most 53 bits: they are exact, in whatever order they are added.
const maxExactRank = 1 << 21

// lowRank is B·C without a rounding error, so its rank is r and not "numerically about r".
func lowRank(o Options) (*Matrix, error) {
	m, r := int(o.Rows), int(o.Rank)
	b := make([]float64, m*r) // column-major, leading dimension m
	parallel.Chunks(r, 1, func(lo, hi int) {
		for l := lo; l < hi; l++ {
			shortGauss(o.Seed, "lowrank B", l, b[l*m:(l+1)*m])
		}
	})
	return &Matrix{Rows: o.Rows, Cols: o.Cols, column: func(j int, dst []float64) {
		c := make([]float64, r)
		shortGauss(o.Seed, "lowrank C", j, c)
		clear(dst)
		if m > 0 && r > 0 {
			// gonum's matrices are row-major: b is the r×m matrix Bᵀ to it.
			gonum.Implementation{}.Dgemv(blas.Trans, r, m, 1, b, m, c, 1, 1, dst, 1)
		}
	}}, nil
}

// shortGauss writes normally distributed numbers, rounded to multiples of 2⁻¹².
func shortGauss(seed uint64, purpose string, index int, dst []float64) {
	r := stream(seed, purpose, index)
	for i := range dst {
		dst[i] = math.RoundToEven(r.NormFloat64()*0x1p12) * 0x1p-12
	}
}
