package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jmpi/dist/devices"
	"jmpi/dist/exchange"
)

// failureVariable makes the processes of this test binary ranks that failAlone.
const failureVariable = "JMPI_TEST_FAILURE"

// failAlone is a rank of a run in which rank 2 alone meets an error, while the others wait for it.
func failAlone() {
	process.watch()
	s, err := newSession(sessionFlags{backend: devices.CPU, gpuDirect: exchange.GPUDirectOff, log: "console"})
	if err == nil && s.comm.Rank() == 0 {
		_, err = process.make(func() (string, error) { return ".x.tmp", os.Mkdir(".x.tmp", 0o777) })
	}
	if err == nil {
		_, err = s.comm.Allgather(nil)
	}
	if err == nil && s.comm.Rank() != 0 {
		_, err = process.make(func() (string, error) { return ".x.tmp", nil })
	}
	if err == nil && s.comm.Rank() == 2 {
		err = s.failed(errors.New("the device is gone"))
	}
	if err == nil {
		_, err = s.comm.Allgather(nil)
	}
	process.print(exitDone, "", err) // no rank comes here
	os.Exit(exitDone)
}

// The error of one rank ends all: the line is its own, though the launcher ends the others by SIGTERM.
func TestFailureOfOneRank(t *testing.T) {
	dir := t.TempDir()
	begin := time.Now()
	p := startProgram(t, dir, 4, "", failureVariable+"=1")
	code := p.wait(t)
	stderr := p.stderr.String()
	if code != exitFailure || strings.Count(stderr, "jmpi: ") != 1 ||
		!strings.Contains(stderr, "jmpi: rank 2 on "+host()+": the device is gone\n") {
		t.Errorf("exit code %d after %v, prints\n%s", code, time.Since(begin), stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("leaves %s", left)
	}
}
