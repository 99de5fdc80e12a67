package refine

import (
	"math"
	"slices"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

const (
	// hopeless is the cosine from which on singular values are not told ahead.
	hopeless = 1e-5
	// nearly is by how much V may be off after a first pass in float32: products of two such departures are
	// rounding errors.
	nearly = 1e-6
)

// settle takes the norms for the singular values, if these are not known yet. Nothing is left but to verify
// the vectors.
func (s *state) settle() {
	s.Next = verifying
	if s.values == nil {
		s.values = sorted(s.norms)
	}
}

// sorted returns numbers in decreasing order.
func sorted(x []float64) []float64 {
	x = slices.Sorted(slices.Values(x))
	slices.Reverse(x)
	return x
}

// foretell finds the singular values from the cosines, to second order, where that is enough:
//
//	σ_j² = d_j²·(H_jj + Σ_i d_i²·H_ij²/(d_j² − d_i²)) = d_j²·(H_jj + ‖e_j‖² − ‖y_j‖²)
//
// with the columns of E and Y = D·E·D⁻¹. The third order is y_jᵀ·(H − I)·y_j. Besides, complete leaves out
// ‖s‖² and 2·s·h_j, where s is the departure of V. It is collective.
func (s *state) foretell(l look) error {
	if s.values != nil || !s.Exact || l.angles.Cosine > hopeless || len(l.clusters)+len(l.left) > 0 {
		return nil
	}
	longer, departure := make([]float64, len(s.norms)), 0.0 // H_jj − 1; the departure of V
	if l.lack != nil {
		var err error
		if longer, err = l.lack.Diagonal(); err != nil {
			return err
		}
		departure = l.departure
	}
	e, err := l.h.Clone()
	if err != nil {
		return err
	}
	defer e.Free()
	if err = e.AddIdentity(-1); err != nil {
		return err
	}
	zeroth, err := e.Norms()
	if err == nil {
		_, err = s.angles(e, nil, largeAngle)
	}
	if err != nil {
		return err
	}
	first, err := e.Norms()
	if err == nil {
		err = e.Scale(s.ratios())
	}
	if err != nil {
		return err
	}
	second, err := e.Norms()
	if err != nil {
		return err
	}
	values, left, size := make([]float64, len(s.norms)), 0.0, kernels.Norm2(zeroth)
	for j, d := range s.norms {
		x, y := first[j]*first[j], second[j]*second[j]
		left = max(left, size*y+x*math.Abs(x-y)+departure*(departure+2*zeroth[j]))
		values[j] = d * math.Sqrt(1+(2*longer[j]+x-y))
	}
	if left <= negligible(s.x.N) {
		s.values = sorted(values)
	}
	return nil
}

// complete takes away from the cosines what V lacks of being orthonormal, and keeps it for the pass, which
// adds −Sᵀ to F. With VᵀV = I + S + Sᵀ (matrix.Departure), V·(I − Sᵀ) is orthonormal, each column by those
// after it, so that small singular values do not get what belongs to large ones. With T = D·Sᵀ·D⁻¹ the cosines
// of X·V·(I − Sᵀ) are H − T − Tᵀ, but for products of two small matrices. It is collective.
func (s *state) complete(l *look) error {
	x, err := matrix.Departure(s.v)
	if err != nil {
		return err
	}
	defer x.Free()
	norms, err := x.Norms()
	if err != nil {
		return err
	}
	l.departure = 2 * kernels.Norm2(norms)
	ratios, inverse := s.ratios()
	if err = x.Scale(inverse, matrix.ScaledBy(ratios, slices.Repeat([]float64{-1}, x.N))); err == nil {
		err = l.h.Add(x) // −Tᵀ
	}
	if err == nil {
		l.lack, err = x.Transpose(nil, x.M) // −T
	}
	if err == nil {
		err = l.h.Add(l.lack)
	}
	return err
}

// completed tells whether complete serves: whether what is left out is rounding errors, and a pass small.
func (l look) completed() bool {
	return l.departure <= nearly && l.angles.Cosine <= hopeless && l.within.Sum <= secondOrder &&
		l.angles.Cosine*l.within.Largest <= farAway
}
