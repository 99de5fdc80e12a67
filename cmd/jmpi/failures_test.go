package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"jmpi/internal/matio"
)

// A rank that is killed ends the job. mpirun names the rank and its host. Nothing is left.
func TestKilledRank(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 1500, 1500).write(t, filepath.Join(dir, "a.npy"))
	p := startProgram(t, dir, 3, "svd a.npy -o x")
	p.await(t, phase{begins: " sweep "})
	begin := time.Now()
	if err := syscall.Kill(p.processes(t)[2], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	code := p.wait(t)
	// mpirun ends the others by SIGTERM.
	line := oneRank(3, 0)
	failure{code: killedRank(p), line: strings.Replace(line, "rank 0", `rank \d`, 1) +
		"stopped by signal 15 .*nothing was written$"}.judge(t, p, code, begin)
	if !strings.Contains(p.stderr.String(), host()) {
		t.Errorf("no line names the host:\n%s", p.stderr.String())
	}
	named := regexp.MustCompile(`process rank 2 .*on node ` + regexp.QuoteMeta(host()) + ` exited on signal 9`)
	if code == 137 && !named.MatchString(p.stderr.String()) {
		t.Errorf("mpirun does not name the rank:\n%s", p.stderr.String())
	}
}

// killedRank is what mpirun exits with when a rank was killed: Open MPI's or MPICH's.
func killedRank(p *program) int {
	if strings.Contains(p.stderr.String(), "BAD TERMINATION") {
		return 9
	}
	return 137
}

// A rank that is stopped is silent, and the one line names it and its host.
func TestStoppedRank(t *testing.T) {
	for _, at := range []phase{{name: "read", begins: " start "}, {name: "sweeps", begins: " sweep "}} {
		t.Run(at.name, func(t *testing.T) {
			const silence = 4
			dir := t.TempDir()
			gauss(t, 1500, 1500).write(t, filepath.Join(dir, "a.npy"))
			p := startProgram(t, dir, 3, fmt.Sprintf("svd a.npy -o x --silence %d", silence))
			p.await(t, at)
			begin := time.Now()
			if err := syscall.Kill(p.processes(t)[1], syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			code := p.wait(t)
			line := fmt.Sprintf("^jmpi: rank 1 on host %s has been silent for %d s: ", regexp.QuoteMeta(host()),
				silence)
			failure{code: exitFailure, limit: (silence + 10) * time.Second, line: line,
				ended: true}.judge(t, p, code, begin)
		})
	}
}

// A disk that is too small is told before anything is computed; one that others fill meanwhile costs no
// vector, whose space is taken at the start.
func TestFullDisk(t *testing.T) {
	root := t.TempDir()
	err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=40m")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a small file system: what happens on a full disk is not tested")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	a := gauss(t, 1000, 1000)
	for _, test := range []struct {
		name string
		free int // MiB before the run
		fill bool
		failure
	}{
		{"before", 10, false, failure{code: exitInput, line: oneRank(2, 0) +
			"the results need 16008384 bytes in .*, where .* are free: no space left on device; make room"}},
		{"meanwhile", 20, true, failure{code: exitFailure, left: "x.1", line: oneRank(2, 0) +
			".*no space left on device; the other results are complete, in .*/x.1$"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a.write(t, filepath.Join(root, "a.npy"))
			fill(t, filepath.Join(root, "filler"), test.free<<20)
			p := startProgram(t, root, 2, "svd a.npy -o x")
			begin := time.Now()
			if test.fill {
				p.await(t, phase{begins: " prepared "})
				fill(t, filepath.Join(root, "more"), 0)
			}
			code := p.waitFor(t, time.Minute)
			if test.fill {
				begin = time.Now() // the run goes on until it writes
			}
			test.judge(t, p, code, begin)
			if test.fill {
				for _, name := range []string{"S.npy", "U.npy", "V.npy"} {
					if f, err := matio.OpenVector(filepath.Join(root, "x.1", name)); err != nil {
						t.Error(err)
					} else {
						f.Close()
					}
				}
			}
			for _, name := range []string{"filler", "more", "x.1"} {
				if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// fill makes a file that leaves so many bytes on the disk.
func fill(t *testing.T, path string, leave int) {
	t.Helper()
	var s syscall.Statfs_t
	err := syscall.Statfs(filepath.Dir(path), &s)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if size := int64(s.Bavail)*s.Bsize - int64(leave); size > 0 {
		err = syscall.Fallocate(int(file.Fd()), 0, 0, size)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// A file that one rank cannot read, where each has its own: the line names the rank and its host.
func TestUnreadableOnOneRank(t *testing.T) {
	a := gauss(t, 200, 150)
	for _, test := range []struct {
		name  string
		spoil func(path string) error
		says  string
	}{
		{"missing", os.Remove, "a.npy: there is no such file"},
		{"cut", func(path string) error { return os.Truncate(path, 5000) },
			"a.npy: expected 240128 bytes, found 5000"},
		{"a folder", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o777)) },
			"a.npy: a folder"},
		{"not allowed", func(path string) error { return os.Chmod(path, 0) }, "a.npy: permission denied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "not allowed" && os.Geteuid() == 0 {
				t.Skip("root may read any file: a file that may not be read is tested by other users alone")
			}
			dir := t.TempDir()
			args := ""
			for rank := range 3 {
				own := filepath.Join(dir, fmt.Sprint(rank))
				if err := os.Mkdir(own, 0o777); err != nil {
					t.Fatal(err)
				}
				a.write(t, filepath.Join(own, "a.npy"))
				args += fmt.Sprintf(" : -np 1 -wdir %s %s svd a.npy -o %s/x", own, os.Args[0], dir)
			}
			if err := test.spoil(filepath.Join(dir, "1", "a.npy")); err != nil {
				t.Fatal(err)
			}
			p := startWords(t, dir, 3, append([]string{"mpirun"}, strings.Fields(args)[1:]...))
			begin := time.Now()
			code := p.wait(t)
			failure{code: exitInput, line: oneRank(3, 1) + regexp.QuoteMeta(test.says)}.judge(t, p, code, begin)
		})
	}
}

// A rank whose address space is limited, when MPI has started, refuses what does not fit, or has the right
// results: no allocation fails on the way.
func TestLittleMemory(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "a.npy")
	gauss(t, 900, 700).write(t, input)
	refused := 0
	for i, mib := range []uint64{16, 128, 8192} {
		for _, ranks := range []int{1, 2} {
			out := filepath.Join(dir, fmt.Sprintf("%d-%d.svd", i, ranks))
			o := svdRuns{Memory: mib << 20, Runs: []svdRun{{input, out, "both"}}}.on(t, ranks)[0]
			if o.code == exitDone {
				o.right(t)
				continue
			}
			refused++
			o.refused(t, exitFailure, "ulimit -v", "GiB")
			t.Logf("%d MiB on %d ranks: %s", mib, ranks, o.stderr)
		}
	}
	if refused < 2 || refused == 6 {
		t.Errorf("%d of 6 runs are refused", refused)
	}
}
