package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// programVariable makes this test binary the program. Its value marks the processes of one run.
const programVariable = "JMPI_TEST_PROGRAM"

// signalsVariable, set to "all", makes TestSignals send every signal in every phase: 150 runs.
const signalsVariable = "JMPI_TEST_SIGNALS"

// phase is a phase of a command that lasts long enough for a signal to come in it.
type phase struct {
	name, args string
	begins     string        // what the log says before the phase, a regular expression
	file       string        // or a file that appears then, a pattern
	after      time.Duration // the beginning the signal is sent
	ends       string        // what the log says after the phase, a regular expression
	published  bool          // the results have their names
	alone      bool          // only one rank works
}

// phases work on the inputs that writeInputs makes.
var phases = []phase{
	{name: "start", args: "svd a.npy -o x"},
	{name: "read", args: "svd a.mtx -o x", begins: " start ", after: 500 * time.Millisecond, ends: " sweep "},
	{name: "precondition", args: "svd a.npy -o x --precondition qrcp-lq",
		begins: " start ", after: 500 * time.Millisecond, ends: " sweep "},
	{name: "sweeps", args: "svd a.npy -o x", begins: " sweep ", ends: " done "},
	{name: "vectors", args: "svd a.npy -o x --precondition qrcp-lq --max-sweeps 1",
		begins: " sweep ", ends: " done "},
	{name: "write", args: "svd a.npy -o x --max-sweeps 1 --v accumulate", file: ".x.*/U.npy"},
	{name: "check", args: "svd a.npy -o x --max-sweeps 1 --v accumulate --check",
		file: "x/S.npy", published: true},
	{name: "bench", args: "bench --shape 1500x1500 --precondition qrcp-lq",
		file: ".jmpi-bench-*/a.npy", after: 300 * time.Millisecond},
	{name: "gen", args: "gen geometric -o x.npy --shape 3000x3000",
		file: ".x.npy.*", after: 200 * time.Millisecond, alone: true},
	{name: "jmpi check", args: "check c.npy c.svd --reference", after: 100 * time.Millisecond, alone: true},
	{name: "plan", args: "plan --devices 128 --sweeps 500", after: 100 * time.Millisecond, alone: true},
}

// receiver says which processes get the signal.
type receiver string

const (
	allRanks receiver = "all ranks"
	rankZero receiver = "rank 0"
	rankTwo  receiver = "rank 2"
	launcher receiver = "mpirun"
)

// stopping is one run that a signal ends.
type stopping struct {
	phase  phase
	ranks  int // 1: without mpirun
	signal syscall.Signal
	to     receiver
}

func (s stopping) String() string {
	return fmt.Sprintf("%s, %d ranks, %s to %s", s.phase.name, s.ranks, unix.SignalName(s.signal), s.to)
}

// stoppings returns some runs, or all.
func stoppings(all bool) (list []stopping) {
	for _, p := range phases {
		for _, s := range stopSignals {
			list = append(list, stopping{p, 1, s.(syscall.Signal), allRanks})
			if !p.alone && s != syscall.SIGXCPU { // which is mpirun's own
				list = append(list, stopping{p, 4, s.(syscall.Signal), launcher})
			}
		}
		for i, to := range []receiver{allRanks, rankZero, rankTwo, allRanks, rankTwo} {
			if !p.alone {
				list = append(list, stopping{p, 4, stopSignals[i].(syscall.Signal), to})
			}
		}
	}
	if all {
		return list
	}
	some := []string{
		"start, 1 ranks, SIGINT to all ranks", "start, 4 ranks, SIGTERM to mpirun",
		"read, 4 ranks, SIGTERM to mpirun", "precondition, 4 ranks, SIGUSR2 to mpirun",
		"sweeps, 4 ranks, SIGHUP to mpirun", "vectors, 1 ranks, SIGTERM to all ranks",
		"vectors, 4 ranks, SIGHUP to rank 2", "write, 4 ranks, SIGUSR1 to all ranks",
		"check, 4 ranks, SIGTERM to rank 0", "bench, 4 ranks, SIGUSR1 to mpirun",
		"gen, 1 ranks, SIGUSR2 to all ranks",
	}
	return slices.DeleteFunc(list, func(s stopping) bool { return !slices.Contains(some, s.String()) })
}

