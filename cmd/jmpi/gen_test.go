package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jmpi/internal/gen"
	"jmpi/internal/matio"
)

// filesIn returns the names of the files in a folder.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestGenWritesTheMatrixAndWhatIsKnown(t *testing.T) {
	cases := []struct{ kind, shape, beside string }{
		{"gauss --reference", "30x70", "sigma"},
		{"gauss", "70x30", ""},
		{"geometric", "20x30", "sigma"},
		{"lowrank", "0x4", ""},
		{"spectrum3", "24x24", "lambda signature"},
		{"spectrum4", "24x24", "lambda sigma signature"},
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "a.b.npy")
	for _, c := range cases { // in one folder: what is stale must go
		kind := strings.Fields(c.kind)
		if code := run(append([]string{"gen", "-o", out, "--shape", c.shape, "--seed", "3"},
			kind...)); code != exitDone {
			t.Fatalf("%s: exit code %d", c.kind, code)
		}
		want := []string{}
		for _, what := range strings.Fields(c.beside) {
			want = append(want, "a.b."+what+".npy")
		}
		want = append(want, "a.b.npy")
		slices.Sort(want)
		if got := filesIn(t, dir); !slices.Equal(got, want) {
			t.Errorf("%s: files %v, want %v", c.kind, got, want)
		}
		f, err := matio.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		a, err := gen.New(kind[0], gen.Options{Rows: f.Rows, Cols: f.Cols, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		ld := max(1, int(f.Rows))
		got, fresh := make([]float64, f.Rows*f.Cols), make([]float64, f.Rows*f.Cols)
		if err := f.ReadColumns(0, f.Cols, got, ld); err != nil {
			t.Fatal(err)
		}
		if err := a.Columns(0, f.Cols, fresh, ld); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, fresh) {
			t.Errorf("%s: the file differs from the matrix", c.kind)
		}
		f.Close()
	}
}

// With --reference the singular values are those of the matrix in the file: for a prescribed spectrum they
// differ from the prescribed ones by its rounding to double, and for graded columns they are told too.
func TestGenReference(t *testing.T) {
	sigma := func(args ...string) []float64 {
		path := filepath.Join(t.TempDir(), "a.npy")
		if code := run(append([]string{"gen", "-o", path, "--shape", "30x20"}, args...)); code != exitDone {
			t.Fatalf("%v: exit code %d", args, code)
		}
		x, err := matio.ReadVector(gen.Sidecar(path, "sigma"))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	prescribed, stored := sigma("geometric"), sigma("geometric", "--reference")
	worst := 0.0
	for i, want := range prescribed {
		worst = max(worst, math.Abs(stored[i]-want)/want)
	}
	if worst == 0 || worst > 0x1p-53*2/1e-4 { // u·‖A‖_F/σ_min
		t.Errorf("geometric: the reference differs by %g", worst)
	}
	if s := sigma("graded-cols", "--reference"); len(s) != 20 || s[19] > 1e-11 || s[19] < 1e-13 {
		t.Errorf("graded-cols: σ = %g", s)
	}
}

func TestGenFlags(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, args ...string) []byte {
		path := filepath.Join(dir, name)
		if code := run(append([]string{"gen", "-o", path}, args...)); code != exitDone {
			t.Fatalf("%v: exit code %d", args, code)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	base := write("a.npy", "graded-cols", "--shape", "20x20")
	if !bytes.Equal(base, write("b.npy", "graded-cols", "--shape", "20x20", "--seed", "1", "--cond", "1e12")) {
		t.Error("the defaults are not seed 1 and condition 1e12")
	}
	for _, flag := range [][]string{{"--seed", "2"}, {"--cond", "1e3"}, {"--sorted"}} {
		if bytes.Equal(base, write("b.npy", append([]string{"graded-cols", "--shape", "20x20"}, flag...)...)) {
			t.Errorf("%v changes nothing", flag)
		}
	}
	write("c.npy", "spectrum1", "--shape", "20x20", "--positive", "0")
	signature, err := matio.ReadVector(filepath.Join(dir, "c.signature.npy"))
	if err != nil || slices.Max(signature) != -1 {
		t.Errorf("--positive 0: signature %v, error %v", signature, err)
	}
	t.Setenv("JMPI_POSITIVE", "20")
	write("c.npy", "spectrum1", "--shape", "20x20")
	if signature, err = matio.ReadVector(filepath.Join(dir, "c.signature.npy")); err != nil ||
		slices.Min(signature) != 1 {
		t.Errorf("JMPI_POSITIVE=20: signature %v, error %v", signature, err)
	}
}

func TestGenRefuses(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "a.npy")
	if err := os.Mkdir(filepath.Join(dir, "folder.npy"), 0o777); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		code int
		args string
	}{
		{exitUsage, "gauss --shape 3x3"},
		{exitUsage, "gauss -o " + out},
		{exitUsage, "gauss --shape 3x3 -o " + filepath.Join(dir, "a.mtx")},
		{exitUsage, "gauss --shape 3 -o " + out},
		{exitUsage, "gauss --shape 3x-3 -o " + out},
		{exitUsage, "gauss --shape 3000000000x3000000000 -o " + out},
		{exitUsage, "gaus --shape 3x3 -o " + out},
		{exitUsage, "hilbert --shape 3x4 -o " + out},
		{exitUsage, "gauss --shape 3x3 --cond 10 -o " + out},
		{exitUsage, "lowrank --shape 3x3 --rank 4 -o " + out},
		{exitUsage, "lowrank --shape 3x3 --rank 0 -o " + out},
		{exitUsage, "spectrum2 --shape 3x3 --positive 2 -o " + out},
		{exitUsage, "gauss --reference --shape 600x513 -o " + out},
		{exitUsage, "gauss --shape 3x3 --colour red -o " + out},
		{exitUsage, "--shape 3x3 -o " + out},
		{exitInput, "gauss --shape 3x3 -o " + filepath.Join(dir, "absent", "a.npy")},
		{exitInput, "gauss --shape 3x3 -o " + filepath.Join(dir, "folder.npy")},
	}
	for _, c := range cases {
		if code := run(append([]string{"gen"}, strings.Fields(c.args)...)); code != c.code {
			t.Errorf("gen %s: exit code %d, want %d", c.args, code, c.code)
		}
	}
	if got := filesIn(t, dir); !slices.Equal(got, []string{"folder.npy"}) {
		t.Errorf("left behind: %v", got)
	}
}

