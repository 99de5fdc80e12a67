package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"jmpi/dist/jacobi"
	"jmpi/internal/report"
	"jmpi/internal/results"
)

// watched is a watcher of a folder, and what it prints.
func watched(dir string) (*watcher, *lockedBuffer) {
	var out lockedBuffer
	return &watcher{dir: dir, out: &out, now: time.Now, every: time.Millisecond}, &out
}

// running is a run into a folder that tells how far it is.
func running(t *testing.T, dir string) (*results.Folder, *progress) {
	t.Helper()
	f, err := results.NewFolder(results.Target{Dir: dir, Force: true}, results.Tag())
	if err == nil {
		err = f.Create()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Discard() })
	p, _ := recorded(time.Hour)
	p.tellBy(job{Start: "2026-11-29T12:00:00Z", Host: "node1", PID: 77, Ranks: 4, Hosts: 2, Devices: 8}, f.Tell)
	return f, p
}

// now makes the run tell what it is doing.
func (p *progress) now(f func()) {
	f()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told.at = time.Time{}
	p.tell(time.Now())
}

// await waits until a buffer has what the pattern says.
func (l *lockedBuffer) await(t *testing.T, pattern string) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !regexp.MustCompile(pattern).MatchString(l.String()); {
		if time.Now().After(limit) {
			t.Fatalf("no %q in %q", pattern, l.String())
		}
		time.Sleep(time.Millisecond)
	}
}

// watch shows each phase and sweep, and ends with the run: with 0, or 4 if that has not converged.
func TestWatch(t *testing.T) {
	for _, converged := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "a.svd")
		f, p := running(t, dir)
		w, out := watched(dir)
		ended := make(chan error, 1)
		go func() { ended <- w.watch() }()
		out.await(t, `(?m)^[\d:]{8} starting; 4 ranks on 2 hosts; process 77 on node1; last sign of life .* s ago$`)
		p.now(func() { p.read(100, 1); p.loaded = 25 })
		out.await(t, `(?m) reading: 25 %; `)
		p.now(func() { p.step(jacobi.Progress{Sweep: 1, Step: 3, Steps: 8}) })
		out.await(t, `(?m) sweep 1 of about 10, step 3 of 8; ends about ... [\d:]{8}; 4 ranks`)
		p.now(func() {
			p.sweep(jacobi.SweepInfo{Sweep: 1, Rotations: 90, Proper: 40, Active: 0.75, Cosine: 0.98765,
				Seconds: 100})
		})
		out.await(t, `(?m) sweep 2 of about 3; sweep 1 took 1m40s: 90 rotations, 40 proper, 75 % active, `+
			`cosines up to 0\.99; ends `)
		p.now(func() { p.sweep(jacobi.SweepInfo{Sweep: 2, Rotations: 5, Seconds: 1}) })
		out.await(t, `(?m) vectors; sweep 2 took 1 s: 5 rotations, 0 proper, 0 % active; 4 ranks`)
		info := report.Info{Start: "2026-11-29T12:00:00Z", Sweeps: 2, WallSeconds: 12, Converged: converged,
			Convention: report.Convention, Versions: map[string]string{"jmpi": "0.1.0"}}
		if err := errors.Join(info.Write(f.Path("info.json")), f.Publish()); err != nil {
			t.Fatal(err)
		}
		err := <-ended
		want, text := exitDone, out.String()
		if !converged {
			if want = exitNotConverged; err != nil {
				text = err.Error()
			}
		}
		if exitCode(err) != want || !strings.Contains(text, "the run has ended; "+dir+" has the results of a run "+
			"started 2026-11-29T12:00:00Z, which took 12s: ") || !strings.Contains(text, "converged in 2 sweeps") {
			t.Errorf("error %v, printed %q", err, text)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s holds %v, error %v", dir, entries, err)
		}
		if n := strings.Count(out.String(), "\n"); n > 8 {
			t.Errorf("%d lines: %s", n, out.String())
		}
	}
}

// A run that ends without results, one that was killed, and none at all, have codes and words of their own.
// Results of an earlier run are not taken for those of the run.
func TestWatchFailures(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a.svd")
	judge := func(err error, code int, want string) {
		t.Helper()
		if err == nil || exitCode(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v with code %d, want %d, %q", err, exitCode(err), code, want)
		}
	}
	w, _ := watched(dir)
	judge(w.watch(), exitInput, "no run into this folder is at work, and there are no results")

	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	old := report.Info{Start: "2025-01-01T00:00:00Z", Converged: true}
	if err := old.Write(filepath.Join(dir, "info.json")); err != nil {
		t.Fatal(err)
	}
	w, out := watched(dir)
	if err := w.watch(); err != nil || !strings.Contains(out.String(), "no run into this folder is at work; ") {
		t.Errorf("error %v, printed %q", err, out.String())
	}

	f, p := running(t, dir)
	p.now(func() { p.step(jacobi.Progress{Sweep: 3, Step: 1, Steps: 8}) })
	w, out = watched(dir)
	ended := make(chan error, 1)
	go func() { ended <- w.watch() }()
	out.await(t, "sweep 3")
	if err := f.Discard(); err != nil {
		t.Fatal(err)
	}
	judge(<-ended, exitFailure, "has ended without results there, in the phase sweep 3 of about 10, step 1 of 8")

	f, err := results.NewFolder(results.Target{Dir: dir}, results.Tag()) // nobody has its lock
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(told{Job: job{Host: "node1", PID: 5}, Phase: writing, Written: time.Now()})
	if err := errors.Join(err, os.Mkdir(f.Path(""), 0o777), f.Tell(text)); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Minute)
	if err := os.Chtimes(f.Path("progress.json"), before, before); err != nil {
		t.Fatal(err)
	}
	w, _ = watched(dir)
	judge(w.watch(), exitFailure, "was killed, process 5 on node1, in the phase writing: ")
	if found, err := (results.Target{Dir: dir}).Recover(); err != nil || len(found.Left) > 0 {
		t.Errorf("the next run leaves %v, error %v", found.Left, err)
	}
	if left := hiddenIn(t, root); len(left) > 0 {
		t.Errorf("hidden: %v", left)
	}
}

// A real run is followed, whatever its log shows, and a run that stands still is told from one that works.
func TestWatchARun(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 700, 700).write(t, dir+"/a.npy")
	p := startProgram(t, dir, 2, "svd a.npy --quiet --threads 1 -o out")
	p.await(t, phase{file: ".out.*.tmp/progress.json"})
	pids := p.processes(t)
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	w, out := watched(dir + "/out")
	w.width = func() int { return 400 }
	w.every = 100 * time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- w.watch() }()
	// It is not taken for dead.
	out.await(t, `2 ranks on 1 host; process \d+ on .*; last sign of life [67]\.?\d* s ago`)
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	if code := p.wait(t); code != exitDone {
		t.Fatalf("exit code %d: %s", code, p.stderr.String())
	}
	if err := <-ended; err != nil || !strings.Contains(out.String(), "converged in ") {
		t.Errorf("error %v, printed %q", err, out.String())
	}
}
