package dist

import (
	"math"
	"slices"

	"jmpi/internal/dense"
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
	scale(d.Sigma, d.exponent)
	if err := inRange(d.Sigma, d.exponent); err != nil {
		return err
	}
	if d.Rank.Of != "" || d.hyperbolic() {
		return nil
	}
	d.Rank = Rank{Tol: float64(d.task.N) * 0x1p-52, Of: "sigma against the largest"}
	least := d.Rank.Tol * slices.Max(d.Sigma)
	for _, x := range d.Sigma {
		if x > least {
			d.Rank.Value++
		}
	}
	return nil
}

// rankNoise tells what are rounding errors in a pivoted QR factorization of the sorted matrix. An element of the matrix whose columns have norm 1 is as exact
// as ε times the size of its row. So a grading of rows or columns, however steep, does not count as a lack of rank.
func (d *Decomposition) rankNoise(g grading, sorted []int) dense.Noise {
	m, tol := d.a.m, rankTolerance(d.a.n)
	rows, columns := g.balanced, g.columns
	if d.slabs != nil || d.orthonormal { // the errors of the largest rows are in all
		rows = slices.Repeat([]float64{1 / math.Sqrt(float64(m))}, m)
	}
	if d.orthonormal {
		columns = slices.Repeat([]float64{slices.Max(columns)}, len(columns))
	}
	errors := make([]float64, m)
	for i, l := range sorted {
		errors[i] = tol * rows[l]
	}
	return dense.NewNoise(errors, columns)
}

// rankTolerance is how many times ε the errors of elements are taken to be after n steps, which add up as random numbers do. How large those of the
// combinations of columns are, another √n or so, dense.Noise follows.
func rankTolerance(n int) float64 { return 4 * math.Sqrt(float64(n)) * 0x1p-52 }

// pivotedRank is the rank where a pivoted QR factorization has told it.
func pivotedRank(n, rank int) Rank {
	return Rank{rank, rankTolerance(n), "the columns that pivoted QR leaves against their errors, by rows and columns"}
}
