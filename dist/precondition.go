package dist

import (
	"context"
	"fmt"

	"jmpi/dist/matrix"
)

// preconditioner is what was done to the matrix A before the Jacobi method works on X in its place, [docs/numerics.md §4]:
//
//	none     X = A
//	qr       A·P = Q·R with column pivoting, X = Rᵀ
//	qrcp     the same with rows sorted by decreasing max-norm before
//	qrcp-lq  further R = X·Q₂ᵀ, X lower triangular
//
// For the hyperbolic SVD, whose columns keep their signs, qr is A·P = Q·R with the rows sorted and column pivoting, and X = R·Pᵀ; qrcp-lq is
// what a matrix of lower rank gets (deflation), and svd what one with steeply graded rows gets (bySVD).
type preconditioner struct {
	used       string
	graded     bool               // chosen because rows or columns differ much in size
	svd        bool               // a hyperbolic SVD by way of the SVD
	sorted     []int              // row i of the sorted matrix is row sorted[i] of A; nil: not sorted
	q          *matrix.Orthogonal // Q
	place      []int              // column j of A is column place[j] of R
	transposed bool               // X = Rᵀ: its left vectors belong to the right side of A
	second     *matrix.Orthogonal // Q₂
	kept       *matrix.Matrix     // Rᵀ, if V is to come from it: R = X·Q₂ᵀ has the left vectors of X, and Q₂ need not be applied
}

// precondition replaces the matrix by what the Jacobi method works on.
func (d *Decomposition) precondition(ctx context.Context) error {
	g, err := d.a.Grading()
	if err != nil {
		return err
	}
	parallelism := 0.0
	if d.devices[0].Limits().HostMemory { // otherwise it does not count
		if parallelism, err = d.a.Parallelism(); err != nil {
			return err
		}
	}
	d.choosePreconditioner(g, parallelism)
	d.chooseV()
	if err := d.fitsChosen(); err != nil {
		return err
	}
	if d.hyperbolic() {
		return d.preconditionHyperbolic(ctx, g)
	}
	p := &d.pre
	switch p.used {
	case "none":
		return nil
	case "qr":
		err = d.triangular(g, matrix.Natural(d.a.M))
	default:
		p.sorted = matrix.Decreasing(g.Rows)
		d.a = d.a.Rows(p.sorted)
		err = d.triangular(g, p.sorted)
	}
	if err != nil {
		return err
	}
	if d.a, err = d.a.Transpose(p.place, d.a.N); err != nil || p.used != "qrcp-lq" {
		return err
	}
	if d.V.Used != "solve" {
		p.second, err = d.lower(d.a)
		return err
	}
	p.kept = d.a
	_, err = d.lower(d.a.Clone()) // Q₂ is not needed
	return err
}

// triangular replaces the matrix, whose row i was row rows[i] when it was measured, by the R of its pivoted QR factorization, and tells the rank.
func (d *Decomposition) triangular(g matrix.Grading, rows []int) error {
	noise, err := d.rankNoise(d.a, g, rows)
	if err != nil {
		return err
	}
	rank := 0
	d.pre.q, d.pre.place, rank, _, err = d.a.FactorPivoted(noise, d.orthonormal)
	d.Rank = pivotedRank(d.a.N, rank)
	return err
}

// lower factors Rᵀ = Q₂·Xᵀ, which it overwrites, and makes the lower triangular X the matrix to work on.
func (d *Decomposition) lower(transposed *matrix.Matrix) (second *matrix.Orthogonal, err error) {
	if second, _, err = transposed.Factor(transposed.Natural()); err == nil {
		d.a, err = transposed.Transpose(nil, transposed.N)
	}
	return second, err
}

// choosePreconditioner decides what to do, from the sizes of rows and columns and the parallelism of the columns.
func (d *Decomposition) choosePreconditioner(g matrix.Grading, parallelism float64) {
	rows, columns := matrix.Ratio(g.Rows), matrix.Ratio(g.Columns)
	graded := rows >= gradedRatio || columns >= gradedRatio
	c := Choice{d.task.Precondition, "as asked for"}
	if c.Used == "" || c.Used == "auto" {
		switch {
		case d.hyperbolic() && rows >= steepRatio:
			c = Choice{"svd", fmt.Sprintf("graded: the max-norms of the rows differ by a factor of %.2g", rows)}
		case d.hyperbolic() && (rows >= gradedRatio || d.a.M > d.a.N):
			c = Choice{"qr", "the hyperbolic SVD of the triangular factor is that of the matrix"}
		case d.hyperbolic():
			c = Choice{"none", "the columns keep their signs in the hyperbolic SVD"}
		case graded:
			c = Choice{"qrcp-lq", fmt.Sprintf("graded: the max-norms of the rows differ by a factor of %.2g, the norms of the columns by %.2g", rows, columns)}
		case parallelism >= decayingParallelism:
			c = Choice{"qrcp-lq", fmt.Sprintf("the singular values decay: the mean square of the cosines between columns is %.2g times that of random ones; so there are fewer sweeps", parallelism)}
		case d.slabs != nil:
			c = Choice{"qr", "the triangular factor of a tall matrix, transposed"}
		default:
			c = Choice{"none", "rows and columns are of about the same size and in all directions"}
		}
	}
	d.Precondition = c
	svd := c.Used == "svd"
	if svd {
		c.Used = "qr"
	}
	d.pre = preconditioner{used: c.Used, svd: svd, graded: graded, transposed: transposes(c.Used, d.hyperbolic())}
}

// back turns the vectors of X, of which v or u may be nil where it is not needed, into those of A.
func (p *preconditioner) back(u, v *matrix.Matrix, left, right bool) (*matrix.Matrix, *matrix.Matrix, error) {
	if p.used == "none" {
		return u, v, nil
	}
	if p.transposed {
		u, v = v, u
	}
	if p.second != nil && right {
		if err := p.second.Apply(v); err != nil {
			return nil, nil, err
		}
	}
	if right {
		v = v.Rows(p.place)
	}
	if left {
		u = u.Taller(p.q.M)
		if err := p.q.Apply(u); err != nil {
			return nil, nil, err
		}
		u = u.Rows(matrix.Inverse(p.sorted))
	}
	return u, v, nil
}

// gradedRatio is the ratio of the largest to the smallest of the rows' max-norms, or of the columns' norms, from which a matrix counts as graded.
const gradedRatio = 128

// steepRatio is the ratio of the rows' max-norms from which on a hyperbolic SVD goes by way of the SVD: hyperbolic rotations of columns whose rows are
// graded leave V less J-orthogonal, and take more than twice as many sweeps.
const steepRatio = 1 << 14

// decayingParallelism is the parallelism of the columns from which the singular values of a matrix count as decaying.
const decayingParallelism = 4
