package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"jmpi/internal/gen"
	"jmpi/internal/hdf5"
	"jmpi/internal/matio"
	"jmpi/internal/residual"
)

// The runs of the tests TestReports…. A start of mpirun takes a second, so one start makes all runs of a
// test: its ranks are processes of this test binary, which go through the runs in one session.

// runsVariable holds, in the ranks, the path of their runs.
const runsVariable = "JMPI_TEST_RUNS"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == hdf5.ChildArgument:
		main()
	case os.Getenv(failureVariable) != "":
		failAlone()
	case os.Getenv(programVariable) != "":
		if fault := os.Getenv(faultVariable); fault != "" {
			injectFault(fault)
		}
		if fault := os.Getenv(deviceVariable); fault != "" {
			injectDevice(fault)
		}
		main()
	}
	path := os.Getenv(runsVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := executeRuns(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitCode(err))
	}
}

// svdRuns are what the ranks do in one session.
type svdRuns struct {
	Memory uint64   // bytes of address space that a rank may take when its devices are open, 0 for any number
	Flags  []string // of the session and the method
	Force  bool     // --force
	Fate   fate     // what happens to a rank
	Runs   []svdRun
}

// svdRun is one run of the command svd, of the hyperbolic SVD if there is a signature beside the input, as
// "jmpi gen" writes it. Its exit code is left in the file DIR.code, what it prints on stderr in DIR.err.
type svdRun struct{ Input, Dir, Vectors string }

// executeRuns is one rank.
func executeRuns(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all svdRuns
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	f, err := all.flags(svdRun{Vectors: "both"})
	if err != nil {
		return err
	}
	s, err := newSession(f.sessionFlags)
	if err == nil && all.Memory > 0 {
		err = limitMemory(all.Memory)
	}
	if err != nil {
		return err
	}
	if err := all.Fate.arrange(s); err != nil {
		return err
	}
	for _, r := range all.Runs {
		f, err := all.flags(r)
		if err == nil {
			err = s.execute(r, f)
		}
		if err != nil {
			process.fail(err)
		}
	}
	return s.end(nil)
}

// limitMemory makes allocations of more bytes fail, so that a program that does not refuse a matrix
// ends, and not the machine.
func limitMemory(bytes uint64) error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return err
	}
	all := pages*uint64(os.Getpagesize()) + bytes
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: all, Max: all})
}

func (a svdRuns) flags(r svdRun) (f svdFlags, err error) {
	flags := pflag.NewFlagSet("svd", pflag.ContinueOnError)
	f.sessionFlags.register(flags)
	f.methodFlags.register(flags)
	f.vectors, f.output, f.force = r.Vectors, r.Dir, a.Force
	if beside := gen.Sidecar(r.Input, "signature"); fileExists(beside) {
		f.signature = beside
	}
	if err = flags.Parse(append([]string{"--backend", "cpu", "--quiet"}, a.Flags...)); err == nil {
		err = f.validate()
	}
	return f, err
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// execute runs svd; rank 0, whose exit code is that of all, leaves it and what it prints.
func (s *session) execute(r svdRun, f svdFlags) error {
	if s.comm.Rank() != 0 {
		_ = s.svd(r.Input, f)
		return nil
	}
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	file, err := os.Create(r.Dir + ".err")
	if err != nil {
		return err
	}
	os.Stderr = file
	code := exitCode(s.svd(r.Input, f))
	return errors.Join(file.Close(), os.WriteFile(r.Dir+".code", []byte(strconv.Itoa(code)), 0o666))
}

// runOn makes the runs on so many ranks, and returns what each has left.
func runOn(t *testing.T, ranks int, runs []svdRun, flags ...string) []outcome {
	t.Helper()
	return svdRuns{Flags: flags, Runs: runs}.on(t, ranks)
}

// on makes the runs, which must end by themselves.
func (a svdRuns) on(t *testing.T, ranks int) []outcome {
	t.Helper()
	if all, err := a.start(t, ranks); err != nil {
		t.Fatalf("%d ranks: %v\n%s", ranks, err, all[:min(len(all), 2000)])
	}
	outcomes := make([]outcome, len(a.Runs))
	for i, r := range a.Runs {
		outcomes[i] = readOutcome(t, r)
	}
	return outcomes
}

// mpirunSettings let Open MPI start many ranks here.
var mpirunSettings = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
	"OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"}

// mpirunName is the launcher of the tests.
var mpirunName = cmp.Or(os.Getenv("MPIRUN"), "mpirun")

// alone stands for one rank without mpirun, which starts and dies faster.
const alone = 0

