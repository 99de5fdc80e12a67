package dist

import (
	"math"
	"slices"
)

// Rank is the numerical rank of A.
type Rank struct {
	Value int     `json:"value"`
	Tol   float64 `json:"tol"`
	Of    string  `json:"of"` // what is compared with Tol

	last int // by pivoted QR: row of R up to which there is an element that counts; all is rounding errors from there on
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

// rank counts the diagonal elements of R, the pivoted QR factorization of a matrix with rows sorted, that are more than rounding errors.
// Element k is as exact as ε times the size of what it was computed from: of row k, as given by noise, of the matrix whose columns are
// scaled to norm 1, and of its own column. So a grading of rows or columns, however steep, does not count as a lack of rank. It is
// collective.
func (s *sheet) rank(noise, columns []float64, sorted, place []int) (Rank, error) {
	r := Rank{Tol: float64(s.n) * 0x1p-52, Of: "the diagonal of R against the rows and columns scaled to the same size"}
	diagonal, err := s.gatherColumns(func(j int) float64 {
		if k := place[j]; k < s.m {
			return math.Abs(s.column(j)[k])
		}
		return 0
	})
	if err != nil {
		return r, err
	}
	largest := slices.Max(columns)
	for j, k := range place {
		if k >= s.m {
			continue
		}
		rows := math.Sqrt(float64(s.m - k)) // an error in each adds to the norm that became the element
		if diagonal[j] > r.Tol*rows*noise[sorted[k]]*(columns[j]/largest) {
			r.Value++
			r.last = max(r.last, k+1)
		}
	}
	return r, nil
}

// truncate sets rows of R from the given one on to zero: where they are nothing but rounding errors, and the Jacobi method would orthogonalize
// them to the errors of the errors.
func (s *sheet) truncate(from int) {
	s.columns(func(j int, x []float64) error {
		clear(x[min(from, len(x)):])
		return nil
	})
}
