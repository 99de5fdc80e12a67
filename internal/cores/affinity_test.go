package cores

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// asRank names the variable that makes this test binary plan, apply and print instead of testing.
const asRank = "JMPI_TEST_CORES"

func TestMain(m *testing.M) {
	if os.Getenv(asRank) != "" {
		os.Exit(printPlan())
	}
	os.Exit(m.Run())
}

// printPlan prints one line: threads, cores in the mask of every thread after Apply, note, hint.
func printPlan() int {
	c, err := Plan(Available(), 0)
	if err == nil {
		err = c.Apply()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	now, _ := mask(0)
	fmt.Printf("threads %d cpus %d gomaxprocs %d note %q hint %v\n", c.Threads, len(now), runtime.GOMAXPROCS(0),
		c.Note, c.Hint != "")
	return 0
}

// mpirun runs this test binary as ranks and returns the lines that they print.
func mpirun(t *testing.T, options ...string) []string {
	t.Helper()
	path, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is not installed")
	}
	if version, _ := exec.Command(path, "--version").Output(); !strings.Contains(string(version),
		"(Open MPI) 4") {
		t.Skipf("mpirun is not Open MPI 4: %s", version)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	run := exec.CommandContext(ctx, path, append(options, os.Args[0])...)
	run.Env = append(os.Environ(), asRank+"=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	run.WaitDelay = time.Second
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("mpirun %v: %v\n%s", options, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// A rank alone, which Open MPI binds to one core, takes all cores; one that was bound at the user's
// wish stays and gets the hint.
func TestOpenMPI(t *testing.T) {
	i := Available()
	cores, cpus := len(i.Mask), len(CPUs(i.Mask))
	if cores < 2 || cores != len(i.Allowed) || i.Quota > 0 || i.Slurm > 0 {
		t.Skipf("needs two cores without limits, have %d of %d", cores, len(i.Allowed))
	}
	perCore := len(i.Mask[0])
	maxprocs := func(n int) int { return n }
	if s := os.Getenv("GOMAXPROCS"); s != "" {
		maxprocs = func(int) int { n, _ := strconv.Atoi(s); return n }
	}
	tests := []struct {
		options []string
		want    string
	}{
		{[]string{"-np", "1"}, fmt.Sprintf("threads %d cpus %d gomaxprocs %d note \"widened from 1 "+
			"core to %d cores\" hint false", cores, cpus, maxprocs(cpus), cores)},
		{[]string{"--bind-to", "none", "-np", "1"},
			fmt.Sprintf("threads %d cpus %d gomaxprocs %d note \"\" hint false", cores, cpus, maxprocs(cpus))},
		{[]string{"--bind-to", "core", "-np", "1"},
			fmt.Sprintf("threads 1 cpus %d gomaxprocs %d note \"\" hint true", perCore, maxprocs(perCore))},
	}
	for _, test := range tests {
		if diff := cmp.Diff([]string{test.want}, mpirun(t, test.options...)); diff != "" {
			t.Errorf("mpirun %v (-want +got)\n%s", test.options, diff)
		}
	}
}

func TestApplyReachesEveryThread(t *testing.T) {
	before, err := mask(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(before) < 2 {
		t.Skip("needs two CPUs")
	}
	defer func() {
		if err := (Choice{CPUs: before}).Apply(); err != nil {
			t.Error(err)
		}
	}()
	want := before[:1]
	if err := (Choice{CPUs: want}).Apply(); err != nil {
		t.Fatal(err)
	}
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("threads of this process: %v, %v", tasks, err)
	}
	for _, task := range tasks {
		id, _ := strconv.Atoi(filepath.Base(task))
		got, err := mask(id)
		if err == nil && !cmp.Equal(got, want) { // an error: the thread has ended
			t.Errorf("thread %d may run on %v, want %v", id, got, want)
		}
	}
}

func TestWidestKeepsTheMask(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := mask(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := setMask(0, before[:1]); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := setMask(0, before); err != nil {
			t.Error(err)
		}
	}()
	granted, err := widest(before)
	if diff := cmp.Diff(before, granted); err != nil || diff != "" {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
	after, err := mask(0)
	if diff := cmp.Diff(before[:1], after); err != nil || diff != "" {
		t.Errorf("the mask changed: error %v (-want +got)\n%s", err, diff)
	}
}
