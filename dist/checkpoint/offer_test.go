package checkpoint

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"jmpi/dist/comm"
)

// A step is kept when it is due, the first one of a run that goes on in any case, and when the run stops,
// which it does if it was asked to, or if there is no time for the next step.
func TestOffer(t *testing.T) {
	asked := func() string { return "asked" }
	for _, c := range []struct {
		name     string
		resume   bool
		schedule Schedule
		stop     func() string // nil: it is not asked to
		next     float64       // seconds of the next step
		want     []bool        // whether each of the steps is kept
		stops    bool          // after the last of them
	}{
		{name: "nothing is due", want: []bool{false, false, false}},
		{name: "every second step", schedule: Schedule{Sweeps: 2}, want: []bool{false, true, false, true}},
		{name: "by time", schedule: Schedule{Every: time.Nanosecond}, want: []bool{true, true}},
		{name: "goes on", resume: true, want: []bool{true, false, false}},
		{name: "asked", stop: asked, want: []bool{true}, stops: true},
		{name: "time for more", schedule: Schedule{Limit: time.Minute}, next: 40, want: []bool{false, false}},
		{name: "no time", schedule: Schedule{Limit: time.Minute}, next: 50, want: []bool{true}, stops: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := config(filepath.Join(t.TempDir(), "ck"))
			if conf.Resume = c.resume; c.resume {
				if err := save(conf.Dir, 1, 7); err != nil {
					t.Fatal(err)
				}
			}
			conf.Schedule, conf.Started = c.schedule, time.Now()
			if c.stop != nil {
				conf.Stop = c.stop
			}
			err := onRanks(2, func(world comm.Comm) error {
				j, err := Open(world, conf)
				if err != nil {
					return err
				}
				var got []bool
				for range c.want {
					kept := false
					err = j.Offer("a step", c.next, func(wait bool) error {
						if kept = true; wait != c.stops {
							t.Errorf("to wait: %t", wait)
						}
						return errors.Join(j.Save(wait), j.Wait())
					})
					if got = append(got, kept); err != nil {
						break
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("kept %v, want %v", got, c.want)
				}
				return errors.Join(err, j.Close())
			})
			var f *comm.Failure
			if stopped := errors.As(err, &f) && f.Kind == comm.Stopped; stopped != c.stops || err != nil && !stopped {
				t.Errorf("it ends by %v", err)
			}
		})
	}
}

// What was made of a state of the refinement, and what this was made of, takes the place of its arrays.
func TestRefinement(t *testing.T) {
	conf := config(filepath.Join(t.TempDir(), "ck"))
	err := onRanks(1, func(world comm.Comm) error {
		j, err := Open(world, conf)
		if err != nil {
			return err
		}
		for i, kind := range []string{State, Refinement, "refined"} {
			s, err := j.Next(kind)
			if err == nil {
				err = s.Put(filled(0, 1, byte(i)).describe(0, 1))
			}
			if err != nil {
				return err
			}
			for k, r := range j.manifest.Records {
				if bare := len(r.Files) == 0; bare != (k < i) {
					t.Errorf("after stage %d stage %d has %d arrays", i+1, k+1, len(r.Files))
				}
			}
		}
		return j.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}
