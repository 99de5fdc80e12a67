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
	// cautious is how many times the square of an estimate from random vectors is taken.
	cautious = 16
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

// foretell finds the singular values from what is seen, where they are not known and that may serve. It is
// collective.
func (s *state) foretell(l look, off offs) (err error) {
	if s.values != nil || !s.Exact || !l.gentle() {
		return nil
	}
	if l.h, err = l.h.Clone(); err != nil {
		return err
	}
	defer l.h.Free()
	return s.toSecondOrder(l, off)
}

// gentle tells whether second order may be enough.
func (l look) gentle() bool {
	return l.angles.Cosine <= hopeless && len(l.clusters)+len(l.left) == 0
}

// toSecondOrder finds the singular values from the cosines, to second order, where that is enough:
//
//	σ_j² = d_j²·(H_jj + Σ_i d_i²·H_ij²/(d_j² − d_i²)) = d_j²·(H_jj + ‖e_j‖² − ‖y_j‖²)
//
// with the columns of E and Y = D·E·D⁻¹. The third order is y_jᵀ·(H − I)·y_j. It uses H up. It is collective.
func (s *state) toSecondOrder(l look, off offs) error {
	longer := make([]float64, len(s.norms)) // (H_jj − 1)/2
	if l.lack != nil {
		var err error
		if longer, err = l.lack.Diagonal(); err != nil {
			return err
		}
	}
	e := l.h
	if err := e.AddIdentity(-1); err != nil {
		return err
	}
	ratios, inverse := s.ratios()
	zeroth, first, second, err := e.AngleNorms(s.norms, s.angleOptions(largeAngle), ratios, inverse)
	if err != nil {
		return err
	}
	values, left := make([]float64, len(s.norms)), 0.0
	size := kernels.Norm2(zeroth) + kernels.Norm2(off.far) // of H − I
	for j, d := range s.norms {
		x, y := first[j]*first[j], second[j]*second[j]
		left = max(left, size*y+x*math.Abs(x-y)+off.of(j, zeroth[j]))
		values[j] = d * math.Sqrt(1+(2*longer[j]+x-y))
	}
	if left <= negligible(s.x.N) {
		s.values = sorted(values)
	}
	return nil
}

// offs are estimates, nil where they are 0: the norms of the columns of VᵀV − I, and of what of H − I is far
// from the diagonal and was not seen. There d_i² is at most `over` times the difference of d_i² and d_j².
type offs struct {
	k, far []float64
	over   float64
}

// of bounds what is left out for column j, where h is the norm of the column of H − I that was seen: products
// of departures of V with themselves and with h (complete), and what is far.
func (o offs) of(j int, h float64) (left float64) {
	if o.k != nil {
		left = o.k[j] * (o.k[j] + 2*h)
	}
	if o.far != nil {
		left += cautious * o.over * o.far[j] * (o.far[j] + 2*o.k[j])
	}
	return left
}

// foretellNear is foretell from what is near the diagonal alone, of H and of the departure of V, which hosts
// form in little time. The rest is as small as random vectors tell. It is collective.
func (s *state) foretellNear(near look) (off offs, err error) {
	if near.h, err = near.h.Clone(); err != nil {
		return off, err
	}
	defer near.h.Free()
	n := s.x.N
	for j, reach := 0, s.x.Reach(); j+reach+1 < n; j++ {
		ratio := s.norms[j+reach+1] / s.norms[j]
		off.over = max(off.over, 1/((1-ratio)*(1+ratio)))
	}
	if err = near.h.ZeroFar(); err != nil {
		return off, err
	}
	z, _ := s.random()
	kz, err := s.off(s.v)
	if err != nil {
		return off, err
	}
	hz, err := s.off(s.u)
	if err != nil {
		return off, err
	}
	nearZ, err := near.h.Times(false, z, vectors)
	if err != nil {
		return off, err
	}
	for i, x := range nearZ {
		hz[i] -= x - z[i]
	}
	off.k, off.far = rows(kz, n), rows(hz, n)
	if err = s.measure(&near); err == nil && near.gentle() {
		err = s.toSecondOrder(near, off)
	}
	return offs{k: off.k}, err
}

// rows returns the root mean square of each row of some vectors.
func rows(x []float64, n int) []float64 {
	y := make([]float64, n)
	for i, e := range x {
		y[i%n] += e * e
	}
	for i, e := range y {
		y[i] = math.Sqrt(e / float64(len(x)/n))
	}
	return y
}

// complete takes away from the cosines what V lacks of being orthonormal, and keeps it for the pass, which
// adds −Sᵀ to F. With VᵀV = I + S + Sᵀ (matrix.Departure), V·(I − Sᵀ) is orthonormal, each column by those
// after it, so that small singular values do not get what belongs to large ones. With T = D·Sᵀ·D⁻¹ the
// cosines of X·V·(I − Sᵀ) are H − T − Tᵀ, but for products of two small matrices. It is collective.
func (s *state) complete(l *look, near bool) error {
	departure := matrix.Departure
	if near {
		departure = matrix.NearDeparture
	}
	x, err := departure(s.v)
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
	negative := matrix.ScaledBy(ratios, slices.Repeat([]float64{-1}, x.N))
	if err = x.Scale(inverse, negative); err == nil {
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
