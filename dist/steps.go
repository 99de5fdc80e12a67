package dist

import "jmpi/dist/matrix"

// rowSort is the sort of the rows: row i of what it has made is row rowSort[i] of the matrix.
type rowSort []int

// Back puts the rows of U in the order of the matrix.
func (r rowSort) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if u == nil {
		return nil, v, nil
	}
	return u.Rows(matrix.Inverse(r)), v, nil
}

// leftFactor is Q of A = Q·R.
type leftFactor struct{ q *matrix.Orthogonal }

// Back multiplies U by Q.
func (f leftFactor) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if u == nil {
		return nil, v, nil
	}
	u = u.Taller(f.q.M)
	return u, v, f.q.Apply(u)
}

// columnOrder is the pivoting of the columns: column j of the matrix is column columnOrder[j] of
// what it has made.
type columnOrder []int

// Back puts the rows of V in the order of the matrix' columns.
func (o columnOrder) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if v == nil {
		return u, nil, nil
	}
	return u, v.Rows(o), nil
}

// rightFactor is Q₂ of R = X·Q₂ᵀ.
type rightFactor struct{ q *matrix.Orthogonal }

// Back multiplies V by Q₂.
func (f rightFactor) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if v == nil {
		return u, nil, nil
	}
	return u, v, f.q.Apply(v)
}

// transposition exchanges the sides.
type transposition struct{}

// Back exchanges U and V.
func (transposition) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	return v, u, nil
}
