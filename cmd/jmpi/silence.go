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
