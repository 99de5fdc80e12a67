package residual

import (
	"fmt"
	"slices"

	"jmpi/internal/report"
)

// signature is J of a hyperbolic decomposition, VᵀDV = diag(I_P, −I); nil stands for the SVD, D = I.
type signature struct {
	diagonal []float64 // of D: the signs of A's columns, which are the rows of V
	positive int       // P
	normV    float64   // ‖V‖_F as info.json tells it; 0: it does not
}

// newSignature returns the signature of the m×n decomposition that the info.json at path tells of; nil if all
// signs are +1.
func newSignature(told report.Told, path string, m, n int64) (*signature, error) {
	s := told.Signature
	if s == nil {
		return nil, nil
	}
	diagonal, err := s.Diagonal(int(n))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; was it made from another input?", path, err)
	}
	if s.Positive == n {
		return nil, nil
	}
	if m < n {
		return nil, fmt.Errorf("%s has a signature, but a %d×%d matrix has no hyperbolic SVD; was it made "+
			"from another input?", path, m, n)
	}
	return &signature{diagonal, int(s.Positive), told.VNorm}, nil
}

// column returns the sign of the j-th column of U and V, 0-based.
func (s *signature) column(j int) float64 {
	if s != nil && j >= s.positive {
		return -1
	}
	return 1
}

// row returns the sign of the i-th column of A, 0-based.
func (s *signature) row(i int) float64 {
	if s == nil {
		return 1
	}
	return s.diagonal[i]
}

// times returns D·V for a panel of V that begins with row i0: for the SVD the panel itself, else a copy.
func (s *signature) times(i0 int64, v panel) panel {
	if s == nil {
		return v
	}
	v.data = slices.Clone(v.data)
	v.eachColumn(func(_ int, column []float64) {
		for i := range column {
			column[i] *= s.diagonal[int(i0)+i]
		}
	})
	return v
}

// equals tells whether D is diag(signs).
func (s *signature) equals(signs []float64) bool {
	if s == nil {
		return !slices.ContainsFunc(signs, func(x float64) bool { return x != 1 })
	}
	return slices.Equal(signs, s.diagonal)
}

// eigenvalues returns S²·diag(I_P, −I) in non-increasing order: what S says of the eigenvalues of A·D·Aᵀ.
func (s *signature) eigenvalues(sigma []float64) []float64 {
	lambda := make([]float64, len(sigma))
	for j, x := range sigma {
		lambda[j] = s.column(j) * x * x
	}
	slices.Sort(lambda)
	slices.Reverse(lambda)
	return lambda
}
