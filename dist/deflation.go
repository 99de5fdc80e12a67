package dist

import (
	"context"
	"fmt"
	"math"
	"slices"

	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// deflation is how the hyperbolic SVD of a matrix of rank r < n is found. A = Q·[L 0; 0 0]·[Y N]ᵀ with
// orthonormal [Y N] and L of order r: the columns of N are the null space of A. It has a hyperbolic SVD if
// and only if YᵀJY, as well NᵀJN, is not singular. With the eigenvalues YᵀJY = Z·Λ·Zᵀ and G = L·Z·|Λ|^½,
// which has full rank and whose columns have the signs of Λ, and its hyperbolic SVD G = U₁·Σ·V₁ᵀ,
//
//	A = Q·U₁ · Σ · (Y·Z·|Λ|^−½·V₁)ᵀ,
//
// and J·N·Z₀·|Λ₀|^−½·sgn Λ₀ are the columns of V for σ = 0, where NᵀJN = Z₀·Λ₀·Z₀ᵀ. Rounding errors instead
// of null columns would be rotated hyperbolically against each other; here there are none.
type deflation struct {
	n        int // order of A
	positive int // eigenvalues Λ above 0
	row      inertia
	null     inertia // empty if V is not wanted
}

// inertia is the eigenvalue decomposition YᵀJY = Z·diag(Λ)·Zᵀ for orthonormal columns Y.
type inertia struct {
	z      *matrix.Matrix
	lambda []float64 // non-increasing
	root   []float64 // |Λ|^½
}

// degenerateSign is the magnitude, in units of n·ε, of an eigenvalue of YᵀJY below which it has no sign.
const degenerateSign = 64

// triangle is R of a pivoted QR factorization whose rank is less than its order.
type triangle struct {
	r     *matrix.Matrix
	place []int
	rank  int
	doubt float64 // how exact the space of its rows is
	above []step  // that led to it
}

// deflate makes G the matrix to work on. It is collective.
func deflate(ctx context.Context, s site, t Task, p prepared, r triangle) (prepared, error) {
	n, rank := r.r.N, r.rank
	f := &deflation{n: n}
	p.deflated = f
	if err := s.fits(t, p.ways(t), true); err != nil {
		return p, err
	}
	l, err := r.r.Transpose(r.place, rank)
	if err != nil {
		return p, err
	}
	q2, x, err := lower(l)
	if err != nil {
		return p, err
	}
	space := rowsAndNull{q2, r.place, p.signature.positive}
	if f.row, err = space.inertia(ctx, s, t, 0, rank); err != nil {
		return p, err
	}
	for _, x := range f.row.lambda {
		if math.Abs(x) <= max(degenerateSign*float64(n)*kernels.Epsilon, r.doubt) {
			return p, jacobi.NoDecomposition("A has rank %d, but A·D·Aᵀ a lower one; there are combinations of "+
				"columns of different signs that are equal", rank)
		}
		if x > 0 {
			f.positive++
		}
	}
	if t.needs().Right {
		if f.null, err = space.inertia(ctx, s, t, rank, n-rank); err != nil {
			return p, err
		}
		positive := f.positive
		for _, x := range f.null.lambda {
			if x > 0 {
				positive++
			}
		}
		if positive != p.signature.positive {
			return p, jacobi.NoDecomposition("the null space of A, of dimension %d, contains vectors x that are "+
				"D-orthogonal to it, xᵀ·D·y = 0 for all y in it", n-rank)
		}
	}
	if p.x, err = matrix.Product(x, f.row.z, true); err != nil {
		return p, err
	}
	if err := p.x.Scale(nil, f.row.root); err != nil {
		return p, err
	}
	if p.positive = f.positive; f.positive == 0 {
		p.positive, p.rising = rank, true
	}
	p.steps = append([]step{nullSigns{f, p.signature.positive}},
		append(r.above, columnOrder(r.place), rightFactor{q2}, f)...)
	return p, nil
}

// rowsAndNull are the spaces of the rows of A and its null space: the columns of P·Q₂.
type rowsAndNull struct {
	q2       *matrix.Orthogonal
	place    []int
	positive int
}

// inertia diagonalizes YᵀJY for Y, so many columns of P·Q₂ from the given one on: YᵀJY = 2·Y₊ᵀY₊ − I
// where Y₊ are the rows of Y with sign +1, so Z are the right singular vectors of Y₊ and
// Λ = 2·σ² − 1. It is collective.
func (x rowsAndNull) inertia(ctx context.Context, s site, t Task, from, count int) (inertia, error) {
	y, err := x.q2.Form(from, count)
	if err != nil {
		return inertia{}, err
	}
	plus, err := ordered(y, x.rows(count))
	if err != nil {
		return inertia{}, err
	}
	sub, err := svdOf(ctx, s, t, plus, true, false)
	if err != nil {
		return inertia{}, fmt.Errorf("signs of the null space: %w", err)
	}
	signs := inertia{z: sub.v}
	for _, x := range sub.sigma {
		lambda := 2*x*x - 1
		signs.lambda = append(signs.lambda, lambda)
		signs.root = append(signs.root, math.Sqrt(math.Abs(lambda)))
	}
	return signs, nil
}

// rows are those of Y that have sign +1, and zero rows below them so that there are at least so many.
func (x rowsAndNull) rows(least int) []int {
	rows := slices.Clone(x.place[:x.positive])
	for len(rows) < least {
		rows = append(rows, -1)
	}
	return rows
}

// values puts zeros for the null space between the singular values of the two signs.
func (f *deflation) values(sigma []float64, n int) []float64 {
	all := make([]float64, n)
	copy(all, sigma[:f.positive])
	copy(all[n-len(sigma)+f.positive:], sigma[f.positive:])
	return all
}

// Back turns U₁ into U of R, n×n, and V₁ into [Y N]ᵀ·V, n×n, but for J and sgn Λ₀ in the columns of
// the null space (nullSigns).
func (f *deflation) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	var err error
	if u != nil {
		if u, err = f.left(u, f.n); err != nil {
			return nil, nil, err
		}
	}
	if v != nil {
		v, err = f.right(v)
	}
	return u, v, err
}

