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

// values scales the singular values back, and finds the rank where no pivoted factorization has told it.
func (d *Decomposition) values() error {
	d.Sigma = append([]float64(nil), d.Solution.Sigma...)
	if d.deflated != nil {
		d.Sigma = d.deflated.values(d.Sigma, d.task.N)
	}
	dense.Ldexp(d.Sigma, d.exponent)
	if err := matrix.InRange(d.Sigma, d.exponent); err != nil {
		return err
	}
	if d.Rank.Of != "" || d.hyperbolic() {
		return nil
	}
	d.Rank = Rank{Tol: float64(d.task.N) * kernels.Epsilon, Of: "sigma against the largest"}
	least := d.Rank.Tol * slices.Max(d.Sigma)
	for _, x := range d.Sigma {
		if x > least {
			d.Rank.Value++
		}
	}
	return nil
}

// rankNoise tells what are rounding errors in a pivoted QR factorization of s, the matrix with rows sorted: ε times a size of the row and one of the column
// whose product bounds an element. So a grading of rows or columns, however steep, does not count as a lack of rank. It is collective.
func (d *Decomposition) rankNoise(s *matrix.Matrix, g matrix.Grading, sorted []int) (dense.Noise, error) {
	even, tol := slices.Repeat([]float64{1 / math.Sqrt(float64(s.M))}, s.M), rankTolerance(s.N)
	switch {
	case d.orthonormal:
		largest := slices.Repeat([]float64{slices.Max(g.Columns)}, s.N)
		return dense.NewNoise(tol, largest, dense.Bound{Rows: even, Columns: largest}), nil
	case d.slabs != nil: // the errors of the largest rows are in all, and those of sums of as many terms as a slab has rows, up to 50ε for equal ones
		return dense.NewNoise(tol+min(float64(d.task.M), 400)*kernels.Epsilon, g.Columns, dense.Bound{Rows: even, Columns: g.Columns}), nil
	}
	rows, balanced := make([]float64, s.M), make([]float64, s.M)
	for i, l := range sorted {
		rows[i], balanced[i] = g.Rows[l], g.Balanced[l]
	}
	shares, err := s.Shares(rows)
	if err != nil {
		return dense.Noise{}, err
	}
	return dense.NewNoise(tol, g.Columns, dense.Bound{Rows: rows, Columns: shares}, dense.Bound{Rows: balanced, Columns: g.Columns}), nil
}

// rankTolerance is how many times ε the errors of elements are taken to be after n steps, which add up as random numbers do. How large those of the
// combinations of columns are, another √n or so, dense.Noise follows.
func rankTolerance(n int) float64 { return 4 * math.Sqrt(float64(n)) * kernels.Epsilon }

// pivotedRank is the rank where a pivoted QR factorization has told it.
func pivotedRank(n, rank int) Rank {
	return Rank{rank, rankTolerance(n), "the columns that pivoted QR leaves against their errors, by rows and columns"}
}