// start starts mpirun, and returns what the ranks print and how it ended. What takes longer than a
// minute is ended.
func (a svdRuns) start(t *testing.T, ranks int) ([]byte, error) {
	t.Helper()
	mpirun, err := exec.LookPath(mpirunName)
	if err != nil {
		t.Skip("no mpirun in PATH: the tests on MPI ranks are skipped")
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "runs.json")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, mpirun, "-np", strconv.Itoa(ranks), os.Args[0])
	if ranks == alone {
		command = exec.CommandContext(ctx, os.Args[0])
	}
	command.Env = append(append(os.Environ(), mpirunSettings...), runsVariable+"="+path)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // mpirun ends its ranks
	command.WaitDelay = 5 * time.Second
	// A file, not a pipe: a helper that MPI has started may outlive the ranks and would keep a pipe open.
	out, err := os.Create(path + ".out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	}()
	command.Stdout, command.Stderr = out, out
	ended := command.Run()
	all, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return all, ended
}

// outcome is what a run has left behind: factors without a file have no columns.
type outcome struct {
	svdRun
	code   int
	stderr string
	s      []float64
	u, v   matrix
	rank   int // by info.json
}

func readOutcome(t *testing.T, r svdRun) outcome {
	t.Helper()
	o := outcome{svdRun: r}
	code, err := os.ReadFile(r.Dir + ".code")
	if err == nil {
		o.code, err = strconv.Atoi(string(code))
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.Dir + ".err")
	if err != nil {
		t.Fatal(err)
	}
	o.stderr = string(text)
	if _, err := os.Stat(r.Dir); errors.Is(err, fs.ErrNotExist) {
		return o
	}
	if o.s, err = matio.ReadVector(filepath.Join(r.Dir, "S.npy")); err != nil {
		t.Fatal(err)
	}
	o.u, o.v = readMatrix(t, filepath.Join(r.Dir, "U.npy")), readMatrix(t, filepath.Join(r.Dir, "V.npy"))
	var info struct{ Rank struct{ Value int } }
	if text, err = os.ReadFile(filepath.Join(r.Dir, "info.json")); err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.rank = info.Rank.Value
	return o
}

// right asserts that the run has converged, and its files pass `jmpi check`.
func (o outcome) right(t *testing.T) {
	t.Helper()
	if o.code != exitDone || o.stderr != "" {
		t.Fatalf("exit code %d, %s", o.code, o.stderr)
	}
	if r := o.check(t, o.Input); !r.Passed() {
		t.Errorf("the check fails: %v", r.Rows)
	}
}

func (o outcome) check(t *testing.T, input string) residual.Report {
	t.Helper()
	file, err := matio.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := residual.Check(file, o.Dir, residual.Beside(input))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sigma asserts the singular values to a relative error; in the place of 0 there may be eps times
// the largest.
func (o outcome) sigma(t *testing.T, want []float64, tol float64) {
	t.Helper()
	s := slices.Clone(o.s)
	for i, x := range s {
		if i < len(want) && want[i] == 0 && x <= eps*s[0] {
			s[i] = 0
		}
	}
	near(t, "S", s, want, tol)
}

// near asserts numbers to a relative error.
func near(t *testing.T, name string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s = %v, want %v", name, got, want)
		return
	}
	for i, x := range want {
		if !(math.Abs(got[i]-x) <= tol*math.Abs(x)) {
			t.Errorf("%s[%d] = %.17g, want %.17g, relative error %.2g", name, i, got[i], x, math.Abs(got[i]/x-1))
		}
	}
}

// sameAs asserts the same bits of every factor that both have.
func (o outcome) sameAs(t *testing.T, other outcome, what string) {
	t.Helper()
	for _, f := range []struct {
		name string
		a, b []float64
	}{{"S", o.s, other.s}, {"U", o.u.x, other.u.x}, {"V", o.v.x, other.v.x}} {
		if f.a != nil && f.b != nil && !slices.Equal(f.a, f.b) {
			t.Errorf("%s: %s has other bits", what, f.name)
		}
	}
}

// refused asserts an exit code, and one line on stderr with these texts; nothing was written.
func (o outcome) refused(t *testing.T, code int, says ...string) {
	t.Helper()
	if o.code != code || strings.Count(o.stderr, "\n") != 1 || !strings.HasPrefix(o.stderr, "jmpi: ") {
		t.Errorf("exit code %d instead of %d, prints %q", o.code, code, o.stderr)
	}
	for _, text := range says {
		if !strings.Contains(o.stderr, text) {
			t.Errorf("prints %q without %q", o.stderr, text)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(o.Dir),
		"*"+filepath.Base(o.Dir)+"*")); err != nil || len(left) != 2 {
		t.Errorf("leaves %v", left) // DIR.code and DIR.err
	}
}
