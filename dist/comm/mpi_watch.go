package comm

// #include "mpi_watch.h"
import "C"

import (
	"fmt"
	"time"

	"jmpi/internal/parallel"
)

// mpiWatch is what a rank does in the watch. Its goroutine asks MPI's thread for every beat. So a rank
// sends beats as long as its process runs, in Go and in MPI, whatever it computes, reads or waits
// for. MPI's thread is free for that: all that it waits for it polls, and no call of this package
// keeps it for more than seconds.
type mpiWatch struct {
	silence time.Duration
	before  SilentError   // what to say when the rank before is silent
	stop    chan struct{} // closed by end
	ended   chan struct{} // closed by run
}

// startWatch starts the beats.
func startWatch(c *mpiComm, hosts [][]byte, silence time.Duration, lost func(error)) (*mpiWatch, error) {
	if err := c.Do(func() error { return rawError(C.watch_start()) }); err != nil {
		return nil, err
	}
	before := (c.rank + c.size - 1) % c.size
	w := &mpiWatch{
		silence: silence,
		before:  SilentError{Rank: before, Host: string(hosts[before]), For: silence},
		stop:    make(chan struct{}),
		ended:   make(chan struct{}),
	}
	go parallel.Guard(func() { w.run(c, lost) }, lost)
	return w, nil
}

// run sends and counts beats until the watch ends or the rank before is lost.
func (w *mpiWatch) run(c *mpiComm, lost func(error)) {
	defer close(w.ended)
	s := silence{pause: beatPause(w.silence), last: time.Now()}
	ticker := time.NewTicker(s.pause)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
		}
		var heard C.int
		if err := c.Do(func() error { return rawError(C.watch_beat(&heard)) }); err != nil {
			lost(fmt.Errorf("the watch of rank %d on host %s: %w", w.before.Rank, w.before.Host, err))
			return
		}
		if s.count(time.Now(), heard > 0) >= w.silence {
			lost(&w.before)
			return
		}
	}
}

// end stops the goroutine.
func (w *mpiWatch) end() {
	close(w.stop)
	<-w.ended
}

// rawStop ends the beats, on MPI's thread, when all ranks do.
func (w *mpiWatch) rawStop() error {
	code := C.watch_stop(C.int64_t(w.silence))
	if code == C.WATCH_LATE {
		return &w.before
	}
	return rawError(code)
}
