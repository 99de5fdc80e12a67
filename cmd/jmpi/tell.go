package main

import (
	"encoding/json"
	"os"
	"time"

	"jmpi/dist/jacobi"
)

// told is the file of a running job by which jmpi watch follows it.
type told struct {
	Job        job       `json:"job"`
	Written    time.Time `json:"written"`
	Moved      time.Time `json:"moved"` // when the work has gone on last
	Phase      phaseName `json:"phase"`
	Read       float64   `json:"read,omitempty"` // while the matrix is read: which part of it is
	Sweep      int       `json:"sweep,omitempty"`
	Step       int       `json:"step,omitempty"` // of Steps in the sweep, which are done
	Steps      int       `json:"steps,omitempty"`
	Expected   int       `json:"expected_sweeps,omitempty"`
	Last       *lastOne  `json:"last_sweep,omitempty"`
	End        time.Time `json:"expected_end,omitzero"`
	Checkpoint string    `json:"checkpoint,omitempty"` // what is known of the last one
}

// job is what does not change.
type job struct {
	Command string `json:"command"`
	Start   string `json:"start"` // as in info.json
	Host    string `json:"host"`  // of rank 0
	PID     int    `json:"pid"`   // of rank 0
	Ranks   int    `json:"ranks"`
	Hosts   int    `json:"hosts"`
	Devices int    `json:"devices"`
}

// lastOne is the last sweep that is over.
type lastOne struct {
	Sweep int `json:"sweep"`
	jacobi.SweepInfo
}

// teller tells how far the run is.
type teller struct {
	job   job
	write func([]byte) error // nil until there is where to write
	moved time.Time
	last  *jacobi.SweepInfo
	at    time.Time // when it was written last
}

// afterSweeps is about how long the phases after the sweeps take, in units of the time of these.
var afterSweeps = (1 - before[vectors]) / (before[vectors] - before[sweeping])

// tellBy begins to tell how far the run is.
func (p *progress) tellBy(about job, write func([]byte) error) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.told.job, p.told.write, p.told.moved = about, write, now
	p.tell(now)
}

// job describes the run.
func (s *session) job() job {
	hosts := map[string]bool{}
	for _, d := range s.placed {
		hosts[d.Host] = true
	}
	return job{Command: commandLine(os.Args), Start: started.Format(time.RFC3339), Host: host(),
		PID: os.Getpid(), Ranks: s.comm.Size(), Hosts: len(hosts), Devices: len(s.placed)}
}

// tell writes how far the run is, at most once a second. A file that cannot be written is no reason to stop.
// The lock is held.
func (p *progress) tell(now time.Time) {
	if p.told.write == nil || now.Sub(p.told.at) < time.Second-50*time.Millisecond {
		return
	}
	p.told.at = now
	text, err := json.Marshal(p.state(now))
	if err == nil {
		_ = p.told.write(text)
	}
}

// state is how far the run is.
func (p *progress) state(now time.Time) told {
	t := told{Job: p.told.job, Written: now, Moved: p.told.moved, Phase: p.phase}
	if last := p.told.last; last != nil {
		t.Last = &lastOne{last.Sweep, *last}
	}
	switch {
	case p.phase == reading && p.share > 0:
		t.Read = min(1, p.loaded/p.share)
	case p.phase == sweeping:
		t.Sweep, t.Step, t.Steps, t.Expected = max(1, p.at.Sweep), p.at.Step, p.at.Steps, p.expected
		t.End = p.ending(now)
	}
	return t
}

// ending is about when the run ends, the zero time if nothing is known.
func (p *progress) ending(now time.Time) time.Time {
	done := float64(max(0, p.at.Sweep-1))
	part := 0.0
	if p.at.Steps > 0 {
		part = float64(p.at.Step) / float64(p.at.Steps)
	}
	var each float64 // seconds of a sweep
	switch {
	case p.told.last != nil:
		each = p.told.last.Seconds
	case part > 0.05:
		each = now.Sub(p.since).Seconds() / part
	default:
		return time.Time{}
	}
	all := max(float64(p.expected), done+1)
	left := each * (all - done - part + afterSweeps*all)
	return now.Add(time.Duration(left * float64(time.Second))).Round(time.Second)
}
