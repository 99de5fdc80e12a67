package dist

import "jmpi/dist/matrix"

// rowSort is the sort of the rows: row i of what it has made is row rowSort[i] of the matrix.
type rowSort []int

// ordered returns the matrix whose row i is row from[i] of x, which it uses up.
func ordered(x *matrix.Matrix, from []int) (*matrix.Matrix, error) {
	y, err := x.Rows(from)
	x.Free()
	return y, err
}

// Back puts the rows of U in the order of the matrix.
func (r rowSort) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if u == nil {
		return nil, v, nil
	}
	u, err := ordered(u, matrix.Inverse(r))
	return u, v, err
}

// completed returns [x 0; 0 I] with n rows and columns; it uses x up. A matrix that has such rows is returned
// as it is. One that has fewer columns than rows has only the first ones that are wanted, and gets zero rows
// alone.
func completed(x *matrix.Matrix, n int) (*matrix.Matrix, error) {
	if x.M == n {
		return x, nil
	}
	if x.N < x.M {
		return taller(x, n)
	}
	unit, err := x.UnitColumns(n-x.N, 0, n-x.N)
	if err != nil {
		return nil, err
	}
	defer x.Free()
	defer unit.Free()
	return matrix.Direct(x, unit, func(j int) int { return j })
}

// taller returns x with zero rows added below, m in all; it uses x up.
func taller(x *matrix.Matrix, m int) (*matrix.Matrix, error) {
	y, err := x.Taller(m)
	x.Free()
	return y, err
}

// leftFactor is Q of A = Q·R, where R has n columns.
type leftFactor struct {
	q *matrix.Orthogonal
	n int
}

// Back multiplies U by Q. If U has fewer columns than R, X was of the order of the rank. Then the columns of
// Q that belong to the zero rows of R are the other left singular vectors.
func (f leftFactor) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if u == nil {
		return nil, v, nil
	}
	defer f.q.Free()
	u, err := completed(u, f.n)
	if err != nil {
		return nil, nil, err
	}
	if f.q.M > u.M {
		if u, err = taller(u, f.q.M); err != nil {
			return nil, nil, err
		}
	}
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
	v, err := ordered(v, o)
	return u, v, err
}

// rightFactor is Q₂ of R = X·Q₂ᵀ.
type rightFactor struct{ q *matrix.Orthogonal }

// Back multiplies V by Q₂. If X was of the order of the rank, the other columns of Q₂ are the other right
// singular vectors.
func (f rightFactor) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if v == nil {
		return u, nil, nil
	}
	defer f.q.Free()
	v, err := completed(v, f.q.M)
	if err != nil {
		return nil, nil, err
	}
	return u, v, f.q.Apply(v)
}

// transposition exchanges the sides.
type transposition struct{}

// Back exchanges U and V.
func (transposition) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	return v, u, nil
}
