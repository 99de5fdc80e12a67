package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// keepAll are the flags of a run that keeps all states and goes on from the last one.
const keepAll = "--checkpoint ck --checkpoint-sweeps 1 --resume"

// finishProgram runs the program to its end, and returns its exit code.
func finishProgram(t *testing.T, dir string, ranks int, args string) (int, string) {
	t.Helper()
	p := startProgram(t, dir, ranks, args)
	limit := time.AfterFunc(2*time.Minute, func() { p.kill(t) })
	defer limit.Stop()
	_ = p.command.Wait()
	return p.command.ProcessState.ExitCode(), p.stderr.String()
}

// mustFinish is finishProgram for a run that has to succeed.
func mustFinish(t *testing.T, dir string, ranks int, args string) string {
	t.Helper()
	code, text := finishProgram(t, dir, ranks, args)
	if code != exitDone {
		t.Fatalf("%s on %d ranks: exit code %d\n%s", args, ranks, code, text)
	}
	return text
}

// sameResults compares S, U and V in two folders, bit for bit.
func sameResults(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range []string{"S.npy", "U.npy", "V.npy"} {
		x, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(x) != string(y) {
			t.Errorf("%s has other bits", name)
		}
	}
}

// saysOneLine expects one line of jmpi that matches.
func saysOneLine(t *testing.T, stderr, want string) {
	t.Helper()
	lines := regexp.MustCompile(`(?m)^jmpi: .*$`).FindAllString(stderr, -1)
	if len(lines) != 1 || !regexp.MustCompile(want).MatchString(lines[0]) {
		t.Errorf("prints %q, expected one line %q", lines, want)
	}
}

// inName makes a part of a name of flags.
func inName(flags string) string { return strings.NewReplacer(" --", "-", " ", "-").Replace(flags) }

const goesOn = `the checkpoint in ck is complete: the same command goes on from it with --resume$`

// A signal stops a run with a checkpoint in every phase, with exit code 75. On any number of ranks it goes
// on, with the bits of a run that was not stopped.
func TestStopAndResume(t *testing.T) {
	inputs := t.TempDir()
	gauss(t, 900, 900).write(t, filepath.Join(inputs, "a.npy"))
	mustFinish(t, inputs, 2, "svd a.npy -o want")
	const precondition = " --precondition qrcp-lq"
	for _, flags := range []string{precondition, low} {
		mustFinish(t, inputs, 1, "svd a.npy -o want"+inName(flags)+flags)
	}
	for _, c := range []struct {
		name, flags string
		begins      string
		after       time.Duration
		ranks       int
		signal      syscall.Signal
		to          receiver
		want        string
	}{
		{"read", "", " start ", 0, 4, syscall.SIGUSR1, launcher, "after (preparing|sweep 1); "},
		{"prepare", precondition, " read ", 20 * time.Millisecond, 2, syscall.SIGTERM, allRanks,
			"after (preparing|sweep 1); "},
		{"sweeps", "", " sweep=2 ", 0, 4, syscall.SIGUSR1, launcher, "after sweep [0-9]+; "},
		{"sweeps of one rank", "", " sweep=2 ", 0, 4, syscall.SIGTERM, rankTwo, "after sweep [0-9]+; "},
		{"sweeps alone", precondition, " sweep=2 ", 0, 1, syscall.SIGTERM, allRanks, "after sweep [0-9]+; "},
		{"refinement", low, " refine ", 0, 2, syscall.SIGUSR1, allRanks,
			"after (correction [0-9]+ of V|the product X·V|pass [0-9]+ of the refinement|forming the vectors); "},
		{"vectors", precondition, " proper=0 ", 0, 2, syscall.SIGUSR1, allRanks, "(after forming the vectors; )?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			linkAll(t, inputs, dir)
			want := filepath.Join(inputs, "want"+inName(c.flags))
			args := "svd a.npy -o x " + keepAll + c.flags
			p := startProgram(t, dir, c.ranks, args)
			p.await(t, phase{begins: c.begins, after: c.after})
			p.send(t, stopping{ranks: c.ranks, signal: c.signal, to: c.to})
			code := p.wait(t)
			if code != exitStopped {
				t.Fatalf("exit code %d\n%s", code, p.stderr.String())
			}
			saysOneLine(t, p.stderr.String(), `stopped by signal \d+ \([a-z0-9 ]+\)[,;] `+c.want+goesOn)
			if left, _ := filepath.Glob(filepath.Join(dir, ".x*")); len(left) > 0 {
				t.Errorf("leaves %v", left)
			}
			text := mustFinish(t, dir, 3-min(c.ranks, 2), args)
			if strings.Contains(text, " sweep=1 ") && c.name != "read" && c.name != "prepare" {
				t.Errorf("begins anew:\n%s", text)
			}
			sameResults(t, filepath.Join(dir, "x"), want)
			// With the results there is nothing to do, without them only the vectors. The last state of the Jacobi
			// method, which has these of an input that is not factored, may have been given up.
			if text := mustFinish(t, dir, 2, args); !strings.Contains(text, "the results are there already") {
				t.Errorf("a finished run:\n%s", text)
			}
			if err := os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "before")); err != nil {
				t.Fatal(err)
			}
			first := " sweep="
			if c.flags == "" {
				first = " sweep=1 "
			}
			if text := mustFinish(t, dir, 1, args); strings.Contains(text, first) {
				t.Errorf("sweeps of a finished run:\n%s", text)
			}
			sameResults(t, filepath.Join(dir, "x"), want)
		})
	}
}

