package refine

import (
	"math"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

const (
	// correctable is the largest departure of columns from orthonormal ones, ‖VᵀV − I‖_F, that corrections are
	// tried for.
	correctable = 0.25
	// corrected is how far V may be from orthonormal after its corrections, as ‖VᵀV − I‖_F in units of n·ε.
	// Rounding errors are a tenth of n·ε or so.
	corrected = 0.25
	// maxCorrections is the most of them.
	maxCorrections = 6
	// graded is the ratio of the largest norm of a column of X to the least one, from which one correction more
	// is needed: what belongs to large singular values must vanish from the vectors of small ones, down to the
	// ratio of these.
	graded = 1e8

	// V is made orthonormal roughly, before the first pass, where it is off by roughly at most. Singular values
	// must not be further apart than wide: what is left of large ones in the vectors of small ones makes cosines
	// that are so much larger.
	roughly, wide = 2e-3, 1e5
)

// correct makes the columns of V more orthonormal, each by those before it: by a correction, or by a QR
// factorization where corrections do not serve. All corrections in a row are one step of those that are told.
func (s *state) correct() error {
	step, last := Step{What: "orthonormalize"}, len(s.steps)-1
	if s.Corrections > 0 {
		step, s.steps = s.steps[last], s.steps[:last]
	}
	return s.timed(step, func(step *Step) error {
		if s.Corrections == 0 {
			norms, err := s.x.Norms()
			if err != nil {
				return err
			}
			if s.More = 0; matrix.Ratio(norms) >= graded {
				s.More = 1
			}
		}
		s.Corrections++
		if !s.Exact && (s.More > 0 || s.Ratio > wide || !s.x.HostMemory()) {
			s.Exact = true
		}
		if !s.Exact {
			off, size, _, err := matrix.Correct(s.v, roughly, math.Inf(1), 1)
			if off != nil || err != nil {
				step.Departure, step.Single, s.Next = append(step.Departure, size), 1, multiplying
				return err
			}
			s.Exact = true
		}
		small := 0.0 // what may be multiplied in float32
		if s.More == 0 && s.Ratio < graded {
			small = s.small()
		}
		enough := corrected * float64(s.v.N) * kernels.Epsilon
		off, size, left, err := matrix.Correct(s.v, correctable, enough, small)
		if err != nil {
			return err
		}
		step.Departure = append(step.Departure, finite(size))
		step.Second = step.Second || off != nil && 3*size*size > enough
		if off != nil && left > enough && left < correctable { // a bound
			if left, err = s.departure(s.v); err != nil {
				return err
			}
		}
		switch {
		case off != nil && left <= enough && s.More == 0:
			s.Next = multiplying
			return nil
		case off != nil && left <= enough:
			s.More--
		}
		if off != nil && s.Corrections < maxCorrections {
			return nil
		}
		s.Next = multiplying
		return s.factor()
	})
}

// factor replaces V by Q of its QR factorization, of which R has a positive diagonal.
func (s *state) factor() error {
	q, err := matrix.Factor(s.v)
	if err != nil {
		return err
	}
	defer q.Free()
	diagonal, err := s.v.Diagonal()
	if err != nil {
		return err
	}
	s.v.Free()
	if s.v, err = q.Form(0, s.x.N); err != nil {
		return err
	}
	return s.v.Scale(nil, matrix.Signs(diagonal))
}
