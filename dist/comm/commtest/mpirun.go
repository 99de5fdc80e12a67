package commtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jmpi/dist/comm"
)

// rankVariable marks the processes of this test binary that mpirun has started. Only they start MPI.
const rankVariable = "JMPI_TEST_UNDER_MPIRUN"

// world is the communicator of the processes that mpirun has started, nil elsewhere.
var world comm.Comm

// World is the communicator of the processes that mpirun has started, nil elsewhere.
func World() comm.Comm { return world }

// Main is the TestMain of a package whose tests call MPIRun: there too it starts MPI, and ends it.
func Main(m *testing.M) {
	if os.Getenv(rankVariable) == "" {
		os.Exit(m.Run())
	}
	var err error
	if world, err = comm.StartMPI(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if code := m.Run(); code != 0 {
		world.Abort(code) // else the other ranks wait for ever
	}
	if err := world.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		world.Abort(1)
	}
}

// MPIRun runs this test binary on n ranks with these test flags ("-test.run=^TestMPIRankComm$") and
// variables ("NAME=value"). It returns the exit code and the output of all ranks. What takes longer
// than two minutes is ended. The variable MPIRUN names another mpirun. Without one the test is skipped.
func MPIRun(t testing.TB, n int, flag string, variables ...string) (code int, output string) {
	t.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv("MPIRUN"), "mpirun"))
	if err != nil {
		t.Skip("no mpirun in PATH: the tests on MPI ranks are skipped")
	}
	args := []string{"-n", strconv.Itoa(n)}
	if isOpenMPI(path) {
		args = append(args, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none")
	}
	args = append(args, os.Args[0], flag, "-test.timeout=110s")

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	command.Env = append(os.Environ(), append(variables, rankVariable+"=1")...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // mpirun ends its ranks
	command.WaitDelay = 5 * time.Second
	var all bytes.Buffer
	command.Stdout, command.Stderr = &all, &all
	err = command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("mpirun: %v\n%s", err, all.String())
	}
	return command.ProcessState.ExitCode(), all.String()
}

// Passes runs the test `name` on n ranks.
func Passes(t *testing.T, n int, name string, variables ...string) {
	t.Helper()
	code, output := MPIRun(t, n, "-test.run=^"+name+"$", variables...)
	if code != 0 || strings.Count(output, "PASS") != n {
		t.Errorf("%s on %d ranks: exit code %d\n%s", name, n, code, output)
	}
}

func isOpenMPI(mpirun string) bool {
	version, err := exec.Command(mpirun, "--version").Output()
	return err == nil && bytes.Contains(version, []byte("Open MPI"))
}
