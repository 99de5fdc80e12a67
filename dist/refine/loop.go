package refine

import (
	"math"
	"slices"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// Bounds of a pass.
const (
	largeAngle  = 2e-3 // larger angles are left out
	largeCosine = 0.1  // the largest one that a pass may see
	largestNorm = 0.04 // the 2-norm of the angles, up to which the terms to the eighth order are enough
	fourthOrder = 3e-3 // those to the fourth order,
	secondOrder = 2e-4 // to the second,
	firstOrder  = 1e-8 // and the first one

	// Clusters of angles below largeAngle are made if these are fewAngles at least, for so many columns at most.
	fewAngles, fewColumns = 1e-10, 1024

	// Where a pass should have left no cosine over promising, random vectors tell whether the columns of U are
	// orthonormal: the departure, ‖UᵀU − I‖_F, is orthogonal at most, in units of n·ε.
	promising, orthogonal = 1e-11, 0.5

	// Where a pass would leave a cosine over farAway, so that another one would not be the last, what it leaves
	// to second order is rotated too.
	farAway = 1e-8

	// Products in float32 may have errors of this norm in all, in units of n·ε.
	tiny = 0.05

	// The columns of U pass for orthogonal too if no cosine exceeds smallCosine, and the square root of the
	// share of active pivots times the largest one is smallDeparture at most, in units of ε: that bounds what
	// they add to ‖UᵀU − I‖_F, in units of n·ε.
	// Where a pass has not made the cosines smaller, these are rounding errors, and may be restDeparture.
	smallCosine, smallDeparture, restDeparture = 64, 0.5, 2
)

// pass makes a pass, unless all cosines are below the tolerance or passes do not serve.
func (s *state) pass() error {
	if err := s.sort(); err != nil {
		return err
	}
	if s.Expected <= promising {
		if done, err := s.check(); done || err != nil {
			s.settle()
			return err
		}
	}
	return s.timed(Step{What: "look"}, func(step *Step) error {
		l, off, err := s.firstLook()
		if err != nil {
			return err
		}
		defer func() { l.free() }()
		l.tell(step)
		if s.enough() {
			return nil
		}
		outcome, done := l.decide(s.Before)
		switch {
		case done && !s.Exact, s.Near && (done || !l.completed()):
			s.anew()
			return nil
		case done && outcome == Converged:
			s.settle()
			return nil
		case done:
			s.end(outcome)
			return nil
		case s.Pass == maxPasses:
			s.end(NoProgress)
			return nil
		}
		if err := s.foretell(l, off); err != nil {
			return err
		}
		if s.enough() {
			return nil
		}
		s.Near = false
		s.drop()
		if err := s.finish(&l); err != nil {
			return err
		}
		l.tell(step)
		s.Before = step.Cosine
		served, err := s.passBy(&l, step)
		if served {
			s.Pass++
			step.What, s.Expected = "pass", step.Cosine*step.Angle
		}
		switch {
		case err != nil:
			return err
		case !s.Exact && served:
			s.Exact, s.Near, s.Next = true, true, multiplying
		case !s.Exact:
			s.anew()
		case !served:
			s.end(TooLarge)
		}
		return nil
	})
}

// enough ends the loop if the singular values are all that is wanted, and are known.
func (s *state) enough() bool {
	all := s.values != nil && s.wanted == (Wanted{})
	if all {
		s.end(Converged)
	}
	return all
}

// check tells whether random vectors find the columns of U orthonormal.
func (s *state) check() (ok bool, err error) {
	err = s.timed(Step{What: "check"}, func(step *Step) error {
		size, err := s.departure(s.u)
		step.Departure = []float64{finite(size)}
		ok = size <= orthogonal*float64(s.x.N)*kernels.Epsilon
		return err
	})
	return ok, err
}

// passBy makes a pass: angles in place of cosines, their powers, the products. It tells whether the angles
// are small enough for that.
func (s *state) passBy(l *look, step *Step) (served bool, err error) {
	s.products, s.single = 0, 0
	defer func() { step.Single = s.single / max(1, s.products) }()
	limit := step.Angle
	if step.Cosine*step.Angle > farAway {
		step.Second = true
		if err := s.second(l, limit); err != nil {
			return false, err
		}
		limit *= 2 // the second order may have made the largest angle larger
	}
	turns, err := s.turnsOf(l.h, l.clusters)
	if err != nil {
		return false, err
	}
	if step.Norm, err = s.angles(l.h, l.clusters, limit); err != nil {
		return false, err
	}
	estimated := step.Norm > secondOrder
	if estimated {
		estimate, err := s.estimate(l.h)
		if err != nil {
			return false, err
		}
		step.Norm = min(step.Norm, max(step.Angle, estimate))
	}
	switch {
	case step.Norm > largestNorm:
		return false, nil
	case step.Norm > fourthOrder && s.Exact:
		step.Order = 8
	case step.Norm > secondOrder && s.Exact, step.Norm > fourthOrder:
		step.Order = 4
	default:
		if step.Order, err = s.lowest(l.h, step.Norm); err != nil {
			return false, err
		}
	}
	if err := s.powers(l.h, step.Order, step.Norm); err != nil {
		return false, err
	}
	if estimated && s.Exact {
		if orthogonal, err := s.orthogonal(l.h); !orthogonal || err != nil {
			return false, err
		}
	}
	if l.lack != nil {
		ratios, inverse := s.ratios()
		if err := l.lack.Scale(inverse, ratios); err != nil {
			return false, err
		}
		if err := l.h.Add(l.lack); err != nil {
			return false, err
		}
		l.lack.Free()
		l.lack = nil
	}
	if err := s.apply(l.h); err != nil {
		return false, err
	}
	return true, s.turn(turns)
}

// lowest returns the highest power of angles that is needed, where that is the second one at most. Their
// 2-norm is known. E²/2 is left out where it is small: where columns are graded its elements may be so and
// count.
func (s *state) lowest(e *matrix.Matrix, norm float64) (order int, err error) {
	switch {
	case norm <= firstOrder:
		return 1, nil
	case s.rough(1) == 0:
		return 2, nil
	}
	norms, err := e.Norms()
	if norm*kernels.Norm2(norms)/2 <= negligible(e.N) {
		return 1, err
	}
	return 2, err
}

// angles puts the angles in the place of cosines, up to a limit, and none in clusters. It returns a bound of
// the 2-norm.
func (s *state) angles(h *matrix.Matrix, clusters []cluster, limit float64) (norm float64, err error) {
	angles, _, err := h.Angles(s.norms, s.angleOptions(limit))
	if err != nil {
		return 0, err
	}
	return finite(angles.Within[0].Sum), h.ZeroSquares(spansOf(clusters))
}

// angleOptions are those of angles up to a limit, in the place of cosines.
func (s *state) angleOptions(limit float64) kernels.AngleOptions {
	// What is just below the tolerance is rotated too: rounding errors may lift it above. But where norms are
	// nearly equal the angle would be nothing but such errors.
	return kernels.AngleOptions{Tolerance: s.tolerance() / 4, Limits: []float64{max(limit, firstOrder)},
		Write: true}
}

// second adds to the cosines what a pass leaves of them to second order: H ← H + (Q + Qᵀ)/2 with Q =
// (H − I)·D·E·D⁻¹.
func (s *state) second(l *look, limit float64) error {
	k, err := l.h.Clone()
	if err != nil {
		return err
	}
	defer func() { k.Free() }()
	if _, err = s.angles(k, l.clusters, limit); err != nil {
		return err
	}
	rows, columns := s.ratios()
	for j := range columns {
		columns[j] *= 0.5
	}
	if err = k.Scale(rows, columns); err != nil {
		return err
	}
	q, err := k.New(k.M, k.N)
	if err != nil {
		return err
	}
	defer q.Free()
	if err = l.h.AddIdentity(-1); err != nil {
		return err
	}
	if err = s.addProduct(q, l.h, k, 1, s.rough(math.Inf(1))); err != nil {
		return err
	}
	if err = l.h.AddIdentity(1); err != nil {
		return err
	}
	k.Free()
	if k, err = q.Transpose(nil, q.M); err != nil {
		return err
	}
	if err = q.Add(k); err != nil {
		return err
	}
	return l.h.Add(q)
}

// ratios returns D, divided by the largest norm, and its inverse.
func (s *state) ratios() (ratios, inverse []float64) {
	largest := slices.Max(s.norms)
	ratios, inverse = make([]float64, len(s.norms)), make([]float64, len(s.norms))
	for j, x := range s.norms {
		ratios[j], inverse[j] = x/largest, largest/x
	}
	return ratios, inverse
}
