package dist

import (
	"math"
	"slices"

	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// Rank is the numerical rank of A.
type Rank struct {
	Value int     `json:"value"`
	Tol   float64 `json:"tol"`
	Of    string  `json:"of"` // what is compared with Tol
}

// values returns the singular values of A from those of X, and the rank.
func values(o outcome) (sigma []float64, rank Rank, err error) {
	sigma, rank = append(sigma, o.Sigma...), o.rank
	if o.deflated != nil {
		sigma = o.deflated.values(sigma, o.n)
	}
	sigma = append(sigma, make([]float64, o.n-len(sigma))...) // X is of the order of the rank
	if err := o.holdsTotal(sigma); err != nil {
		return nil, rank, err
	}
	dense.Ldexp(sigma, o.exponent)
	if err := matrix.InRange(sigma, o.exponent); err != nil {
		return nil, rank, err
	}
	if rank.Of != "" || o.hyperbolic() {
		return sigma, rank, nil
	}
	// No pivoted factorization has told it.
	rank = Rank{Tol: float64(o.n) * kernels.Epsilon, Of: "sigma against the largest"}
	least := rank.Tol * slices.Max(sigma)
	for _, x := range sigma {
		if x > least {
			rank.Value++
		}
	}
	return sigma, rank, nil
}

// rankNoise tells what are rounding errors in a pivoted QR factorization of x, the matrix with rows sorted: ε
// times a size of the row and one of the column whose product bounds an element. So a grading of rows or
// columns, however steep, does not count as a lack of rank. It is collective.
func rankNoise(from origin, x *matrix.Matrix, g matrix.Grading, sorted []int) (dense.Noise, error) {
	even, tol := slices.Repeat([]float64{1 / math.Sqrt(float64(x.M))}, x.M), rankTolerance(x.N)
	switch {
	case from.orthonormal:
		largest := slices.Repeat([]float64{slices.Max(g.Columns)}, x.N)
		return dense.NewNoise(tol, largest, dense.Bound{Rows: even, Columns: largest}), nil
	case from.slabs != nil:
		// The errors of the largest rows are in all, and those of sums of as many terms as a slab has rows,
		// up to 50ε for equal ones. Where Gram matrices gave R no column is near its errors.
		tol += min(float64(from.m), 400) * kernels.Epsilon
		return dense.NewNoise(tol, g.Columns, dense.Bound{Rows: even, Columns: g.Columns}), nil
	}
	rows, balanced := make([]float64, x.M), make([]float64, x.M)
	for i, l := range sorted {
		rows[i], balanced[i] = g.Rows[l], g.Balanced[l]
	}
	shares, err := matrix.RelativeSizes(x, rows)
	if err != nil {
		return dense.Noise{}, err
	}
	return dense.NewNoise(tol, g.Columns, dense.Bound{Rows: rows, Columns: shares},
		dense.Bound{Rows: balanced, Columns: g.Columns}), nil
}

// rankTolerance is how many times ε the errors of elements are taken to be after n steps, which add
// up as random numbers do. How large those of the combinations of columns are, another √n or so,
// dense.Noise follows.
func rankTolerance(n int) float64 { return 4 * math.Sqrt(float64(n)) * kernels.Epsilon }

// pivotedRank is the rank where a pivoted QR factorization has told it.
func pivotedRank(n, rank int) Rank {
	return Rank{rank, rankTolerance(n),
		"the columns that pivoted QR leaves against their errors, by rows and columns"}
}
