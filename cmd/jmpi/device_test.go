package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jmpi/dist/devices"
	"jmpi/dist/disttest"
	"jmpi/internal/cores"
	"jmpi/kernels"
)

// deviceVariable makes a rank of the program lose its device: "RANK PRIMITIVE CALL lost", or makes that call
// fail alone: "RANK PRIMITIVE CALL memory". All ranks have devices that pose as GPUs then.
const deviceVariable = "JMPI_TEST_DEVICE"

// injectDevice opens such devices in the place of CPU devices.
func injectDevice(fault string) {
	var rank, call int
	var primitive, what string
	if _, err := fmt.Sscan(fault, &rank, &primitive, &call, &what); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	newOpener = func() devices.Opener {
		return devices.Opener{CPU: func(int) (kernels.Backend, error) {
			at := primitive
			if cores.FindLauncher().Rank != rank {
				at = ""
			}
			d, err := disttest.OpenFalling(at, call)
			if what == "memory" {
				d.Error = fmt.Errorf("%w: 1048576 bytes of the device", kernels.ErrMemory)
			}
			return d, err
		}}
	}
}

// lostDevices are devices that are lost in each phase. The primitives are those of the phase, or of the
// exchange in it.
var lostDevices = []struct {
	phase, args string
	primitive   string
	call, ranks int // the device of the last rank
}{
	{"read", "", "Write", 1, 3},
	{"read", "", "Alloc", 1, 1},
	{"read, tall", "tall", "Write", 1, 2},
	{"prepare", "--precondition qrcp-lq", "FactorPivoted", 2, 2},
	{"prepare", "--precondition qr-lq", "FactorPanel", 1, 1},
	{"prepare, tall", "tall", "Gemm", 1, 2},
	{"sweep", "", "Jacobi", 4, 3},
	{"sweep", "", "Multiply", 10, 1},
	{"sweep, float32", "--precision float32", "Jacobi", 4, 2},
	{"exchange", "", "Fetch", 2, 3},
	{"exchange", "", "Store", 9, 2},
	{"refine", "--precision float32", "Syrk", 1, 2},
	{"undo", "--precondition qrcp-lq --v solve", "Scale", 1, 3},
	{"undo", "--precondition qrcp-lq", "Reflect", 5, 1},
	{"signs", "--v accumulate --precondition none", "Leads", 1, 2},
	{"write", "--v accumulate --precondition none", "Read", 2, 1},
}

// A device that is lost in any phase ends the run with exit code 6 and one line that names the rank and its
// host, within 10 s. So does one that has no more memory. No process, no results and no hidden folder are
// left; where it is lost while vectors are written, S and info.json are kept.
func TestLostDevices(t *testing.T) {
	inputs := t.TempDir()
	gauss(t, 260, 240).write(t, filepath.Join(inputs, "a.npy"))
	gauss(t, 2500, 60).write(t, filepath.Join(inputs, "tall.npy"))
	for _, d := range lostDevices {
		what, says := "lost", ": the device is lost" // of any call: some are made at the same time
		if d.primitive == "Alloc" {
			what, says = "memory", "Alloc: "+kernels.ErrMemory.Error()
		}
		t.Run(fmt.Sprintf("%s, %s, %d ranks", d.phase, d.primitive, d.ranks), func(t *testing.T) {
			dir := t.TempDir()
			linkAll(t, inputs, dir)
			args := "svd a.npy -o x " + d.args
			if d.args == "tall" {
				args = "svd tall.npy -o x"
			}
			p := startProgram(t, dir, d.ranks, args,
				fmt.Sprintf("%s=%d %s %d %s", deviceVariable, d.ranks-1, d.primitive, d.call, what))
			begin := time.Now()
			code := p.wait(t)
			f := failure{code: exitFailure, line: oneRank(d.ranks, d.ranks-1) + ".*" + regexp.QuoteMeta(says)}
			if d.phase == "write" {
				f.left, f.line = "x.1", f.line+".*x.1 keeps S.npy and info.json"
			}
			f.judge(t, p, code, begin)
		})
	}
}

