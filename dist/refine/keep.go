package refine

import (
	"errors"
	"fmt"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/matrix"
)

// Hooks are for what happens between steps. The zero value does nothing.
type Hooks struct {
	Done func(Step) // called after each step, on every rank; after each correction with all in a row; may be nil
	// The checkpoint keeps states as this stage, or has one. Aside says that there is room for a copy, so that
	// the method goes on while it is written.
	*checkpoint.Stage
	Journal *checkpoint.Journal
	Aside   bool
}

// work is how long the steps take, one against the other: in units of n³ operations, as package refine counts
// them.
var work = map[phase]float64{correcting: 2, multiplying: 2, passing: 8}

// keep keeps the state after a step, which took so many seconds, if it is due, and stops the run if that was
// asked for. Where no pass follows there is nothing new to keep. It is collective.
func (s *state) keep(step phase, seconds float64) error {
	if step == verifying || s.Next > passing {
		return nil
	}
	after := map[phase]string{correcting: fmt.Sprintf("correction %d of V", s.Corrections),
		multiplying: "the product X·V", passing: fmt.Sprintf("pass %d of the refinement", s.Pass)}[step]
	j := s.hooks.Journal
	return j.Offer(after, seconds*work[s.Next]/work[step], func(wait bool) error {
		if err := j.Wait(); err != nil { // so that there is one copy at a time
			return err
		}
		stored, aside := *s, s.hooks.Aside && !wait
		if stored.Next != passing { // G is to be formed
			stored.u, stored.norms = nil, nil
		}
		var err error
		if aside {
			err = stored.copy()
		}
		if err := comm.Agree(s.x.Comm, comm.BadResource, err); err != nil {
			return fmt.Errorf("a state for the checkpoint: %w", err)
		}
		if err = s.hooks.Put(stored.describe); err == nil {
			err = j.Save(!aside)
		}
		if aside {
			j.Retire(stored.free)
		}
		return err
	})
}

// copy takes copies of U and V in their place.
func (s *state) copy() (err error) {
	for _, x := range []**matrix.Matrix{&s.u, &s.v} {
		if *x != nil && err == nil {
			*x, err = (*x).Clone()
		}
	}
	return err
}

// load goes on from the state that the checkpoint has. It is collective.
func (s *state) load() error { return s.hooks.Load(s.describe) }

// describe describes the state.
func (s *state) describe(c *checkpoint.Codec) {
	checkpoint.Fact(c, "place", &s.place)
	checkpoint.Fact(c, "steps", &s.steps)
	checkpoint.Vector(c, "norms", &s.norms)
	checkpoint.Vector(c, "values", &s.values)
	matrix.Describe(c, s.x.Devices, "u", &s.u)
	matrix.Describe(c, s.x.Devices, "v", &s.v)
	if !c.Loading() || c.Err() != nil {
		return
	}
	if len(s.norms) == 0 {
		s.norms = nil
	}
	if len(s.values) == 0 {
		s.values = nil
	}
	n := s.x.N
	carried := s.wanted.Right || s.Next != passing || !s.Exact || s.Near
	formed := s.u != nil && s.u.M == s.x.M && s.u.N == n && len(s.norms) == n
	if s.v == nil && carried || s.v != nil && (s.v.M != n || s.v.N != n) || len(s.values)%n != 0 ||
		s.Next > passing || s.Next == passing && !formed {
		c.Fail(errors.New("its state of the refinement is of another matrix"))
	}
}
