package results

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jmpi/internal/matio"
)

// The variables hold, in a process that is to be killed, the step at which that happens, and where it
// publishes.
const (
	killVariable    = "JMPI_TEST_KILL"
	targetVariable  = "JMPI_TEST_TARGET"
	renamesVariable = "JMPI_TEST_RENAMES" // not empty: names cannot be exchanged
)

func TestMain(m *testing.M) {
	dir := os.Getenv(targetVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, publishUntilKilled(dir, os.Getenv(killVariable)))
	os.Exit(1)
}

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
			run := exec.Command(os.Args[0])
			run.Env = append(os.Environ(), killVariable+"="+c.step, targetVariable+"="+root+"/out")
			if !c.swap {
				run.Env = append(run.Env, renamesVariable+"=1")
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

// publishUntilKilled is the process that TestKilled kills.
func publishUntilKilled(dir, step string) error {
	f, err := NewFolder(Target{Dir: dir, Force: true}, Tag())
	if err != nil {
		return err
	}
	if os.Getenv(renamesVariable) != "" {
		f.exchange = noExchange
	}
	f.Step = func(name string) {
		if name == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if err := f.Create(); err != nil {
		return err
	}
	if err := matio.WriteVector(f.Path("S.npy"), []float64{1}); err != nil {
		return err
	}
	if err := written.Write(f.Path(infoName)); err != nil {
		return err
	}
	return fmt.Errorf("published without the step %q: %w", step, f.Publish())
}
