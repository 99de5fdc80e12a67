package refine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"jmpi/dist/matrix"
	"jmpi/internal/enum"
	"jmpi/kernels"
)

// maxPasses limits the passes. Four are enough for all matrices that were tried.
const maxPasses = 8

// Outcome says how far the method has come. All but Converged hand back what there is: X·V = U·diag(Norms) to
// working precision but for NotServed and Drifted, and the columns of U are not yet orthogonal.
type Outcome int

const (
	Converged  Outcome = iota
	NotServed          // norms are zero, not finite, or too far apart; there are none then
	TooLarge           // angles, or cosines, are too large for passes
	Clusters           // large angles are left in clusters that are too large
	NoProgress         // passes do not make the cosines smaller
	Drifted            // X·V is not U·diag(Norms), or V is not orthonormal
)

var outcomes = enum.Names{Converged: "converged", NotServed: "not served", TooLarge: "too large",
	Clusters: "clusters", NoProgress: "no progress", Drifted: "drifted"}

func (o Outcome) String() string { return outcomes.Of(int(o)) }

// MarshalText gives the name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Step is what was done, and what was seen before.
type Step struct {
	What     string  `json:"what"`             // orthonormalize, multiply, look, pass, check, verify
	Order    int     `json:"order,omitempty"`  // of a pass: the highest power of the angles
	Second   bool    `json:"second,omitempty"` // it takes account of products of two angles
	Single   float64 `json:"single,omitempty"` // share of the work of its products that was done in float32
	Active   float64 `json:"active,omitempty"` // share of pivots with a cosine over the tolerance
	Cosine   float64 `json:"cosine,omitempty"` // the largest one
	Angle    float64 `json:"angle,omitempty"`  // the largest that was not left out
	Norm     float64 `json:"norm,omitempty"`   // a bound, or an estimate, of the 2-norm of all angles
	Clusters int     `json:"clusters,omitempty"`
	Left     int     `json:"left,omitempty"`  // clusters that are left alone
	Width    int     `json:"width,omitempty"` // of the largest of both
	// Departure tells how far columns were from orthonormal ones: those of V, for each correction, or those
	// of U.
	Departure []float64 `json:"departure,omitempty"`
	Seconds   float64   `json:"seconds"`
}

// Wanted says which singular vectors of X are wanted. The singular values have the same bits for all of them.
type Wanted struct{ Left, Right bool }

// Result has the singular value decomposition X = U·diag(Values)·Vᵀ, or how far it has come.
type Result struct {
	Outcome Outcome
	// Values are the singular values, non-increasing; nil where they are not known
	Values   []float64
	Norms    []float64      // of the columns of G = X·V, non-increasing
	U, V     *matrix.Matrix // U = G·diag(Norms)⁻¹ has unit columns; nil where they are not wanted
	Steps    []Step
	OrthV    float64 // an estimate of ‖VᵀV − I‖_F, in units of n·ε
	Residual float64 // and of ‖X·V − G‖_F, in units of ‖X‖_F·n·ε
}

// Free gives the memory of U and V back.
func (r *Result) Free() {
	if r != nil {
		r.U.Free()
		r.V.Free()
	}
}

// G makes U·diag(Norms) of U, and returns it.
func (r *Result) G() (*matrix.Matrix, error) {
	g := r.U
	r.U = nil
	return g, g.Scale(nil, r.Norms)
}

// Start refines V, n×n, whose columns are nearly orthonormal right singular vectors of X, m×n with m ≥ n, in
// about the order of their singular values, the largest first. The largest one is about ratio times the least
// one. It uses V up. Where the checkpoint has a state it goes on from that, and V is nil. It is collective.
func Start(x, v *matrix.Matrix, ratio float64, w Wanted, h Hooks) (*Result, error) {
	s := &state{x: x, v: v, wanted: w, place: place{Ratio: finite(ratio)}, hooks: h, random: ahead(x.N)}
	if h.Found() {
		if err := s.load(); err != nil {
			s.free()
			return nil, err
		}
	}
	return s.run()
}

// state is what a method has: X·V = U·diag(norms).
type state struct {
	x, u, v *matrix.Matrix // u is nil until it is formed, v is from then on if it is not wanted
	norms   []float64
	values  []float64 // the singular values, once they are known
	wanted  Wanted
	place
	steps    []Step
	outcome  Outcome // at the end
	orthV    float64
	residual float64
	hooks    Hooks
	random   func() (z, start []float64)
	// of the pass that is made, in units of n³ operations: its products, and those of them in float32
	products, single float64
}

// place is where a method is between two steps.
type place struct {
	Next        phase
	Corrections int     // of V, since it was last to be made orthonormal
	More        int     // that are needed besides
	Pass        int     // passes since G was formed
	Before      float64 // the largest cosine before the last pass
	Expected    float64 // after it
	Again       bool    // V was made orthonormal anew, since it did not stand the verification
	// Exact says that V is made orthonormal to working precision. Before, it is so to single precision or so.
	Exact bool
	// Near says that V is off by what a first pass in float32 has left, which the next pass mends.
	Near  bool
	Ratio float64 // of the largest singular value to the least one, about
}

