package refine

import (
	"math"
	"slices"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

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

// firstLook is look. If V is to be mended it tells the singular values, if it can, and forms only cosines
// near the diagonal if nothing else is wanted.
func (s *state) firstLook() (l look, off offs, err error) {
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
