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
		l, off, err := s.ahead()
		if err != nil {
			return err
		}
		defer func() { l.free() }()
		l.tell(step)
		if s.values != nil && s.wanted == (Wanted{}) {
			s.end(Converged)
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
		if s.values != nil && s.wanted == (Wanted{}) {
			s.end(Converged)
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

// look is what is seen of the cosines.
type look struct {
	h        *matrix.Matrix // of cosines, then of angles, then of powers of them
	angles   kernels.Angles
	active   float64
	within   kernels.Within // the angles of the pass, whose largest sum is a bound of their 2-norm
	clusters []cluster      // large angles join their columns; hosts find what turns them
	left     []cluster      // too large for that
	// −D·Sᵀ·D⁻¹ for what V lacks, −Sᵀ, and a bound of the departure that it mends; nil if V lacks nothing
	lack      *matrix.Matrix
	departure float64
}

// free gives the memory of the matrices back.
func (l *look) free() {
	l.h.Free()
	l.lack.Free()
}

// ahead is look. If V is to be mended it foretells the singular values before, and if no more is wanted it forms
// the cosines near the diagonal alone for that.
func (s *state) ahead() (l look, off offs, err error) {
	if !s.Near || s.values != nil {
		l, err = s.look(false)
		return l, off, err
	}
	near := s.wanted == Wanted{}
	if l, err = s.look(near); err == nil {
		off, err = s.foretellNear(l)
	}
	if err == nil && near && s.values == nil {
		l.free()
		l, err = s.look(false)
	}
	if err != nil {
		l.free()
	}
	return l, off, err
}

// look forms the cosines, or those near the diagonal, and measures them.
func (s *state) look(near bool) (l look, err error) {
	gram := matrix.Gram
	if near {
		gram = matrix.NearGram
	}
	if l.h, err = gram(s.u); err != nil {
		return l, err
	}
	if s.Near {
		err = s.complete(&l, near)
	}
	if err == nil {
		err = s.measure(&l)
	}
	if err != nil {
		l.free()
	}
	return l, err
}

// measure measures the cosines.
func (s *state) measure(l *look) (err error) {
	if l.angles, l.active, err = l.h.Angles(s.norms, kernels.AngleOptions{Tolerance: s.tolerance(),
		Limits: []float64{largeAngle}}); err == nil {
		l.within = l.angles.Within[0]
		l.clusters, l.left = clustersOf(l.within.Left, s.norms)
	}
	return err
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

// finish makes clusters of smaller angles too, so that after this pass perhaps no other is needed. A pass
// leaves angles times cosines. So those angles are large for which this is over the tolerance. If they are
// few their clusters are turned after the rest; otherwise the largest of them are. On hosts, where that takes
// less time than E² does, it begins with those for which E² would count.
func (s *state) finish(l *look) error {
	limit := s.tolerance() / (4 * l.angles.Cosine)
	if limit < fewAngles || len(l.left) > 0 {
		return nil
	}
	var limits []float64
	if x := s.linear(); x < min(limit, l.within.Largest) {
		limits = append(limits, x)
	}
	for ; limit < l.within.Largest && len(limits) < kernels.MaxLimits; limit *= 2 {
		limits = append(limits, limit)
	}
	if len(limits) == 0 {
		return nil
	}
	angles, _, err := l.h.Angles(s.norms, kernels.AngleOptions{Tolerance: s.tolerance(), Limits: limits})
	if err != nil {
		return err
	}
	for _, within := range angles.Within {
		taken, left := clustersOf(within.Left, s.norms)
		columns := 0
		for _, c := range taken {
			columns += c.width()
		}
		if len(left) == 0 && columns <= min(l.h.N/2, fewColumns) {
			l.within, l.clusters = within, taken
			return nil
		}
	}
	return nil
}

// linear returns an angle up to which E²/2 is mostly negligible on hosts, infinity where it is not left out:
// ‖E‖ is some of these angles then, and ‖E‖_F √n of them.
func (s *state) linear() float64 {
	if s.rough(1) == 0 || !s.x.HostMemory() {
		return math.Inf(1)
	}
	return math.Sqrt(negligible(s.x.N)/math.Sqrt(float64(s.x.N))) / 2
}

// finite returns a number that JSON has: the largest one for one that is not finite.
func finite(x float64) float64 {
	if math.IsNaN(x - x) {
		return math.MaxFloat64
	}
	return x
}

// tell says in a step what is seen.
func (l look) tell(step *Step) {
	step.Active, step.Cosine = l.active, l.angles.Cosine
	step.Angle, step.Norm = l.within.Largest, finite(l.within.Sum)
	step.Clusters, step.Left = len(l.clusters), len(l.left)
	for _, c := range slices.Concat(l.clusters, l.left) {
		step.Width = max(step.Width, c.width())
	}
}

// decide tells whether the loop ends, and why.
func (l look) decide(before float64) (Outcome, bool) {
	cosine, departure := l.angles.Cosine, smallDeparture
	if cosine > before/2 {
		departure = restDeparture
	}
	switch {
	case math.IsNaN(l.within.Sum):
		return TooLarge, true
	case l.angles.Active == 0, cosine <= smallCosine*kernels.Epsilon &&
		math.Sqrt(l.active)*cosine <= departure*kernels.Epsilon:
		return Converged, true
	case !(cosine <= largeCosine):
		return TooLarge, true
	case len(l.left) > 0 && (cosine > before/2 || l.within.Sum == 0):
		return Clusters, true
	case cosine > before/2:
		return NoProgress, true
	}
	return Converged, false
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
	// What is just below the tolerance is rotated too: rounding errors may lift it above. But where norms are
	// nearly equal the angle would be nothing but such errors.
	angles, _, err := h.Angles(s.norms, kernels.AngleOptions{Tolerance: s.tolerance() / 4,
		Limits: []float64{max(limit, firstOrder)}, Write: true})
	if err != nil {
		return 0, err
	}
	return finite(angles.Within[0].Sum), h.ZeroSquares(spansOf(clusters))
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
