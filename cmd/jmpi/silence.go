package main

import (
	"fmt"
	"strconv"
	"time"

	"jmpi/dist"
)

// watch lets the ranks watch each other. One that has been silent for so long, because it is stopped or its host
// hangs, ends the job.
func (s *session) watch(seconds int) error {
	watcher, ok := s.comm.(dist.Watcher)
	if !ok {
		return nil
	}
	if err := s.same("--silence is", strconv.Itoa(seconds)); err != nil {
		return err
	}
	return s.failed(watcher.Watch(time.Duration(seconds)*time.Second, lost))
}

// lost ends all ranks because of one that is lost.
func lost(err error) {
	process.fail(fmt.Errorf("%w: all ranks end (--silence sets the time, 0 waits for ever)", err))
}

// startFactor is how many times the silence MPI may take to start. The ranks of a large job do not start together, and until they
// have they cannot watch each other.
const startFactor = 5

// limitStart ends all ranks if MPI has not started on this one, and the watch has not begun, in startFactor times so many seconds; 0 sets no
// limit. The function that it returns lifts the limit.
func limitStart(seconds int) (lift func()) {
	if seconds == 0 {
		return func() {}
	}
	limit := startFactor * time.Duration(seconds) * time.Second
	timer := time.AfterFunc(limit, func() {
		process.fail(fmt.Errorf("MPI has not started in %v: a rank stands still or does not start (--silence sets a fifth of the time, 0 waits for ever)", limit))
	})
	return func() { timer.Stop() }
}
