package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"jmpi/internal/parallel"
)

// faultVariable makes ranks of the program panic: "RANK PACKAGE [FUNCTION]". The rank may be "every".
const faultVariable = "JMPI_TEST_FAULT"

// injectFault makes the loops and the goroutines of a package panic, or only those below or in a function.
func injectFault(fault string) {
	words := strings.Fields(fault)
	parallel.Fault = func(f any) func() {
		if words[0] != "every" && words[0] != fmt.Sprint(process.rank.Load()) {
			return nil
		}
		calls := callsOf(f)
		first := slices.IndexFunc(calls, func(name string) bool { return packageOf(name) != "internal/parallel" })
		below := len(words) < 3 ||
			slices.ContainsFunc(calls, func(name string) bool { return strings.Contains(name, words[2]) })
		if packageOf(calls[first]) != words[1] || !below {
			return nil
		}
		return func() { panic("a fault for a test") }
	}
}

// callsOf names a function, and those that are running, from the inside out.
func callsOf(f any) []string {
	calls := []string{runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()}
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		calls = append(calls, frame.Function)
	}
	return calls
}

// packageOf returns the folder of the package of a function: "internal/gen" of "jmpi/internal/gen.New.func1".
func packageOf(function string) string {
	folder := function[:strings.LastIndex(function, "/")+1]
	name, _, _ := strings.Cut(function[len(folder):], ".")
	return strings.TrimPrefix(folder+name, "jmpi/")
}

// panicking is a run in which a loop or a goroutine panics.
type panicking struct {
	site  string // PACKAGE [FUNCTION]
	args  string
	ranks []int // 1: without mpirun
	on    string
}

const (
	onLast  = "the last rank"
	onFirst = "rank 0"
	onEvery = "every rank"
)

// panickings have each package that uses internal/parallel, but kernels/cuda, which needs a GPU. svd alone
// does without MPI.
var panickings = []panicking{
	{"kernels/cpu", "svd a.npy -o x", []int{1, 4}, onLast},
	{"kernels/cpu (*run).sweepDevice", "svd a.npy -o x", []int{1, 4}, onLast},
	{"kernels/cpu (*run).sweepDevice", "svd a.npy -o x", []int{4}, onEvery},
	{"dist/matrix", "svd a.npy -o x --precondition qrcp-lq", []int{1, 4}, onLast},
	{"dist/matrix", "svd a.npy -o x --precondition qrcp-lq", []int{4}, onEvery},
	{"dist/jacobi", "svd a.npy -o x", []int{1, 4}, onLast},
	{"dist/refine", "svd clusters.npy -o x --precision float32", []int{1, 4}, onFirst},
	{"dist/exchange", "svd a.npy -o x --devices-per-rank 2", []int{1, 4}, onLast},
	{"dist/comm StartMPI", "svd a.npy -o x", []int{4}, onLast},
	{"dist/comm StartMPI", "selftest --backend cpu", []int{1}, onLast},
	{"dist/comm comm.serve", "svd a.npy -o x", []int{4}, onLast},
	{"dist/comm comm.serve", "selftest --backend cpu", []int{1}, onLast},
	{"dist/comm (*mpiThread).begin", "svd a.npy -o x", []int{4}, onLast},
	{"dist/comm (*mpiThread).begin", "selftest --backend cpu", []int{1}, onLast},
	{"dist/comm comm.startWatch", "svd a.npy -o x", []int{4}, onLast},
	{"dist/checkpoint", "svd a.npy -o x --checkpoint ck", []int{1, 4}, onLast},
	{"dist/checkpoint", "svd a.npy -o x --checkpoint ck", []int{4}, onFirst},
	{"internal/dense", "svd a.npy -o x --precondition qrcp-lq", []int{1, 4}, onLast},
	{"internal/gen", "gen geometric -o x.npy --shape 100x100", []int{1, 4}, onFirst},
	{"internal/reference", "gen geometric -o x.npy --shape 100x100 --reference", []int{1}, onFirst},
	{"internal/residual", "check c.npy c.svd", []int{1, 4}, onFirst},
	{"internal/reference", "check c.npy c.svd --reference", []int{1, 4}, onFirst},
	{"cmd/jmpi jmpi.run", "svd a.npy -o x", []int{1, 4}, onLast},
	{"cmd/jmpi (*progress).start", "svd a.npy -o x", []int{1, 4}, onFirst},
	{"cmd/jmpi (*ending).watch", "svd a.npy -o x", []int{1, 4}, onLast},
}

