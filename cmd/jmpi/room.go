package main

import (
	"fmt"

	"jmpi/internal/limits"
)

const (
	// maxThreads bounds the threads of a rank: more than any machine has cores, and less than what
	// would take minutes to start.
	maxThreads = 1024
	// otherThreads is how many threads Go, MPI and OpenBLAS start besides those that compute.
	otherThreads = 24
)

// checkRoom refuses to start where the limits of this process leave too little for its threads or for the
// libraries: there the Go runtime would end it with a long trace, or a library would wait for ever. given
// says that the user has asked for the threads.
func checkRoom(threads int, given bool) error {
	left, by := limits.Threads()
	if err := checkThreads(threads, given, left, by); err != nil {
		return err
	}
	space, ok := limits.Room(threads, limits.BeforeMPI)
	return checkSpace(space, ok)
}

// checkThreads compares the threads that will compute with how many are left, and what limits them.
func checkThreads(threads int, given bool, left int64, by string) error {
	if by == "" || int64(threads)+otherThreads <= left {
		return nil
	}
	err := fmt.Errorf("%d threads and %d of the libraries are to be started, but %s leaves %d", threads,
		otherThreads, by, left)
	if given {
		return own(exitUsage, fmt.Errorf("--threads %d: %w", threads, err))
	}
	return own(exitFailure, fmt.Errorf("%w: raise that limit, or take fewer --threads", err))
}

// checkSpace refuses a process that has no room for MPI and its threads.
func checkSpace(space limits.Space, ok bool) error {
	if !ok || space.Left > 0 {
		return nil
	}
	return own(exitFailure, fmt.Errorf("%v leaves %.3g GiB too little for MPI and the threads, without any "+
		"matrix: raise that limit, or take fewer --threads", space, float64(-space.Left)/(1<<30)))
}

// own marks an error before the start of MPI that other ranks may not have: limits differ from host to host.
func own(code int, err error) error { return &exitError{code, &ownError{err}} }

// ownError is an error of this rank alone. It is not known whether rank 0 has it too, and prints it.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }
