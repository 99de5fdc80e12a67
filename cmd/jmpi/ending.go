package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"jmpi/dist/comm"
	"jmpi/internal/cores"
	"jmpi/internal/parallel"
)

// stopSignals ask a process to end. They come from terminals, launchers and schedulers.
var stopSignals = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU,
}

const (
	// rankZeroActs is how long another rank leaves a signal to rank 0. Open MPI sends SIGKILL 1 s after SIGTERM.
	rankZeroActs = 500 * time.Millisecond
	// endLimit is how long an end may take. The process exits after it, whatever hangs.
	endLimit = 2 * time.Second
	// fileLimit is how long the end waits for a file system.
	fileLimit = 500 * time.Millisecond
)

// ending is the end of this process, and of all ranks, before its time: by a signal, or by an error that this
// rank alone has met. It waits neither for other ranks nor for a computation, so it works in every phase.
//
// One line is printed in all. A signal usually reaches all ranks: rank 0 acts at once, another rank only if
// it is still there after rankZeroActs. When one rank has ended, a launcher may send SIGTERM to the others.
// Therefore the rank that moves the unfinished folder away prints the line. A rank that finds it moved is
// silent. Where there is no folder, see speaks.
type ending struct {
	rank    atomic.Int64 // as the launcher says, before MPI has started
	mu      sync.Mutex   // the end holds it for ever: from then on nothing else is printed, published or exits
	comm    comm.Comm    // nil before MPI has started
	folders []string     // of unfinished files, on a file system that all ranks share; the end deletes them
	fate    string       // of the results once they are published
	printed int          // exit code, once this rank or another one has printed the line; 0: not yet
	// by which a run with a checkpoint stops in good order
	requests requests
}

// process is the end of this process.
var process ending

// watch lets signals end the process from now on. SIGINT and SIGHUP stay ignored if the process was started
// so, as nohup does, and a shell in the background.
func (e *ending) watch() {
	e.rank.Store(int64(cores.FindLauncher().Rank))
	signals := make(chan os.Signal, 1)
	for _, s := range stopSignals {
		if s != syscall.SIGINT && s != syscall.SIGHUP || !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go parallel.Guard(func() {
		for s := range signals {
			if !e.requests.take(s) {
				e.stop(s)
			}
		}
	}, e.fail)
}

// stop ends all ranks because of a signal, nil for the time limit. If that asks for a checkpoint, and there
// is one, the exit code says that the run may go on.
func (e *ending) stop(s os.Signal) {
	other := e.rank.Load() != 0
	if other {
		time.Sleep(rankZeroActs)
	}
	code := exitFailure
	dir, complete := e.requests.complete()
	if complete && gentle(s) {
		code = exitStopped
		if e.published(s, code) {
			return
		}
	}
	e.end(code, other, func() error {
		fate := "nothing was written"
		if complete {
			fate = fmt.Sprintf("the checkpoint in %s is complete: the same command goes on from it with --resume", dir)
		}
		if len(e.folders) == 0 && e.fate != "" {
			fate = e.fate
			if code == exitStopped {
				fate += ": the same command with --resume does what is left, as --check"
			}
		}
		return fmt.Errorf("%s; %s", stoppedBy(s), fate)
	})
}

// published waits while results get their names, and tells whether nothing is left to stop then.
func (e *ending) published(s os.Signal, code int) bool {
	limit := time.AfterFunc(endLimit, func() { os.Exit(code) })
	defer limit.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests.over() && e.requests.take(s)
}

// fail ends all ranks because of an error that this rank alone has met, or has seen of another rank, which
// the error names then. Where it comes from a panic, the stack of the panic goes before the line, and the
// line says nothing else.
func (e *ending) fail(err error) {
	if lost := (*parallel.Panic)(nil); errors.As(err, &lost) {
		fmt.Fprintf(os.Stderr, "%s\n", lost.Stack)
		err = lost
	}
	e.end(exitFailure, false, func() error { return err })
}

// end prints the line, deletes the unfinished files and ends all ranks. It does not return. modest
// says that rank 0 is better suited to print the line: it has got the signal too, or gets SIGTERM
// when this rank has ended.
func (e *ending) end(code int, modest bool, line func() error) {
	time.AfterFunc(endLimit, func() { os.Exit(code) })
	e.mu.Lock()
	moved, known := e.moveFolders()
	switch {
	case e.printed != 0:
		code = e.printed
	case len(moved) > 0 || !known && e.speaks(modest):
		err := line()
		complain(e.name(err), err)
	case known:
		select {} // another rank has moved them: it ends all
	}
	for _, path := range moved {
		if err := os.RemoveAll(path); err != nil {
			complain(e.name(err), fmt.Errorf("unfinished results are left: %w", err))
		}
	}
	if e.comm != nil && e.comm.Size() > 1 {
		e.comm.Abort(code)
	}
	os.Exit(code)
}

// name is what stands before a line of this rank: nothing where there is only one, or where the line is about
// another one.
func (e *ending) name(err error) string {
	if silent := (*comm.SilentError)(nil); errors.As(err, &silent) {
		return ""
	}
	ranks := cores.FindLauncher().Size
	if e.comm != nil {
		ranks = e.comm.Size()
	}
	if ranks == 1 {
		return ""
	}
	return fmt.Sprintf("rank %d on %s: ", e.rank.Load(), host())
}

// moveFolders gives the folders names that no other rank knows, and returns the names of those that it has
// found. It is not known whether another rank has moved them if there are none, or the file system hangs.
func (e *ending) moveFolders() (moved []string, known bool) {
	if len(e.folders) == 0 {
		return nil, false
	}
	done := make(chan []string, 1)
	go parallel.Guard(func() {
		var moved []string
		for _, path := range e.folders {
			away := movedName(path)
			switch err := os.Rename(path, away); {
			case err == nil:
				moved = append(moved, away)
			case !errors.Is(err, fs.ErrNotExist):
				moved = append(moved, path)
			}
		}
		done <- moved
	}, func(error) { done <- e.anyNames() })
	select {
	case moved = <-done:
		return moved, true
	case <-time.After(fileLimit):
		if e.comm == nil && cores.FindLauncher().Size <= 1 || e.comm != nil && e.comm.Size() == 1 {
			return e.anyNames(), true // nobody else can have moved them
		}
		return nil, false
	}
}

// movedName is the name of a folder that the end has moved away. The next run, which clears up, knows such
// names.
func movedName(path string) string { return strings.TrimSuffix(path, ".tmp") + "0.tmp" }

// anyNames are the names that the folders may have now.
func (e *ending) anyNames() (names []string) {
	for _, path := range e.folders {
		names = append(names, path, movedName(path))
	}
	return names
}

// speaks says whether this rank prints the line where no folder decides it.
func (e *ending) speaks(modest bool) bool {
	l := cores.FindLauncher()
	if modest && (e.comm != nil || l.LocalSize < l.Size) {
		return false
	}
	first, known := claim()
	return first || !known && !modest
}

// claim tells whether this is the first rank of its host to claim the line. It makes a file in the
// folder that a launcher with PMIx, as Open MPI's and Slurm's, makes for the job and deletes with it.
// Elsewhere nothing is known.
func claim() (first, known bool) {
	dir := os.Getenv("PMIX_SERVER_TMPDIR")
	if dir == "" {
		return false, false
	}
	name := filepath.Join(dir, "jmpi."+os.Getenv("PMIX_NAMESPACE")+".ended")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = file.Close()
	}
	return err == nil, err == nil || errors.Is(err, fs.ErrExist)
}

