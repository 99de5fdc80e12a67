package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// requests are what asks a run with a checkpoint to stop in good order: the first SIGTERM or SIGUSR1, or the
// time limit. While there are sweeps, or a matrix is read and prepared, the run stops at its next step, with
// a new checkpoint. At other times, when no new state would come, it ends at once: the last checkpoint is
// complete, and what was done since takes little time.
type requests struct {
	mu     sync.Mutex
	dir    string // of the checkpoint, "" without one
	opened bool   // what is there is of this run
	idle   bool   // no new state comes
	ended  bool   // the results are complete, and nothing else is to be done
	asked  time.Time
	signal os.Signal // nil: the time limit
}

// sameSignal is the time in which a signal counts once: a launcher may send it on to a rank that has got it.
const sameSignal = time.Second

// begin says that there will be a checkpoint.
func (r *requests) begin(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dir = dir
}

// open says that what is in the folder of the checkpoint is of this run.
func (r *requests) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = true
}

// phase says whether a new state comes. A request that still waits then ends the process.
func (r *requests) phase(states bool) {
	r.mu.Lock()
	r.idle = !states
	waits := r.idle && !r.asked.IsZero()
	s := r.signal
	r.mu.Unlock()
	if waits {
		process.stop(s)
	}
}

// take keeps a request, and tells whether the run stops by it in good order. s is nil for the time limit.
func (r *requests) take(s os.Signal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.dir == "" || !gentle(s) || r.idle && !r.ended:
		return false
	case r.asked.IsZero():
		r.asked, r.signal = time.Now(), s
		return true
	}
	return s == nil || s == r.signal && time.Since(r.asked) < sameSignal
}

// gentle tells whether a run with a checkpoint is asked to stop in good order. s is nil for the time limit.
func gentle(s os.Signal) bool { return s == nil || s == syscall.SIGTERM || s == syscall.SIGUSR1 }

// end says that the results are complete, and that nothing else is to be done: the first request has nothing
// to stop.
func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// over tells whether end was called.
func (r *requests) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// reason says why the run is to stop, "" if it is not.
func (r *requests) reason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked.IsZero() {
		return ""
	}
	return stoppedBy(r.signal)
}

// stoppedBy says what has stopped a run.
func stoppedBy(s os.Signal) string {
	if s == nil {
		return "stopped by the time limit"
	}
	return fmt.Sprintf("stopped by signal %d (%v)", s, s)
}

// complete returns the folder of the checkpoint if that is complete.
func (r *requests) complete() (dir string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.opened {
		return "", false
	}
	_, err := os.Stat(filepath.Join(r.dir, "manifest.json"))
	return r.dir, err == nil
}

// limitEnds stops the run because of its time limit.
func (e *ending) limitEnds() {
	if !e.requests.take(nil) {
		e.stop(nil)
	}
}
