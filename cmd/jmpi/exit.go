package main

import (
	"errors"
	"fmt"
)

// The exit codes of jmpi (docs/contract.md).
const (
	exitDone         = 0
	exitUsage        = 2
	exitInput        = 3
	exitNotConverged = 4
	exitCheckFailed  = 5
	exitFailure      = 6
	exitStopped      = 75 // EX_TEMPFAIL of sysexits.h
)

// exitMeanings are the exit codes in words.
var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitDone, "Done."},
	{exitUsage, "Usage: an unknown command, flag or value, or flags that do not go together."},
	{exitInput, "The input or the folder of the results cannot be used: missing, malformed, NaN, no room."},
	{exitNotConverged, "Not converged within --max-sweeps; the results are written. Or a hyperbolic SVD that " +
		"does not exist; nothing is written."},
	{exitCheckFailed, "The command check or selftest failed."},
	{exitFailure, "MPI, a device, memory or a library failed, a rank stood still, or a signal ended the run."},
	{exitStopped, "Stopped by SIGTERM, SIGUSR1 or --time-limit with a complete checkpoint; --resume goes on."},
}

// exitError carries the exit code of an error up to main, which exits in good order.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exit marks err with an exit code; a code that is marked already stays.
func exit(code int, err error) error {
	var marked *exitError
	if err == nil || errors.As(err, &marked) {
		return err
	}
	return &exitError{code, err}
}

// usagef is an error of the command line: exit code 2.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode returns the exit code for the error that a command returned. Errors without a mark
// come from cobra's parsing of the command line.
func exitCode(err error) int {
	var marked *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &marked):
		return marked.code
	default:
		return exitUsage
	}
}