// A run that lost a device, between two checkpoints or while one is made, goes on from the last one with
// --resume, to the bits of an undisturbed run.
func TestLostDeviceResumes(t *testing.T) {
	inputs := t.TempDir()
	gauss(t, 260, 240).write(t, filepath.Join(inputs, "a.npy"))
	resumed := 0
	const none = deviceVariable + "=0 none 0 lost" // devices of the same kind, that are not lost
	for _, lost := range []string{"1 Jacobi 30 lost", "0 Multiply 30 lost", "0 Fetch 20 lost",
		"1 Read 2 memory"} { // the third one may be that of results, where checkpoints are late
		t.Run(lost, func(t *testing.T) {
			dir := t.TempDir()
			linkAll(t, inputs, dir)
			whole := startProgram(t, dir, 2, "svd a.npy -o whole --precision float64", none)
			if code := whole.wait(t); code != exitDone {
				t.Fatalf("exit code %d:\n%s", code, whole.stderr.String())
			}
			const args = "svd a.npy -o x --precision float64 --checkpoint ck --checkpoint-sweeps 1 --resume"
			p := startProgram(t, dir, 2, args, deviceVariable+"="+lost)
			begin := time.Now()
			code := p.wait(t)
			says := map[bool]string{true: ": not enough device memory", false: ": the device is lost"}
			failure{code: exitFailure, line: oneRank(2, int(lost[0]-'0')) + ".*" +
				says[strings.HasSuffix(lost, "memory")]}.judge(t, p, code, begin)
			again := startProgram(t, dir, 2, args, none)
			if code := again.wait(t); code != exitDone {
				t.Fatalf("exit code %d:\n%s", code, again.stderr.String())
			}
			if strings.Contains(again.stderr.String(), "going on from the checkpoint") {
				resumed++ // otherwise it was lost before the first one
			}
			want := contents(t, filepath.Join(dir, "whole"))
			delete(want, "info.json")
			same(t, filepath.Join(dir, "x"), want)
		})
	}
	if resumed == 0 {
		t.Error("no run goes on from a checkpoint")
	}
}

// oneRank is what a line about one rank begins with.
func oneRank(ranks, rank int) string {
	if ranks == 1 {
		return "^jmpi: "
	}
	return fmt.Sprintf("^jmpi: rank %d on %s: ", rank, regexp.QuoteMeta(host()))
}

// failure is how a run must end that something has happened to.
type failure struct {
	code  int
	line  string        // a pattern: the only line of jmpi
	ended bool          // but ranks that mpirun ends by SIGTERM may have the time to say so
	limit time.Duration // 0: 10 s
	left  string        // names that are left besides the inputs
}

// judge compares the end of a run, to which something happened at a moment, with what it must be.
func (f failure) judge(t *testing.T, p *program, code int, since time.Time) {
	t.Helper()
	limit := f.limit
	if limit == 0 {
		limit = 10 * time.Second
	}
	for len(p.processes(t)) > 0 && time.Since(since) < limit {
		time.Sleep(10 * time.Millisecond)
	}
	took := time.Since(since)
	stderr := p.stderr.String()
	lines := regexp.MustCompile(`(?m)^jmpi: .*$`).FindAllString(stderr, -1)
	if f.ended {
		lines = slices.DeleteFunc(lines, func(line string) bool {
			return strings.Contains(line, ": stopped by signal 15 ")
		})
	}
	if code != f.code || len(lines) != 1 || !regexp.MustCompile(f.line).MatchString(lines[0]) {
		t.Errorf("exit code %d, lines %q; want %d, %q\n%s", code, lines, f.code, f.line, stderr)
	}
	if took > limit || len(p.processes(t)) > 0 {
		t.Errorf("ends after %v, processes %v", took, p.processes(t))
	}
	var left []string
	for _, pattern := range []string{".*", "x*"} {
		names, _ := filepath.Glob(filepath.Join(p.dir, pattern))
		for _, name := range names {
			left = append(left, filepath.Base(name))
		}
	}
	if strings.Join(left, " ") != f.left {
		t.Errorf("leaves %q, want %q", left, f.left)
	}
	t.Logf("exit code %d, %.1f s: %s", code, took.Seconds(), strings.Join(lines, " "))
}