// A second signal ends the run at once. The last checkpoint stays.
func TestSecondSignal(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 900, 900).write(t, filepath.Join(dir, "a.npy"))
	mustFinish(t, dir, 2, "svd a.npy -o want")
	p := startProgram(t, dir, 1, "svd a.npy -o x "+keepAll)
	p.await(t, phase{begins: " sweep=4 "})
	s := stopping{ranks: 1, to: allRanks}
	for _, s.signal = range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM} {
		p.send(t, s)
		time.Sleep(20 * time.Millisecond)
	}
	if code := p.wait(t); code != exitStopped {
		t.Errorf("exit code %d", code)
	}
	saysOneLine(t, p.stderr.String(), `^jmpi: stopped by signal \d+ \([a-z0-9 ]+\)[,;] .*`+goesOn)
	if text := mustFinish(t, dir, 2, "svd a.npy -o x "+keepAll); !strings.Contains(text, "going on from the") {
		t.Errorf("begins anew:\n%s", text)
	}
	sameResults(t, filepath.Join(dir, "x"), filepath.Join(dir, "want"))
}

// A signal that asks for no checkpoint ends a run with one, and says that it may go on. Each run begins anew,
// so that it has work left when the signal comes. Under nohup a run is not to end when its terminal does.
func TestOtherSignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR2} {
		if signal.Ignored(s) {
			t.Logf("%v is ignored here, and so it is by the runs", s)
			continue
		}
		dir := t.TempDir()
		gauss(t, 1600, 1600).write(t, filepath.Join(dir, "a.npy"))
		p := startProgram(t, dir, 1, "svd a.npy -o x "+keepAll)
		p.await(t, phase{begins: " sweep=3 "})
		p.send(t, stopping{ranks: 1, to: allRanks, signal: s})
		if code := p.wait(t); code != exitFailure {
			t.Errorf("%v: exit code %d", s, code)
		}
		saysOneLine(t, p.stderr.String(), `^jmpi: stopped by signal \d+ \([a-z0-9 ]+\); `+goesOn)
	}
}

// A request that comes when the results are in their place stops a check, which the next run does. Where
// nothing is left to do it stops nothing.
func TestStopWithResults(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 1600, 1600).write(t, filepath.Join(dir, "a.npy"))
	p := startProgram(t, dir, 1, "svd a.npy -o x --check "+keepAll)
	p.await(t, phase{begins: " done "})
	p.send(t, stopping{ranks: 1, to: allRanks, signal: syscall.SIGTERM})
	if code := p.wait(t); code != exitStopped {
		t.Errorf("exit code %d", code)
	}
	saysOneLine(t, p.stderr.String(), `; the results in x are complete: the same command with --resume does`)
	mustFinish(t, dir, 1, "svd a.npy -o x --check "+keepAll)

	for _, s := range []os.Signal{nil, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGINT} {
		r := requests{dir: "ck", idle: true}
		if r.take(s) {
			t.Errorf("%v stops no run that writes its results", s)
		}
		r.end()
		if got := r.take(s); got != gentle(s) {
			t.Errorf("%v, with results: %v", s, got)
		}
		if r.take(syscall.SIGUSR2) {
			t.Errorf("SIGUSR2 after %v does not end the run", s)
		}
	}
}