// join says which ranks the end ends.
func (e *ending) join(world comm.Comm) {
	e.rank.Store(int64(world.Rank()))
	e.mu.Lock()
	e.comm = world
	e.mu.Unlock()
}

// whole runs f, which the end does not interrupt. f must be short.
func (e *ending) whole(f func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return f()
}

// make makes a folder for unfinished files, by a function that returns its path.
func (e *ending) make(f func() (string, error)) (path string, err error) {
	err = e.whole(func() error {
		path, err = f()
		if err == nil {
			e.folders = append(e.folders, path)
		}
		return err
	})
	return path, err
}

// publish gives the files in a folder their final names, by f, which leaves nothing to delete. fate, or the
// error of f, says then what has become of the results.
func (e *ending) publish(path, fate string, f func() error) error {
	return e.whole(func() error {
		err := f()
		e.forget(path)
		if e.fate = fate; err != nil {
			e.fate = err.Error()
		}
		return err
	})
}

// discard deletes a folder by f, if its files have no final names yet.
func (e *ending) discard(path string, f func() error) error {
	return e.whole(func() error {
		if !slices.Contains(e.folders, path) {
			return nil
		}
		e.forget(path)
		return f()
	})
}

// forget takes a folder off the list of unfinished ones.
func (e *ending) forget(path string) {
	e.folders = slices.DeleteFunc(e.folders, func(other string) bool { return other == path })
	e.fate = ""
}

// nothing is what a rank does where another one does the work.
func nothing() error { return nil }

// print prints the line with which the process is going to exit in good order. who stands before it.
func (e *ending) print(code int, who string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rank.Load() != 0 {
		_, _ = claim() // the launcher will send SIGTERM to rank 0
	}
	complain(who, err)
	e.printed = code
}

// leave says that this process is going to exit with this code, and that another rank prints the line.
func (e *ending) leave(code int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.printed = code
}

// exit exits in good order.
func (e *ending) exit(code int) {
	e.mu.Lock()
	os.Exit(code)
}
