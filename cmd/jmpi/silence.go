package main

import (
	"fmt"
	"strconv"
	"time"

	"jmpi/dist/comm"
)

// watch lets the ranks watch each other. One that has been silent for so long, because it is stopped or its
// host hangs, ends the job.
func (s *session) watch(seconds int) error {
	watcher, ok := s.comm.(comm.Watcher)
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

// limitFactor is how many times the silence MPI may take to start, or to end. The ranks of a large job do not
// do so together, and then they do not watch each other.
const limitFactor = 5

// limit ends all ranks if what this one is about to do takes longer than limitFactor times so many seconds; 0
// sets no limit. The function that it returns lifts the limit.
func limit(seconds int, what string) (lift func()) {
	if seconds == 0 {
		return func() {}
	}
	most := limitFactor * time.Duration(seconds) * time.Second
	timer := time.AfterFunc(most, func() {
		process.fail(fmt.Errorf("%s in %v: a rank stands still (--silence sets a fifth of the time, 0 "+
			"waits for ever)", what, most))
	})
	return func() { timer.Stop() }
}