// A panic in any package ends all ranks with exit code 6 and one line, and nothing is written.
func TestPanics(t *testing.T) {
	inputs := t.TempDir()
	c := filepath.Join(inputs, "c.npy")
	gauss(t, 200, 200).write(t, filepath.Join(inputs, "a.npy"))
	gauss(t, 60, 60).write(t, c)
	gauss(t, 700, 700).write(t, filepath.Join(inputs, "clusters.npy")) // some singular values are close
	runOn(t, 1, []svdRun{{c, filepath.Join(inputs, "c.svd"), "both"}})[0].right(t)
	for _, p := range panickings {
		for _, ranks := range p.ranks {
			t.Run(fmt.Sprintf("%s, %d ranks, %s, %s", p.args, ranks, p.on, p.site), func(t *testing.T) {
				p.test(t, inputs, ranks)
			})
		}
	}
}

// test makes the run in a folder with links to the inputs.
func (p panicking) test(t *testing.T, inputs string, ranks int) {
	dir := t.TempDir()
	linkAll(t, inputs, dir)
	before, _ := filepath.Glob(filepath.Join(dir, "*"))
	rank := map[string]string{onLast: fmt.Sprint(ranks - 1), onFirst: "0", onEvery: "every"}[p.on]
	run := startProgram(t, dir, ranks, p.args, faultVariable+"="+rank+" "+p.site)
	code := run.wait(t)
	if code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	who := map[bool]string{true: "rank " + rank + ` on \S+: `}[ranks > 1]
	if p.on == onEvery {
		who = `rank \d on \S+: `
	}
	stderr := run.stderr.String()
	lines := regexp.MustCompile(`(?m)^jmpi: .*$`).FindAllString(stderr, -1)
	want := regexp.MustCompile("^jmpi: " + who + "internal error: a fault for a test$")
	if len(lines) != 1 || !want.MatchString(lines[0]) {
		t.Errorf("prints %q, want one line %q", lines, want)
	}
	if !strings.Contains(stderr, "jmpi.injectFault") {
		t.Error("the stack of the panic is missing")
	}
	after, _ := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	after = slices.DeleteFunc(after, func(path string) bool { return filepath.Base(path) == "ck" })
	if !slices.Equal(after, before) || len(hidden) > 0 {
		t.Errorf("leaves %q %q beside %q", after, hidden, before)
	}
	if t.Failed() {
		t.Logf("stderr:\n%s", stderr)
	}
}

// linkAll makes links in a folder to what is in another one.
func linkAll(t *testing.T, from, to string) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(from, "*"))
	for _, path := range paths {
		if err := os.Symlink(path, filepath.Join(to, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
}

// Every package whose code runs on several goroutines has a run above, and starts them by internal/parallel.
func TestPanicsHaveEveryPackage(t *testing.T) {
	uses := regexp.MustCompile(`\bparallel\.(Guard|Workers|Each|Do|Chunks|All)\(`)
	starts := regexp.MustCompile(`(?m)^.*(\bgo [\w.]+\(|\.Go\().*(\n.*){0,2}`)
	// The first needs a GPU. The second is not in the program; its own tests let it panic.
	tested := map[string]bool{"kernels/cuda": true, "dist/svd": true}
	for _, p := range panickings {
		tested[strings.Fields(p.site)[0]] = true
	}
	// Those of the first wait for a ticker and do nothing; commtest is for tests; the loops are built
	// on the third. The last is the life of a child: a panic ends it, and its parent says so.
	others := []string{"internal/stall", "dist/comm/commtest", "internal/parallel", "internal/hdf5/serve.go"}
	found := 0
	for _, file := range sourceFiles(t) {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Dir(file)
		if slices.Contains(others, folder) || slices.Contains(others, file) {
			continue
		}
		if uses.Match(text) {
			found++
			if !tested[folder] {
				t.Errorf("%s uses internal/parallel, and no run of TestPanics panics in %s", file, folder)
			}
		}
		for _, lines := range starts.FindAllString(string(text), -1) {
			if !strings.Contains(lines, "parallel.Guard") {
				t.Errorf("%s: a panic of the goroutine is lost:\n%s", file, lines)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d files use internal/parallel", found)
	}
}

// sourceFiles returns the Go files of the program, without tests, from the root of the repository.
func sourceFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name != "../.." && strings.HasPrefix(name, ".") &&
			name != ".."):
			return filepath.SkipDir
		case filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			file, err := filepath.Rel("../..", path)
			files = append(files, file)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
