package results

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The variables hold, in a process that is to be killed, the step at which that happens, and where it
// publishes.
const (
	killVariable   = "JMPI_TEST_KILL"
	targetVariable = "JMPI_TEST_TARGET"
)

// TestKilled kills a run before each step of a publication that replaces results. Beside the last step of two
// renames, whose file system has no exchange, the target is there and whole; and the next run clears up.
func TestKilled(t *testing.T) {
	const before, after = "S.npy U.npy info.json", "S.npy info.json"
	for _, c := range []struct {
		step string
		swap bool
		want string
	}{
		{"rename", true, before},
		{"exchange", true, before},
		{"sync the names", true, after},
		{"delete", true, after},
		{"rename", false, before},
		{"exchange", false, before},
		{"move the old folder", false, before},
		{"move the new folder", false, ""},
		{"sync the names", false, after},
		{"delete", false, after},
	} {
		t.Run(fmt.Sprintf("%s, exchange %v", c.step, c.swap), func(t *testing.T) {
			root := t.TempDir()
			fill(t, root, "out/S.npy", "out/U.npy", "out/info.json")
			run := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
			run.Env = append(os.Environ(), killVariable+"="+c.step, targetVariable+"="+root+"/out")
			if !c.swap {
				run.Env = append(run.Env, "JMPI_TEST_RENAMES=1")
			}
			out, err := run.CombinedOutput()
			if status, ok := run.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
				t.Fatalf("not killed: %v\n%s", err, out)
			}
			if c.want == "" {
				if _, err := os.Stat(root + "/out"); !os.IsNotExist(err) {
					t.Fatalf("out is there between the two renames, %v", err)
				}
			} else if got := tree(t, root+"/out"); got != c.want {
				t.Fatalf("%q in out, expected %q", got, c.want)
			}
			if hidden, _ := filepath.Glob(root + "/.out.*"); len(hidden) == 0 {
				t.Error("nothing is left, so the test shows nothing")
			}
			r, err := Target{Dir: root + "/out"}.Recover()
			if err != nil || len(r.Left) > 0 || r.Restored != (c.want == "") {
				t.Errorf("%+v, error %v", r, err)
			}
			want := c.want
			if want == "" {
				want = before
			}
			if got := tree(t, root); got != "out/"+strings.ReplaceAll(want, " ", " out/") {
				t.Errorf("%q after the next run, expected %q", got, want)
			}
		})
	}
}

// TestKilledProcess is the process that TestKilled kills.
func TestKilledProcess(t *testing.T) {
	step, dir := os.Getenv(killVariable), os.Getenv(targetVariable)
	if dir == "" {
		t.Skip("it is started by TestKilled")
	}
	f := finished(t, dir, true)
	if os.Getenv("JMPI_TEST_RENAMES") != "" {
		f.exchange = noExchange
	}
	f.Step = func(name string) {
		if name == step {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			select {}
		}
	}
	t.Errorf("published without the step %q: %v", step, f.Publish())
}
