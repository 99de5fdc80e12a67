package checkpoint

import (
	"fmt"
	"time"

	"jmpi/dist/comm"
)

// Votes is what the ranks say after a sweep, added up.
type Votes struct{ Stop, Due, Busy, Failed int64 }

// Decision is what the votes come to.
type Decision int

const (
	GoOn   Decision = iota
	Keep            // a state is kept
	Stop            // a state is kept, and the run stops
	Failed          // a checkpoint could not be written: Wait tells the error
)

// Swept counts a sweep, or another step with a state, and frees what is not needed any more. The next one
// takes about so many seconds.
func (j *Journal) Swept(next float64) {
	if j == nil {
		return
	}
	j.reap()
	j.clock.sweeps++
	j.clock.next = next
}

// Vote is what this rank says.
func (j *Journal) Vote() (v Votes) {
	if j == nil {
		return v
	}
	if j.Stop() != "" {
		v.Stop = 1
	}
	if w := j.writing; !w.done() {
		v.Busy = 1
	} else if w != nil {
		j.note(w)
		if w.err != nil || w.lost != nil {
			v.Failed = 1
		}
	}
	if j.comm.Rank() != 0 {
		return v
	}
	if j.late() {
		v.Stop = 1
	}
	if j.due() {
		v.Due = 1
	}
	return v
}

// due tells whether a state is to be kept. The first one of a run that goes on is, so that a series of runs
// comes to its end if each has time for one step.
func (j *Journal) due() bool {
	c := j.clock
	return j.Every > 0 && time.Since(c.kept) >= j.Every || j.Sweeps > 0 && c.sweeps >= j.Sweeps ||
		j.Resume && !c.saved
}

// spare is how much longer than expected the next step may take, and more seconds for everything else.
const spareFactor, spareSeconds = 1.25, 2

// late tells whether the time limit would come during the next step, or before a checkpoint after it is
// written.
func (j *Journal) late() bool {
	if j.Limit == 0 {
		return false
	}
	need := spareFactor*(j.clock.next+2*j.clock.took) + spareSeconds
	return time.Since(j.Started).Seconds()+need > j.Limit.Seconds()
}

// Decide says what the votes of all ranks come to. All ranks decide the same.
func (j *Journal) Decide(all Votes) Decision {
	switch {
	case all.Failed > 0:
		return Failed
	case all.Stop > 0:
		return Stop
	case all.Due > 0 && all.Busy == 0:
		return Keep
	case all.Due > 0 && !j.clock.slow:
		j.clock.slow = true
		j.Log.Warn().Msg("sweeps are faster than the disk of the checkpoint: some have none")
	}
	return GoOn
}

// Stopped returns the failure by which all ranks stop, when a checkpoint is complete. after says when that
// is. It is collective.
func (j *Journal) Stopped(after string) error {
	all, err := j.comm.Allgather([]byte(j.Stop()))
	if err != nil {
		return err
	}
	why := "stopped by the time limit"
	for _, reason := range all {
		if len(reason) > 0 {
			why = string(reason)
			break
		}
	}
	const text = "%s, after %s; the checkpoint in %s is complete: the same command goes on from it with --resume"
	return &comm.Failure{Kind: comm.Stopped, Text: fmt.Sprintf(text, why, after, j.Dir)}
}

// Check asks, between two stages, whether the run is to stop, and stops it. after says what is over. It is
// collective.
func (j *Journal) Check(after string) error {
	if j == nil {
		return nil
	}
	all, err := j.ask()
	if err != nil {
		return err
	}
	all.Due = 0
	return j.follow(j.Decide(all), after)
}

// Offer asks, after a step outside of the sweeps, whether its state is to be kept. Then keep hands it over
// and saves it, and waits for that if told to. If the run is to stop, Offer stops it. The next step takes
// about so many seconds; after says what is over. It is collective.
func (j *Journal) Offer(after string, next float64, keep func(wait bool) error) error {
	if j == nil {
		return nil
	}
	j.Swept(next)
	all, err := j.ask()
	if err != nil {
		return err
	}
	decision := j.Decide(all)
	if decision == Keep || decision == Stop {
		begin := time.Now()
		err := keep(decision == Stop)
		if j.Held(begin); err != nil {
			return err
		}
	}
	return j.follow(decision, after)
}

// ask adds up the votes of the ranks. It is collective.
func (j *Journal) ask() (Votes, error) {
	v := j.Vote()
	x := []int64{v.Stop, v.Due, v.Busy, v.Failed}
	if err := j.comm.AllreduceSum(x); err != nil {
		return v, fmt.Errorf("checkpoint: %w", err)
	}
	return Votes{x[0], x[1], x[2], x[3]}, nil
}

// follow does what was decided, when what is to be kept is handed over. It is collective.
func (j *Journal) follow(decision Decision, after string) error {
	switch decision {
	case Failed:
		return j.Wait()
	case Stop:
		if err := j.Wait(); err != nil {
			return err
		}
		return j.Stopped(after)
	}
	return nil
}