// left returns U of R, n×n, from U₁.
func (f *deflation) left(u *matrix.Matrix, n int) (*matrix.Matrix, error) {
	unit, err := u.UnitColumns(n-u.N, 0, n-u.N)
	if err != nil {
		return nil, err
	}
	return f.between(u, unit)
}

// right returns [Y N]ᵀ·V, n×n, from V₁, but for J and sgn Λ₀ in the columns of the null space.
func (f *deflation) right(v *matrix.Matrix) (*matrix.Matrix, error) {
	if err := v.Divide(f.row.root, nil); err != nil {
		return nil, err
	}
	w, err := matrix.Product(f.row.z, v, false)
	if err != nil {
		return nil, err
	}
	v.Free()
	var inverse []float64
	for _, x := range f.null.root {
		inverse = append(inverse, 1/x)
	}
	if err := f.null.z.Scale(nil, inverse); err != nil {
		return nil, err
	}
	return f.between(w, f.null.z)
}

// nullSigns stands for what V still needs when all else is undone.
type nullSigns struct {
	*deflation
	signs int // columns of A with sign +1
}

// Back does x ← J·x·sgn Λ₀ for the columns of V that belong to the null space, its rows being
// partitioned as the signs are.
func (f nullSigns) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if v == nil {
		return u, nil, nil
	}
	above := 0 // eigenvalues Λ₀ above 0, which come first
	for above < len(f.null.lambda) && f.null.lambda[above] > 0 {
		above++
	}
	middle, end := f.positive+above, f.positive+len(f.null.lambda)
	if err := v.ScaleRows(f.positive, middle, signsOf(v.M, f.signs, 1)); err != nil {
		return nil, nil, err
	}
	return u, v, v.ScaleRows(middle, end, signsOf(v.M, f.signs, -1))
}

// between returns the matrix [X₊ 0 X₋; 0 Y 0], the columns of x of either sign and between them
// those of y, both of which it uses up. It is collective.
func (f *deflation) between(x, y *matrix.Matrix) (*matrix.Matrix, error) {
	defer x.Free()
	defer y.Free()
	return matrix.Direct(x, y, func(j int) int {
		switch {
		case j >= x.N:
			return f.positive + j - x.N
		case j < f.positive:
			return j
		}
		return j + y.N
	})
}
