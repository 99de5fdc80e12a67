package refine

import (
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
)

// orthonormalize makes the columns of V orthonormal, each by those before it: by corrections, or by a QR
// factorization where they do not serve.
func (s *state) orthonormalize() error {
	return s.timed(Step{What: "orthonormalize"}, func(step *Step) error {
		norms, err := s.x.Norms()
		if err != nil {
			return err
		}
		more := 0
		if matrix.Ratio(norms) >= graded {
			more = 1
		}
		enough := corrected * float64(s.v.N) * kernels.Epsilon
		for k := 1; k <= maxCorrections; k++ {
			off, size, left, err := matrix.Correct(s.v, correctable, enough)
			if err != nil {
				return err
			}
			step.Departure = append(step.Departure, finite(size))
			if off == nil {
				break
			}
			if left > enough && left < correctable { // a bound
				if left, err = s.departure(s.v); err != nil {
					return err
				}
			}
			if left <= enough {
				if more == 0 {
					return nil
				}
				more--
			}
		}
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

// repeat makes V orthonormal once more, and G = X·V.
func (s *state) repeat() (Outcome, error) {
	if err := s.orthonormalize(); err != nil {
		return NotServed, err
	}
	s.u.Free()
	return s.multiplied()
}