// Every signal ends every phase within 5 s, with one line and the documented exit code. Nothing is
// half-written.
func TestSignals(t *testing.T) {
	// A shell may have started the test so that these are ignored. What is caught here is not ignored
	// in the program.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Reset(syscall.SIGINT, syscall.SIGHUP)
	inputs := t.TempDir()
	writeInputs(t, inputs)
	for _, s := range stoppings(os.Getenv(signalsVariable) == "all") {
		t.Run(s.String(), func(t *testing.T) { s.test(t, inputs) })
	}
}

// writeInputs makes a.npy and a.mtx, which take seconds, and c.npy with its results.
func writeInputs(t *testing.T, dir string) {
	t.Helper()
	a, c := filepath.Join(dir, "a.npy"), filepath.Join(dir, "c.npy")
	gauss(t, 1500, 1500).write(t, a)
	gauss(t, 512, 512).write(t, c)
	runOn(t, 1, []svdRun{{c, filepath.Join(dir, "c.svd"), "both"}})[0].right(t)
	const n, comments = 600, 8_000_000 // which make the reading long
	text := fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", n, n, 7*n)
	text = append(text, bytes.Repeat([]byte("% line\n"), comments)...)
	for i := range 7 * n {
		text = fmt.Appendf(text, "%d %d 1\n", i%n+1, (i%n*7+i/n)%n+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.mtx"), text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// test makes the run in a folder with links to the inputs.
func (s stopping) test(t *testing.T, inputs string) {
	dir := t.TempDir()
	linkAll(t, inputs, dir)
	p := startProgram(t, dir, s.ranks, s.phase.args)
	p.await(t, s.phase)
	p.send(t, s)
	sent := time.Now()
	code := p.wait(t)
	if took := time.Since(sent); took > 5*time.Second {
		t.Errorf("ended after %v", took)
	}
	for len(p.processes(t)) > 0 {
		if time.Since(sent) > 5*time.Second {
			t.Fatalf("processes are left: %v", p.processes(t))
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.judge(t, dir, code, p.stderr.String())
	t.Logf("%v, exit code %d", time.Since(sent), code)
}

// judge compares what the run has printed and left with what it must.
func (s stopping) judge(t *testing.T, dir string, code int, stderr string) {
	t.Helper()
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(hidden) > 0 {
		t.Errorf("leaves %s", hidden)
	}
	results, _ := filepath.Glob(filepath.Join(dir, "x*"))
	published := len(results) > 0
	if published && s.phase.name != "gen" {
		for _, name := range []string{"S.npy", "U.npy", "V.npy", "info.json"} {
			if _, err := os.Stat(filepath.Join(dir, "x", name)); err != nil {
				t.Error(err)
			}
		}
	}
	// mpirun makes SIGTERM of other signals, and sends it a second later.
	late := s.to == launcher && s.signal != syscall.SIGUSR1 && s.signal != syscall.SIGUSR2
	lines := regexp.MustCompile(`(?m)^jmpi: .*$`).FindAllString(stderr, -1)
	want := `^jmpi: (rank \d on \S+: )?stopped by signal \d+ \([a-z0-9 ]+\); `
	if s.ranks == 1 {
		want = fmt.Sprintf(`^jmpi: (rank 0 on \S+: )?stopped by signal %d \(%v\); `, s.signal, s.signal)
	}
	switch mayFinish := late || s.phase.name == "write"; {
	case !published:
		want += "nothing was written$"
	case mayFinish && len(lines) == 1 && strings.Contains(lines[0], "not converged"):
		want, code = "", exitFailure
	default:
		want += "the results in x are complete$"
	}
	if len(lines) != 1 || !regexp.MustCompile(want).MatchString(lines[0]) {
		t.Errorf("prints %q, want one line %q", lines, want)
	}
	if code != exitFailure && (!late || code == exitDone) {
		t.Errorf("exit code %d", code)
	}
	if ends := s.phase.ends; !late && (published != s.phase.published && s.phase.name != "write" ||
		ends != "" && regexp.MustCompile(ends).MatchString(stderr)) {
		t.Errorf("the phase was over: published %t, log\n%s", published, stderr)
	}
	if t.Failed() {
		t.Logf("stderr:\n%s", stderr)
	}
}

// program is a run of this program as a command of its own.
type program struct {
	token   string
	command *exec.Cmd
	stderr  lockedBuffer
	dir     string
	ranks   int
}

// lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startProgram starts the program in a folder, under mpirun if there is more than one rank.
func startProgram(t *testing.T, dir string, ranks int, args string, variables ...string) *program {
	t.Helper()
	words := append([]string{os.Args[0]}, strings.Fields(args)...)
	if ranks > 1 {
		words = append([]string{mpirunName, "-np", strconv.Itoa(ranks)}, words...)
	}
	return startWords(t, dir, ranks, words, variables...)
}

// startWords starts a command that starts so many ranks of the program.
func startWords(t *testing.T, dir string, ranks int, words []string, variables ...string) *program {
	t.Helper()
	p := &program{token: fmt.Sprintf("%d.%d", os.Getpid(), time.Now().UnixNano()), dir: dir, ranks: ranks}
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Skip("no mpirun in PATH: the tests on MPI ranks are skipped")
	}
	p.command = exec.Command(words[0], words[1:]...)
	p.command.Dir, p.command.Stderr, p.command.WaitDelay = dir, &p.stderr, time.Second
	p.command.Env = append(os.Environ(), mpirunSettings...)
	p.command.Env = append(append(p.command.Env, programVariable+"="+p.token, "JMPI_BACKEND=cpu"), variables...)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill(t) })
	return p
}

// kill ends what is left of the run.
func (p *program) kill(t *testing.T) {
	if p.command.ProcessState == nil {
		_ = p.command.Process.Kill()
	}
	for _, pid := range p.processes(t) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// await waits until the time for the signal has come. All ranks are in main then.
func (p *program) await(t *testing.T, at phase) {
	t.Helper()
	begins := regexp.MustCompile(at.begins)
	for limit := time.Now().Add(2 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("does not come to the phase:\n%s", p.stderr.String())
		}
		if at.begins != "" && !begins.MatchString(p.stderr.String()) {
			continue
		}
		if at.file != "" {
			if files, _ := filepath.Glob(filepath.Join(p.dir, at.file)); len(files) == 0 {
				continue
			}
		} else if at.begins == "" && !p.mainRuns(t) {
			continue
		}
		break
	}
	time.Sleep(at.after)
}

// mainRuns tells whether all ranks are in main: they have had 60 ms of processor time, and what comes before
// takes 20. A signal before it is Go's.
func (p *program) mainRuns(t *testing.T) bool {
	pids := p.processes(t)
	for _, pid := range pids {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, _ := strings.Cut(string(stat), ") ") // the fields from the third on
		fields := strings.Fields(after)
		if len(fields) < 13 {
			return false
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		if user+system < 6 { // hundredths of a second
			return false
		}
	}
	return len(pids) == p.ranks
}

// processes returns the processes of the ranks, by rank.
func (p *program) processes(t *testing.T) map[int]int {
	t.Helper()
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]int{}
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		exe, _ := os.Readlink(filepath.Join(entry, "exe"))
		text, _ := os.ReadFile(filepath.Join(entry, "environ"))
		variables := strings.Split(string(text), "\x00")
		if exe != own || !slices.Contains(variables, programVariable+"="+p.token) {
			continue
		}
		rank := 0
		for _, v := range variables {
			name, value, _ := strings.Cut(v, "=")
			if name == "OMPI_COMM_WORLD_RANK" || name == "PMI_RANK" {
				rank, _ = strconv.Atoi(value)
			}
		}
		found[rank], _ = strconv.Atoi(filepath.Base(entry))
	}
	return found
}

// send sends the signal.
func (p *program) send(t *testing.T, s stopping) {
	t.Helper()
	pids := p.processes(t)
	switch {
	case s.to == launcher:
		pids = map[int]int{0: p.command.Process.Pid}
	case s.to == rankZero:
		pids = map[int]int{0: pids[0]}
	case s.to == rankTwo:
		pids = map[int]int{2: pids[2]}
	}
	for rank, pid := range pids {
		if pid == 0 {
			t.Fatalf("no process of rank %d", rank)
		}
		if err := syscall.Kill(pid, s.signal); err != nil {
			t.Fatal(err)
		}
	}
}

// wait waits for the end, and returns the exit code.
func (p *program) wait(t *testing.T) int { return p.waitFor(t, 20*time.Second) }

// waitFor is wait with a limit, at which mpirun is killed.
func (p *program) waitFor(t *testing.T, limit time.Duration) int {
	t.Helper()
	over := time.AfterFunc(limit, func() { _ = p.command.Process.Kill() })
	defer over.Stop()
	_ = p.command.Wait()
	return p.command.ProcessState.ExitCode()
}
