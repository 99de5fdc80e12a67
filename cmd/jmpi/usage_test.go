package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNearest(t *testing.T) {
	flags := flagNames(newSVDCommand())
	for word, want := range map[string]string{
		"thread": "threads", "Threads": "threads", "threds": "threads", "htreads": "threads", "vec": "vectors",
		"vector":    "vectors",
		"max-sweep": "max-sweeps", "maxsweeps": "max-sweeps", "sig": "signature", "forces": "force",
		"fore":      "force",
		"tolerance": "", "xyz": "", "": "", "t": "", "np": "",
	} {
		if got := nearest(word, flags); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "acb", 1}, {"abc", "axc", 1},
		{"kitten", "sitting", 3},
		{"svdd", "svd", 1}, {"ca", "abc", 3}, {"abcd", "badc", 2},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// Every flag of every command has a variable that is known, and no other is but that of the kernels.
func TestUnknownVariables(t *testing.T) {
	root := newRootCommand()
	var environment []string
	for _, c := range allCommands(root) {
		for _, name := range flagNames(c) {
			environment = append(environment, variableName(name)+"=1")
		}
	}
	if len(environment) < 30 {
		t.Fatalf("%d variables", len(environment))
	}
	environment = append(environment, "JMPI_CACHE_DIR=/tmp", "JMPI_TEST_BIG=1", "HOME=/root", "NOJMPI_X=1")
	if lines := unknownVariables(root, environment); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	want := []string{
		"JMPI_ROOT=/opt has no effect: jmpi knows no such variable",
		"JMPI_SWEEPS_MAX=3 has no effect: jmpi knows no such variable",
		`JMPI_VECTOR=\nboth has no effect: jmpi knows no such variable; did you mean JMPI_VECTORS?`,
	}
	if lines := unknownVariables(root, []string{"JMPI_VECTOR=\nboth", "JMPI_ROOT=/opt",
		"JMPI_SWEEPS_MAX=3"}); !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

// A raw file is read in the order that its name says, by svd and by check: the singular values have the
// bits of those of the .npy file.
func TestRawOrders(t *testing.T) {
	dir := t.TempDir()
	a := gauss(t, 20, 13)
	names := []string{"a.npy", "a.20x13.rowmajor.f64", "a.20x13.colmajor.f64"}
	a.write(t, filepath.Join(dir, names[0]))
	var runs []svdRun
	for i, name := range names {
		path := filepath.Join(dir, name)
		if i > 0 {
			if err := os.WriteFile(path, a.encode(8, binary.LittleEndian, i == 1), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		runs = append(runs, svdRun{path, path + ".svd", "both"})
	}
	outcomes := runOn(t, 2, runs)
	for i, o := range outcomes {
		o.right(t)
		if !slices.Equal(o.s, outcomes[0].s) || !slices.Equal(o.u.x, outcomes[0].u.x) {
			t.Errorf("%s has other results", names[i])
		}
		for _, other := range runs {
			if code, text := output(t, "check", runs[i].Input, other.Dir); code != exitDone {
				t.Errorf("check %s %s: exit code %d\n%s", names[i], other.Dir, code, text)
			}
		}
	}
	// What NumPy writes row by row under the name of the other order is another matrix, and check says so.
	lying := filepath.Join(dir, "b.20x13.colmajor.f64")
	if err := os.WriteFile(lying, a.encode(8, binary.LittleEndian, true), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _ := output(t, "check", lying, runs[0].Dir); code != exitCheckFailed {
		t.Errorf("check of the wrong order: exit code %d", code)
	}
}

// info.json tells the command line with the variables that set flags, the input, and when and how long it
// ran.
func TestInfoOfTheCommand(t *testing.T) {
	dir, begin := t.TempDir(), time.Now()
	a := gauss(t, 9, 7)
	if err := os.WriteFile(filepath.Join(dir, "a.9x7.rowmajor.f64"), a.encode(8, binary.LittleEndian, true),
		0o666); err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, dir, 1, "svd ./a.9x7.rowmajor.f64 -o it's --vectors none", "JMPI_MAX_SWEEPS=20")
	if code := p.wait(t); code != exitDone {
		t.Fatalf("exit code %d: %s", code, p.stderr.String())
	}
	text, err := os.ReadFile(filepath.Join(dir, "it's", "info.json"))
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Command     string
		Start       time.Time
		WallSeconds float64 `json:"wall_seconds"`
		Input       struct {
			Path, Dtype, Order string
			Shape              []int
		}
		Shape []int
	}
	if err := json.Unmarshal(text, &info); err != nil {
		t.Fatal(err)
	}
	want := `JMPI_BACKEND=cpu JMPI_MAX_SWEEPS=20 jmpi svd ./a.9x7.rowmajor.f64 -o 'it'\''s' --vectors none`
	if info.Command != want {
		t.Errorf("command %q, want %q", info.Command, want)
	}
	in := info.Input
	if !strings.HasSuffix(in.Path, filepath.Base(dir)+"/a.9x7.rowmajor.f64") || !filepath.IsAbs(in.Path) ||
		in.Dtype != "float64" ||
		in.Order != "rowmajor" || !slices.Equal(in.Shape, []int{9, 7}) || !slices.Equal(info.Shape, in.Shape) {
		t.Errorf("input %+v, shape %v", in, info.Shape)
	}
	took := time.Since(begin)
	if since := info.Start.Sub(begin); since < -time.Second || since > took || !(info.WallSeconds > 0) ||
		info.WallSeconds > took.Seconds() {
		t.Errorf("start %v after it was started, %g s of %v", since, info.WallSeconds, took)
	}
}
