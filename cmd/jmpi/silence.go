package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"jmpi/dist/comm"
	"jmpi/internal/cores"
	"jmpi/internal/parallel"
)

const (
	// A rank that gives no sign of life for so many seconds ends the job, if nothing else was asked for.
	usualSilence = 45
	// A host that dies ends the job within so many seconds, of which MPI and Slurm need some besides.
	deadHost, besides = 60, 6
	// Less silence, in seconds, may come of a busy host.
	leastSilence = 10
)

// silence is the flag of that name.
type silence struct {
	seconds int
	given   bool
}

func (s *silence) String() string { return strconv.Itoa(s.seconds) }

// Set reads a number.
func (s *silence) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 64)
	s.seconds, s.given = int(n), true
	return err
}

// Type names the type for a help text.
func (s *silence) Type() string { return "int" }

// ask asks, on rank 0, how many seconds srun will wait for ranks that are dead when the others have ended.
// The answer comes while MPI starts; 0 stands for none.
func (s *silence) ask(l cores.Launcher) <-chan int {
	answer := make(chan int, 1)
	if s.given || l.Rank != 0 {
		answer <- 0
		return answer
	}
	go parallel.Guard(func() { answer <- cores.KillWait(l, os.Getenv) }, func(error) { answer <- 0 })
	return answer
}

// under returns the seconds of silence if srun waits so long for dead ranks.
func (s *silence) under(killWait int) int {
	return max(leastSilence, min(s.seconds, deadHost-besides-killWait))
}

// sameSilence returns the seconds of silence for all ranks. It is collective.
func (s *session) sameSilence(flag silence, killWait <-chan int) (int, error) {
	if err := s.same("--silence is", strconv.Itoa(flag.seconds)); err != nil {
		return 0, err
	}
	x := []int64{int64(<-killWait)}
	if err := s.comm.AllreduceMax(x); err != nil {
		return 0, s.failed(err)
	}
	if x[0] == 0 {
		return flag.seconds, nil
	}
	return flag.under(int(x[0])), nil
}

// watch lets the ranks watch each other. One that has been silent for so long, because it is stopped or its
// host hangs, ends the job.
func (s *session) watch(seconds int) error {
	watcher, ok := s.comm.(comm.Watcher)
	if !ok {
		return nil
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
