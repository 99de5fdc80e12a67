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

// Swept counts a sweep, which took so many seconds, and frees what is not needed any more.
func (j *Journal) Swept(seconds float64) {
	if j == nil {
		return
	}
	j.reap()
	j.clock.sweeps++
	j.clock.swept = seconds
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
	if j.Every > 0 && time.Since(j.clock.kept) >= j.Every || j.Sweeps > 0 && j.clock.sweeps >= j.Sweeps {
		v.Due = 1
	}
	return v
}

// spare is how much longer than the last one the next sweep may take, and more seconds for everything else.
const spareFactor, spareSeconds = 1.25, 2

// late tells whether the time limit would come during the next sweep, or before a checkpoint after it is
// written.
func (j *Journal) late() bool {
	if j.Limit == 0 {
		return false
	}
	need := spareFactor*(j.clock.swept+2*j.clock.took) + spareSeconds
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
	v := j.Vote()
	x := []int64{v.Stop, v.Due, v.Busy, v.Failed}
	if err := j.comm.AllreduceSum(x); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	switch j.Decide(Votes{Stop: x[0], Busy: x[2], Failed: x[3]}) {
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