// phase is what a method does next.
type phase int

const (
	correcting phase = iota // the columns of V become more orthonormal
	multiplying
	passing
	verifying
	ended
)

// run goes on to the end, step by step.
func (s *state) run() (*Result, error) {
	var err error
	for err == nil && s.Next != ended {
		begin, step := time.Now(), s.Next
		if err = s.advance(); err == nil {
			err = s.keep(step, time.Since(begin).Seconds())
		}
	}
	if s.outcome == Converged {
		if !s.wanted.Left {
			s.u.Free()
			s.u = nil
		}
		if !s.wanted.Right {
			s.v.Free()
			s.v = nil
		}
	}
	if err == nil && s.norms != nil {
		err = s.sort()
	}
	if err != nil {
		s.free()
		return nil, fmt.Errorf("refine: %w", err)
	}
	return &Result{Outcome: s.outcome, Values: s.values, Norms: s.norms, U: s.u, V: s.v, Steps: s.steps,
		OrthV: s.orthV, Residual: s.residual}, nil
}

// free gives the memory of U and V back.
func (s *state) free() {
	s.u.Free()
	s.v.Free()
}

// advance makes the next step. It is collective.
func (s *state) advance() error {
	switch s.Next {
	case correcting:
		return s.correct()
	case multiplying:
		return s.multiply()
	case passing:
		return s.pass()
	}
	if !s.wanted.Right { // there is no V to verify
		s.end(Converged)
		return nil
	}
	sound, err := s.verify()
	if sound {
		s.end(Converged)
	} else if err == nil {
		s.unsound()
	}
	return err
}

// unsound says that V, or G, does not stand a verification.
func (s *state) unsound() {
	if s.Again {
		s.end(Drifted)
		return
	}
	s.Again = true
	s.anew()
}

// anew says that V is to be made orthonormal, and G to be formed again.
func (s *state) anew() { s.Exact, s.Near, s.Next, s.Corrections = true, false, correcting, 0 }

// end says that nothing follows.
func (s *state) end(o Outcome) { s.Next, s.outcome = ended, o }

// timed adds a step, and measures its time.
func (s *state) timed(step Step, f func(step *Step) error) error {
	start := time.Now()
	err := f(&step)
	step.Seconds += time.Since(start).Seconds()
	s.steps = append(s.steps, step)
	if err == nil && s.hooks.Done != nil {
		s.hooks.Done(step)
	}
	return err
}

// multiply makes G = X·V, from which passes begin, unless V is further from orthonormal than it should be.
func (s *state) multiply() error {
	s.u.Free()
	s.u = nil
	return s.timed(Step{What: "multiply"}, func(step *Step) error {
		if s.Exact && !s.Near {
			size, err := s.departure(s.v)
			if step.Departure = []float64{finite(size)}; err != nil {
				return err
			}
			if size > sound*float64(s.v.N)*kernels.Epsilon { // the norms of G tell NaN
				s.unsound()
				return nil
			}
		}
		var err error
		if s.u, err = matrix.Product(s.x, s.v, false); err != nil {
			return err
		}
		s.drop()
		return s.begin()
	})
}

// drop gives the memory of V back where it is not needed any more. What follows needs G alone, if V was
// orthonormal when G was formed.
func (s *state) drop() {
	if s.Exact && !s.Near && !s.wanted.Right {
		s.v.Free()
		s.v = nil
	}
}

// begin makes unit columns of those of G, from which passes begin.
func (s *state) begin() error {
	served, err := s.measured()
	if s.Next, s.Pass, s.Before, s.Expected = passing, 0, math.MaxFloat64, math.MaxFloat64; !served {
		s.end(NotServed)
	}
	return err
}

// least is the least ratio of two norms: what belongs to a pair of columns is in the range of float64 then.
const least = 0x1p-850

// measured makes unit columns of those of G, if their norms allow it.
func (s *state) measured() (served bool, err error) {
	norms, err := s.u.Norms()
	if err != nil {
		return false, err
	}
	largest := slices.Max(norms)
	for _, x := range norms {
		if !(x > 0 && x >= least*largest && largest < 0x1p1000) {
			return false, nil
		}
	}
	s.norms = norms
	return true, s.u.Divide(nil, norms)
}

// normalize makes unit columns again.
func (s *state) normalize() error {
	norms, err := s.u.Normalize()
	for j, x := range norms {
		s.norms[j] *= x
	}
	return err
}

// sort puts the columns in the order of decreasing norms.
func (s *state) sort() error {
	order := matrix.Decreasing(s.norms)
	if slices.IsSorted(order) {
		return nil
	}
	for _, x := range []**matrix.Matrix{&s.u, &s.v} {
		if *x == nil {
			continue
		}
		sorted, err := matrix.Select(*x, order)
		if err != nil {
			return err
		}
		(*x).Free()
		*x = sorted
	}
	norms := make([]float64, len(order))
	for k, j := range order {
		norms[k] = s.norms[j]
	}
	s.norms = norms
	return nil
}

// tolerance is the largest cosine of columns that pass for orthogonal.
func (s *state) tolerance() float64 { return kernels.ScreenTolerance(s.x.M, s.x.M) }
