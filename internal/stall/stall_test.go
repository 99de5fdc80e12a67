package stall

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// entering is the line of runtime/proc.go by which a thread marks itself as being in a call. wider is what
// the test puts before it: a pause, on the thread of testdata/stall that waits in C.
const (
	entering = "\tif gp.bubble != nil || !gp.atomicstatus.CompareAndSwap(_Grunning, _Gsyscall) {\n"
	wider    = "\tif gp.lockedm != 0 {\n\t\tusleep(200)\n\t}\n"
)

// stalled is longer than a collection takes on a busy machine, and shorter than a stall.
const stalled = 10 * time.Second

// TestPrevent makes the moment in which a thread is missed last 200 µs instead of some 20 ns. Then a program
// stalls at once, unless stalls are prevented.
func TestPrevent(t *testing.T) {
	program := buildWider(t)
	ok := true
	for try := 0; ok && try < 3; try++ {
		_, ok = longest(t, program)
	}
	if ok {
		t.Skipf("%s does not stall any more: is this package still needed?", runtime.Version())
	}
	if d, ok := longest(t, program, "prevent"); !ok {
		t.Errorf("with Prevent the program stalls all the same")
	} else {
		t.Logf("with Prevent the longest collection takes %v", d)
	}
}

// longest runs the program. It returns the longest collection; ok is false if it stalls.
func longest(t *testing.T, program string, args ...string) (d time.Duration, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stalled)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return 0, false
	}
	if err != nil {
		t.Fatal(err)
	}
	if d, err = time.ParseDuration(strings.TrimSpace(string(out))); err != nil {
		t.Fatal(err)
	}
	return d, true
}

// buildWider builds testdata/stall with this Go, whose run-time system is changed by entering and wider.
func buildWider(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no go in PATH: %v", err)
	}
	dir := t.TempDir()
	// Go builds with no changed file that lies in its cache of modules, where a downloaded Go lies.
	link := filepath.Join(dir, "go")
	if err := os.Symlink(strings.TrimSpace(string(root)), link); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(link, "src/runtime/proc.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Skipf("this Go comes without its source: %v", err)
	}
	if strings.Count(string(text), entering) != 1 {
		t.Skipf("%s enters C in another way: is this package still needed?", runtime.Version())
	}
	changed := filepath.Join(dir, "proc.go")
	slower := strings.Replace(string(text), entering, wider+entering, 1)
	if err := os.WriteFile(changed, []byte(slower), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "stall")
	build := exec.Command(filepath.Join(link, "bin/go"),
		"build", "-overlay", list, "-o", program, "./testdata/stall")
	build.Env = append(os.Environ(), "GOROOT="+link, "GOTOOLCHAIN=local")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