// The time limit stops a run in time, and it comes to an end by going on.
func TestTimeLimit(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 2200, 2200).write(t, filepath.Join(dir, "a.npy")) // five times what the runs have time for
	mustFinish(t, dir, 1, "svd a.npy -o want")
	for range 2 {
		begin := time.Now()
		code, text := finishProgram(t, dir, 1, "svd a.npy -o x --time-limit 0:03 "+keepAll)
		if took := time.Since(begin); took > 8*time.Second {
			t.Errorf("took %v", took)
		}
		if code != exitStopped {
			t.Fatalf("exit code %d\n%s", code, text)
		}
		saysOneLine(t, text, `^jmpi: stopped by the time limit[,;] .*`+goesOn)
	}
	mustFinish(t, dir, 2, "svd a.npy -o x "+keepAll)
	sameResults(t, filepath.Join(dir, "x"), filepath.Join(dir, "want"))
}

// Runs that have time for one step each come to the end, however short the steps are.
func TestWindows(t *testing.T) {
	inputs := t.TempDir()
	gauss(t, 900, 900).write(t, filepath.Join(inputs, "a.npy"))
	for _, flags := range []string{"", " --precondition qrcp-lq", low} {
		t.Run("svd"+flags, func(t *testing.T) {
			dir := t.TempDir()
			linkAll(t, inputs, dir)
			text := mustFinish(t, dir, 1, "svd a.npy -o want"+flags)
			steps := 4 + strings.Count(text, " sweep=") + 3*strings.Count(text, " refine ")
			// The end may take 2 s, before which no step begins. So each run has half a second.
			args := "svd a.npy -o x --time-limit 2.5s --checkpoint ck --resume" + flags
			windows := 1
			for code := exitStopped; code != exitDone; windows++ {
				if code, text = finishProgram(t, dir, 1, args); code != exitDone && code != exitStopped {
					t.Fatalf("exit code %d\n%s", code, text)
				}
				if windows > steps {
					t.Fatalf("%d windows, and it is not done\n%s", windows, text)
				}
			}
			sameResults(t, filepath.Join(dir, "x"), filepath.Join(dir, "want"))
			t.Logf("%d windows", windows-1)
		})
	}
}

// What cannot be is refused, with the reason, and what can be done.
func TestCheckpointRefusals(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 60, 50).write(t, filepath.Join(dir, "a.npy"))
	gauss(t, 60, 51).write(t, filepath.Join(dir, "b.npy"))
	mustFinish(t, dir, 2, "svd a.npy -o x "+keepAll)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"svd a.npy -o y --checkpoint ck", exitInput, "ck holds a checkpoint: --resume goes on from it"},
		{"svd b.npy -o y --checkpoint ck --resume", exitInput, "of another matrix: its shape is 60×50, not 60×51"},
		{"svd a.npy -o y --checkpoint ck --resume --vectors u", exitInput, "--vectors was both, and is u"},
		{"svd a.npy -o y --checkpoint ck --resume --precondition qr", exitInput,
			"--precondition was auto, and is qr"},
		{"svd a.npy -o y --checkpoint ck --resume --signature 3", exitInput, "its signature is"},
		{"svd a.npy -o y --checkpoint a.npy", exitInput, "not a directory"},
		{"svd a.npy -o y --checkpoint no/ck", exitInput, "no such file or directory"},
		{"svd a.npy -o y --resume", exitUsage, "need --checkpoint DIR"},
		{"svd a.npy -o y --time-limit 5", exitUsage, "need --checkpoint DIR"},
		{"svd a.npy -o y --checkpoint c --time-limit 5x", exitUsage, "--time-limit 5x: must be whole minutes"},
		{"svd a.npy -o y --checkpoint c --checkpoint-every -1", exitUsage, "must be at least 0"},
		{"svd a.npy -o y --checkpoint c --checkpoint-sweeps -1", exitUsage, "must be at least 1"},
	} {
		code, text := finishProgram(t, dir, 1, c.args)
		if code != c.code {
			t.Errorf("%s: exit code %d", c.args, code)
		}
		saysOneLine(t, text, regexp.QuoteMeta(c.want))
	}
	if _, err := os.Stat(filepath.Join(dir, "y")); err == nil {
		t.Error("there are results")
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Minute, "90:30": 90*time.Minute + 30*time.Second, "2h30m": 150 * time.Minute,
		"1:02:03": time.Hour + 2*time.Minute + 3*time.Second, "2-03": 51 * time.Hour,
		"2-03:04":    51*time.Hour + 4*time.Minute,
		"2-03:04:05": 51*time.Hour + 4*time.Minute + 5*time.Second, "0": 0,
	} {
		if got, ok := parseLimit(text); !ok || got != want {
			t.Errorf("%s: %v %t, expected %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-", "a", "1:2:3:4", "1-2:3:4:5", "1.5", "-3", "1-", "99999999999999"} {
		if got, ok := parseLimit(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// remove deletes a folder.
func remove(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(fmt.Errorf("delete: %w", err))
	}
}
