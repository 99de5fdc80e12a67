package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"jmpi/dist"
)

// abortLimit is how long MPI may take to end the ranks. Then this process ends itself, and the launcher ends the others.
const abortLimit = 10 * time.Second

// watch lets the ranks watch each other: one that has been silent for so long, because it is stopped or its host hangs, ends
// the job.
func (s *session) watch(seconds int) error {
	watcher, ok := s.comm.(dist.Watcher)
	if !ok {
		return nil
	}
	if err := s.same("--silence is", strconv.Itoa(seconds)); err != nil {
		return err
	}
	return s.failed(watcher.Watch(time.Duration(seconds)*time.Second, s.lost))
}

// lost ends all ranks because one of them is lost. It leaves the files alone, which other ranks may still write, and
// a file system that hangs would keep it.
func (s *session) lost(err error) {
	complain(fmt.Sprintf("rank %d: ", s.comm.Rank()), fmt.Errorf("%w: all ranks end (--silence sets the time, 0 waits for ever)", err))
	time.AfterFunc(abortLimit, func() { os.Exit(exitFailure) })
	s.comm.Abort(exitFailure)
}
