package refine

import (
	"math"
	"slices"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// Bounds of singular values that are told before the last pass.
const (
	// What is left out, relative to a singular value, is exactly at most.
	exactly = 8 * kernels.Epsilon
	// hopeless is the cosine from which on more is left out: a third of the cube of 2·hopeless.
	hopeless = 1e-5
	// After a first pass in float32 V may be off by nearly.
	nearly = 1e-6
)

// near says what follows the first pass, in float32.
func (s *state) near() (err error) {
	s.anew()
	size, err := s.departure(s.v)
	if size <= nearly {
		s.Near, s.Next = size, multiplying
	}
	return err
}

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
//	σ_j² = d_j²·(1 + Σ_i d_i²·H_ij²/(d_j² − d_i²)) = d_j²·(1 + ‖e_j‖² − ‖y_j‖²)
//
// with the columns of E and Y = D·E·D⁻¹. The third order is y_jᵀ·(H − I)·y_j, and ‖H − I‖ ≤ 2·‖Y‖_F. Where V
// is off by K = VᵀV − I, d_j is divided by the length of v_j. The rest of K adds −2·e_jᵀ·k_j, and
// k_ij²·d_j²/(d_j² − d_i²), which is nothing if norms differ by more than ‖K‖, relatively. It is collective.
func (s *state) foretell(l look) error {
	if s.values != nil || !s.Exact || l.angles.Cosine > hopeless || len(l.clusters)+len(l.left) > 0 {
		return nil
	}
	norms, off := s.norms, 0.0
	if s.Near > 0 {
		lengths, err := s.v.Norms()
		if err != nil {
			return err
		}
		norms, off = slices.Clone(norms), 2*s.Near/math.Sqrt(float64(s.v.N)) // spread over all columns
		for j, x := range lengths {
			norms[j] /= x
		}
		if close := sorted(norms); slices.ContainsFunc(close[1:], func(x float64) bool {
			before := close[0]
			close = close[1:]
			return before-x <= s.Near*before
		}) {
			return nil
		}
	}
	e, err := l.h.Clone()
	if err != nil {
		return err
	}
	defer e.Free()
	if _, err = s.angles(e, nil, largeAngle); err != nil {
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
	values, left, all := make([]float64, len(norms)), 0.0, kernels.Norm2(second)
	for j, d := range norms {
		x, y := first[j]*first[j], second[j]*second[j]
		left = max(left, 2*all*y+x*math.Abs(x-y)+off*first[j])
		values[j] = d * math.Sqrt(1+(x-y))
	}
	if left <= exactly {
		s.values = sorted(values)
	}
	return nil
}

// complete takes away from the cosines what V lacks of being orthonormal, and keeps it for the pass, which
// adds it to F. With VᵀV = I + S + Sᵀ (matrix.Departure), V·(I − Sᵀ) is orthonormal, each column by those
// after it, so that small singular values do not get what belongs to large ones. With T = D·Sᵀ·D⁻¹ the cosines
// of X·V·(I − Sᵀ) are H − T − Tᵀ, but for products of two small matrices. It tells whether this serves. It is
// collective.
func (s *state) complete(l *look) (completed bool, err error) {
	if s.values == nil || l.within.Sum > secondOrder || l.angles.Cosine*l.within.Largest > farAway {
		return false, nil
	}
	departure, err := matrix.Departure(s.v)
	if err != nil {
		return false, err
	}
	l.lack, err = departure.Transpose(nil, departure.M)
	departure.Free()
	if err != nil {
		return false, err
	}
	s.Near = 0
	s.drop()
	ratios, inverse := s.ratios()
	if err = l.lack.Scale(ratios, matrix.ScaledBy(inverse, slices.Repeat([]float64{-1}, len(inverse)))); err != nil {
		return false, err
	}
	if err = l.h.Add(l.lack); err != nil { // −T
		return false, err
	}
	transposed, err := l.lack.Transpose(nil, l.lack.M)
	if err != nil {
		return false, err
	}
	err = l.h.Add(transposed)
	transposed.Free()
	if err == nil {
		err = l.lack.Scale(inverse, ratios)
	}
	if err == nil {
		err = s.measure(l)
	}
	return err == nil, err
}
