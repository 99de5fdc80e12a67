package dist

import (
	"math"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// gradedSides says which sides of a matrix are graded.
type gradedSides int

const (
	notGraded gradedSides = iota
	columnsGraded
	rowsGraded // the matrix being square
	bothGraded // or of the rows of one that is not square
)

// sidesOf tells which sides are graded: columns alone, if the matrix with columns scaled to norm 1 has even
// rows, or rows alone, if it has even columns when the largest element of each row is 1. It is collective.
func sidesOf(in input, g matrix.Grading) (gradedSides, error) {
	rows, columns := matrix.Ratio(g.Rows) >= gradedRatio, matrix.Ratio(g.Columns) >= gradedRatio
	switch {
	case !rows && !columns:
		return notGraded, nil
	case !rows && matrix.Ratio(g.Balanced) < gradedRatio:
		return columnsGraded, nil
	case columns || in.x.M != in.x.N:
		return bothGraded, nil
	}
	sizes, err := matrix.RelativeSizes(in.x, g.Rows)
	if err != nil || matrix.Ratio(sizes) >= gradedRatio {
		return bothGraded, err
	}
	return rowsGraded, nil
}

// inOrder factors X = Q·R, or Xᵀ, the columns by decreasing norms if it is graded, otherwise in their order.
// R is nil if columns seem to depend on each other. Column k is column order[k] of what is factored. It is
// collective.
func inOrder(p prepared) (q *matrix.Orthogonal, r *matrix.Matrix, order []int, err error) {
	switch order = matrix.Natural(p.x.N); {
	case p.method.turned:
		order = matrix.Decreasing(p.grading.Rows)
		sorted, err := p.x.Rows(order)
		if err != nil {
			return nil, nil, nil, err
		}
		r, err = sorted.Transpose(nil, sorted.M)
		sorted.Free()
		if err != nil {
			return nil, nil, nil, err
		}
	case p.method.graded:
		order = matrix.Decreasing(p.grading.Columns)
		r, err = matrix.Select(p.x, order)
	default:
		r, err = p.x.Clone()
	}
	if err != nil {
		return nil, nil, nil, err
	}
	// What is left of a dependent column are the errors of the columns before it, times the coefficients of the
	// combination. As long as nothing shorter was taken, these are at most about 1/√ε.
	tol, err := r.Norms()
	if err != nil {
		return nil, nil, nil, err
	}
	for j := range tol {
		tol[j] *= math.Sqrt(kernels.Epsilon)
	}
	q, independent, err := matrix.FactorIndependent(r, tol)
	if err != nil || !independent {
		q.Free()
		r.Free()
		return nil, nil, nil, err
	}
	return q, r, order, nil
}
