package checkpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"jmpi/dist/comm"
)

// Config says where a checkpoint is kept, of what run, and when it is written.
type Config struct {
	Dir     string
	Resume  bool    // go on from the checkpoint in Dir, if there is one
	Version string  // of the program
	Input   []Field // by which the matrix is known
	Options []Field // that must be the same when the run goes on
	Schedule
	// Stop tells, on one rank or on all, what asks the run to stop, "" for nothing.
	Stop func() string
	// Phase is told whether a new state comes, or an end at once would lose little; nil for nobody.
	Phase func(states bool)
	Log   zerolog.Logger
	// Step, if not nil, is called before each step of writing, with its name. Tests end the process there.
	Step func(name string)
}

// Schedule says when states are kept and when the run stops. The clock of rank 0 counts.
type Schedule struct {
	Every   time.Duration // a state is kept after so long; 0: not by time
	Sweeps  int           // and after so many sweeps; 0: not by sweeps
	Limit   time.Duration // of the run: it stops in time; 0: none
	Started time.Time     // when the run did
}

// Journal is the checkpoint of a run on this rank. A nil Journal keeps nothing.
//
// A run is a series of stages, the same whenever it runs. Each gets a number when it begins (Next, Enter). A
// run that goes on takes from the checkpoint what stages have made, and does not compute it.
type Journal struct {
	Config
	comm     comm.Comm
	manifest manifest // of the checkpoint that is being made; the records are those of all stages so far
	path     []int    // the numbers of the stages that are open, and that of the last one begun inside
	writing  *writing // the last that was begun, nil for none
	givenUp  atomic.Bool
	retired  []retired
	made     bool // the folder, by this rank
	lock     func()
	clock    clock
	Written  Written
}

// Written counts what this rank has written, and for how long the run did nothing else.
type Written struct {
	Checkpoints int     `json:"checkpoints"`
	Bytes       int64   `json:"bytes"`
	Held        float64 `json:"held_seconds"`
	Longest     float64 `json:"longest_hold_seconds"`
}

// clock is what the schedule goes by.
type clock struct {
	kept   time.Time // when the last state was
	sweeps int       // and other steps, since then
	saved  bool      // one was kept
	next   float64   // seconds that the next sweep, or other step, is expected to take
	took   float64   // seconds of the longest writing
	slow   bool      // it was said that sweeps are faster than the disk
}

// The kinds of stages that are methods with a state, which another stage comes from: the Jacobi method, and
// the refinement of what it gives in float32.
const State, Refinement = "solve", "refinement"

// Stage is a stage that was begun.
type Stage struct {
	journal *Journal
	path    string
	kind    string
	record  *record // what the checkpoint has of it, nil for nothing
}

// Next gives the next stage its number. kind says what it is.
func (j *Journal) Next(kind string) (*Stage, error) {
	if j == nil {
		return nil, nil
	}
	j.path[len(j.path)-1]++
	var numbers []string
	for _, n := range j.path {
		numbers = append(numbers, strconv.Itoa(n))
	}
	s := &Stage{journal: j, path: strings.Join(numbers, "."), kind: kind}
	for _, r := range j.manifest.Records {
		if r.Path == s.path {
			s.record = r
		}
	}
	if s.record != nil && s.record.Kind != kind {
		return nil, &comm.Failure{Kind: comm.BadInput, Text: fmt.Sprintf("the checkpoint in %s has gone another "+
			"way: stage %s is %q there, %q here; delete the folder and begin anew", j.Dir, s.path, s.record.Kind,
			kind)}
	}
	return s, nil
}

// Enter opens a stage that has others inside, until Leave.
func (j *Journal) Enter(s *Stage) {
	if s != nil {
		j.path = append(j.path, 0)
	}
}

// Leave closes the stage that was entered last.
func (j *Journal) Leave(s *Stage) {
	if s != nil {
		j.path = j.path[:len(j.path)-1]
	}
}

// Tell tells Config.Phase.
func (j *Journal) Tell(states bool) {
	if j != nil && j.Phase != nil {
		j.Phase(states)
	}
}

// Found tells whether the checkpoint has something of the stage.
func (s *Stage) Found() bool { return s != nil && s.record != nil }

// Bare tells whether it has facts alone.
func (s *Stage) Bare() bool { return s.Found() && len(s.record.Files) == 0 }

// Load reads what the checkpoint has, by the description of the value. It is collective.
func (s *Stage) Load(describe func(*Codec)) error {
	c := &Codec{journal: s.journal, record: s.record, loading: true}
	describe(c)
	var known *comm.Failure
	if errors.As(c.err, &known) {
		return c.err
	}
	return comm.Agree(s.journal.comm, comm.BadInput, s.journal.damaged(c.err))
}

// Put takes a value for the next checkpoint, in place of what there was of the stage and of those inside it.
// Unless it is a state of the Jacobi method itself, those of the stages before, in the same stage, are not
// needed any more.
func (s *Stage) Put(describe func(*Codec)) error {
	if s == nil {
		return nil
	}
	r := &record{Path: s.path, Kind: s.kind, Facts: map[string]rawFact{}}
	c := &Codec{journal: s.journal, record: r}
	if describe(c); c.err != nil {
		return fmt.Errorf("checkpoint: stage %s: %w", s.path, c.err)
	}
	var all []*record
	for _, other := range s.journal.manifest.Records {
		if other.Path == s.path || strings.HasPrefix(other.Path, s.path+".") {
			continue
		}
		method := other.Kind == State || other.Kind == Refinement
		if s.kind != State && method && level(other.Path) == level(s.path) {
			bare := *other
			bare.Files = nil
			other = &bare
		}
		all = append(all, other)
	}
	s.journal.manifest.Records = append(all, r)
	s.record = r
	return nil
}

// level is the path of the stage in which another one is.
func level(path string) string {
	return path[:strings.LastIndexByte(path, '.')+1]
}

// Run names the run, and those that went on with it.
func (j *Journal) Run() string { return j.manifest.Run }

// Resumed tells whether the run goes on from a checkpoint.
func (j *Journal) Resumed() bool { return j != nil && j.Resume }

// retired is something to be done when what is being written does not need it any more.
type retired struct {
	after *writing
	do    func()
}

// Reclaim frees what is not needed any more, and waits for what is being written if it needs some of it.
func (j *Journal) Reclaim() {
	if j == nil {
		return
	}
	for _, r := range j.retired {
		if r.after != nil {
			<-r.after.over
		}
	}
	j.reap()
}

// Retire calls f, which frees what may still be written, on this goroutine: at once, or in Vote or Wait.
func (j *Journal) Retire(f func()) {
	if j == nil {
		f()
		return
	}
	j.retired = append(j.retired, retired{j.writing, f})
	j.reap()
}

// reap frees what is not needed any more.
func (j *Journal) reap() {
	var left []retired
	for _, r := range j.retired {
		if r.after.done() {
			r.do()
		} else {
			left = append(left, r)
		}
	}
	j.retired = left
}