func TestGenWritesOnRankZeroOnly(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("OMPI_COMM_WORLD_RANK", "1")
	t.Setenv("OMPI_COMM_WORLD_SIZE", "2")
	if code := run([]string{"gen", "gauss", "--shape", "3x3", "-o",
		filepath.Join(dir, "a.npy")}); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if got := filesIn(t, dir); len(got) != 0 {
		t.Errorf("rank 1 wrote %v", got)
	}
}

// What does not fit is refused before anything is made, with both figures.
func TestGenSpace(t *testing.T) {
	dir := t.TempDir()
	p := startProgram(t, dir, 1, "gen gauss -o a.npy --shape 1000000x100000000")
	code := p.wait(t)
	want := regexp.MustCompile(`^jmpi: a\.npy needs 800000\.0 GB, and \d+\.\d GB are free in \.; ` +
		`make room, or choose another place\n$`)
	if text := p.stderr.String(); code != exitInput || !want.MatchString(text) {
		t.Errorf("exit code %d, %s", code, text)
	}
	if left := filesIn(t, dir); len(left) > 0 {
		t.Errorf("leaves %v", left)
	}
}

// Killed while it writes, gen leaves a hidden folder without a file, and the next gen of this name deletes
// it, not that of one that lives.
func TestGenKilled(t *testing.T) {
	dir := t.TempDir()
	hidden := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, ".a.npy.*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	p := startProgram(t, dir, 1, "gen geometric -o a.npy --shape 6000x6000")
	for limit := time.Now().Add(time.Minute); len(hidden()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no hidden folder: %s", p.stderr.String())
		}
	}
	again := startProgram(t, dir, 1, "gen gauss -o a.npy --shape 5x5")
	if code := again.wait(t); code != exitDone || len(hidden()) != 1 {
		t.Errorf("beside one that lives: exit code %d, %s, hidden %v", code, again.stderr.String(), hidden())
	}
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	left := hidden()
	if len(left) != 1 {
		t.Fatalf("leaves %v", left)
	}
	if files := filesIn(t, left[0]); len(files) > 0 {
		t.Logf("the file system has no files without a name: %v", files)
	}
	again = startProgram(t, dir, 1, "gen gauss -o a.npy --shape 5x6")
	if code := again.wait(t); code != exitDone || again.stderr.String() != "" {
		t.Errorf("the next one: exit code %d, %s", code, again.stderr.String())
	}
	if files := filesIn(t, dir); !slices.Equal(files, []string{"a.npy"}) {
		t.Errorf("files %v", files)
	}
}

// A file without a name gets one, whether or not the file system has such files.
func TestNameless(t *testing.T) {
	dir := t.TempDir()
	made, err := openNameless(dir, filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []*nameless{made, {path: filepath.Join(dir, "b")}} {
		name := filepath.Join(dir, map[bool]string{true: "b", false: "a"}[file.file == nil])
		if err := os.WriteFile(file.path, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(name); file.file != nil && err == nil {
			t.Errorf("%s is there before it is named", name)
		}
		if err := file.name(name); err != nil {
			t.Fatal(err)
		}
		file.close()
		if text, err := os.ReadFile(name); err != nil || string(text) != "text" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
}
