package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// contents returns the bytes of the files of a folder by name, those of info.json without what differs from
// run to run.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil && e.Name() == "info.json" {
			var info struct{ Shape, Sweeps, Rank any }
			if err = json.Unmarshal(text, &info); err == nil {
				text, err = json.Marshal(info)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// whole tells which of the results a folder holds.
func whole(t *testing.T, dir string, results ...map[string]string) int {
	t.Helper()
	have := contents(t, dir)
	return slices.IndexFunc(results, func(r map[string]string) bool {
		if len(r) != len(have) {
			return false
		}
		for name, text := range r {
			if have[name] != text {
				return false
			}
		}
		return true
	})
}

// hiddenIn lists the hidden folders.
func hiddenIn(t *testing.T, root string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(root, ".*.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// Killed while it replaces results, at 30 moments from the reading to the deletion of the old ones: DIR holds
// the old results or the new ones, and the next run leaves nothing hidden.
func TestPublishKilled(t *testing.T) {
	root := t.TempDir()
	inputs, dir := []string{root + "/1.npy", root + "/2.npy"}, root+"/out"
	gauss(t, 90, 60).write(t, inputs[0])
	gauss(t, 60, 90).write(t, inputs[1])
	replace := func(input string, ranks int, f fate) error {
		all, err := svdRuns{Force: true, Fate: f, Runs: []svdRun{{input, dir, "both"}}}.start(t, ranks)
		if err != nil && f.Call == 0 && f.Step == "" {
			t.Fatalf("%v\n%s", err, all)
		}
		return err
	}
	// Those of input i are at 2·i and 2·i + 1: the bits may depend on the number of devices.
	var results []map[string]string
	calls := map[int]int64{}
	for i := range 4 {
		ranks, count := []int{alone, 2}[i%2], root+"/count"
		_ = replace(inputs[i/2], ranks, fate{Count: count})
		results = append(results, contents(t, dir))
		text, err := os.ReadFile(count)
		if err == nil {
			calls[ranks], err = strconv.ParseInt(string(text), 10, 64)
		}
		if err != nil || calls[ranks] < 20 {
			t.Fatalf("%d collective calls, error %v", calls[ranks], err)
		}
	}
	type kill struct {
		ranks int
		fate
	}
	var kills []kill
	for ranks, many := range map[int]int64{alone: 17, 2: 5} {
		for i := range many { // the last agreements are made when DIR is new
			call := 1 + i*(calls[ranks]-1)/(many-1)
			kills = append(kills, kill{ranks, fate{Rank: int(i) % max(1, ranks), Call: call}})
		}
		for _, step := range []string{"rename", "exchange", "sync the names", "delete"} {
			kills = append(kills, kill{ranks, fate{Step: step}})
		}
	}
	was, left := 1, 0
	for i, k := range kills {
		next := 1 - was
		if replace(inputs[next], k.ranks, k.fate) == nil {
			t.Fatalf("%+v: not killed", k)
		}
		left += len(hiddenIn(t, root))
		got := whole(t, dir, results...)
		if got < 0 {
			t.Fatalf("kill %d, %+v: neither the old nor the new results are in %s", i, k, dir)
		}
		got /= 2
		if late := k.Step == "sync the names" || k.Step == "delete"; k.Step != "" && late != (got == next) {
			t.Errorf("kill %d, %+v: results %d, before %d", i, k, got, was)
		}
		was = got
	}
	if left < len(kills)/2 {
		t.Errorf("only %d of %d kills have left a hidden folder: the test shows little", left, len(kills))
	}
	_ = replace(inputs[0], alone, fate{})
	if whole(t, dir, results[:2]...) < 0 {
		t.Error("the run after has other results")
	}
	if hidden := hiddenIn(t, root); len(hidden) > 0 {
		t.Errorf("hidden folders are left: %v", hidden)
	}
}

// kept is the outcome of a run whose results are not in dir, but in dir.1.
func kept(t *testing.T, input, dir string) outcome {
	t.Helper()
	for _, end := range []string{".code", ".err"} {
		if err := os.Rename(dir+end, dir+".1"+end); err != nil {
			t.Fatal(err)
		}
	}
	return readOutcome(t, svdRun{input, dir + ".1", "both"})
}

// says asserts the exit code of a failure that comes late, and one line on stderr with these texts.
func (o outcome) says(t *testing.T, texts ...string) {
	t.Helper()
	if o.code != exitFailure || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("exit code %d, prints %q", o.code, o.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(o.stderr, text) {
			t.Errorf("prints %q without %q", o.stderr, text)
		}
	}
}

// A folder that comes into being during the run, or gets a file, costs no results: they are beside it, and
// the line says where.
func TestPublishKeeps(t *testing.T) {
	for _, c := range []struct {
		name  string
		force bool
		put   string
		says  string
	}{
		{"a file DIR appears", false, "out", "not a directory"},
		{"a folder DIR appears", false, "out/notes", "out was made during the run and is not empty"},
		{"a file in DIR", true, "out/notes", "out holds notes, which is no result of jmpi"},
		{"results of another program", true, "out/info.json", "info.json was not written by jmpi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			input, dir := root+"/a.npy", root+"/out"
			gauss(t, 20, 10).write(t, input)
			runs := svdRuns{Force: c.force, Runs: []svdRun{{input, dir, "both"}}}
			if c.force {
				runs.on(t, alone)[0].right(t)
			}
			runs.Fate = fate{Step: "rename", Put: filepath.Join(root, c.put)}
			if all, err := runs.start(t, 2); err != nil {
				t.Fatalf("%v\n%s", err, all)
			}
			o := kept(t, input, dir)
			o.says(t, c.says, "the results are complete, in "+dir+".1\n")
			if text, err := os.ReadFile(runs.Fate.Put); string(text) != "mine" || err != nil {
				t.Errorf("%s holds %q, error %v", c.put, text, err)
			}
			if r := o.check(t, input); !r.Passed() {
				t.Errorf("the check of what is kept fails: %v", r.Rows)
			}
			if hidden := hiddenIn(t, root); len(hidden) > 0 {
				t.Errorf("hidden folders are left: %v", hidden)
			}
		})
	}
}

// Where the vectors cannot be written, on one rank, S and info.json are kept.
func TestPublishKeepsValues(t *testing.T) {
	for _, v := range []string{"accumulate", "solve"} {
		root := t.TempDir()
		input, dir := root+"/a.npy", root+"/out"
		a := gauss(t, 120, 100)
		a.write(t, input)
		runs := svdRuns{Fate: fate{Rank: 1, File: 8192}, Runs: []svdRun{{input, dir, "both"}}}
		runs.Flags = []string{"--v", v}
		if all, err := runs.start(t, 2); err != nil {
			t.Fatalf("%v\n%s", err, all)
		}
		o := kept(t, input, dir)
		o.says(t, "rank 1 on "+host()+": write ", "file too large; "+dir+".1 keeps S.npy and info.json\n")
		o.sigma(t, a.values(t), 1e-12)
		if have := contents(t, o.Dir); len(have) != 2 || have["S.npy"] == "" || have["info.json"] == "" {
			t.Errorf("--v %s: %d files are kept", v, len(have))
		}
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("--v %s: %s is there, %v", v, dir, err)
		}
		if hidden := hiddenIn(t, root); len(hidden) > 0 {
			t.Errorf("--v %s: hidden folders are left: %v", v, hidden)
		}
	}
}

// What could not be written is refused before anything is computed.
func TestPublishRefuses(t *testing.T) {
	root := t.TempDir()
	input := root + "/a.npy"
	gauss(t, 120, 100).write(t, input)
	runs := svdRuns{Fate: fate{Rank: 0, File: 8192}, Runs: []svdRun{{input, root + "/out", "both"}}}
	for _, ranks := range []int{1, 2} {
		runs.on(t, ranks)[0].refused(t, exitInput, "the results need 177184 bytes in "+root, "file too large")
	}
}

// dirty returns how many pages of a file are not on the disk yet.
func dirty(t *testing.T, path string) uint64 {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // which was only read
	var pages unix.Cachestat_t
	err = unix.Cachestat(uint(file.Fd()), &unix.CachestatRange{}, &pages, 0)
	if errors.Is(err, unix.ENOSYS) {
		t.Skip("before Linux 6.5 the kernel does not tell what is on the disk: syncing is not tested")
	} else if err != nil {
		t.Fatal(err)
	}
	return pages.Dirty + pages.Writeback
}

// When the results appear, all of them are on the disk, what each rank has written.
func TestPublishSynced(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(root+"/new", make([]byte, 1<<16), 0o666); err != nil {
		t.Fatal(err)
	}
	if dirty(t, root+"/new") == 0 {
		t.Skip("this file system does not tell what is not on the disk yet: syncing is not tested")
	}
	var runs []svdRun
	for i, shape := range [][2]int{{300, 200}, {200, 300}, {1200, 30}, {0, 3}} {
		input := fmt.Sprintf("%s/%d.npy", root, i)
		gauss(t, shape[0], shape[1]).write(t, input)
		runs = append(runs, svdRun{input, input + ".svd", "both"})
	}
	for _, o := range runOn(t, 2, runs) {
		o.right(t)
		for _, name := range []string{"S.npy", "U.npy", "V.npy", "info.json"} {
			if n := dirty(t, filepath.Join(o.Dir, name)); n > 0 {
				t.Errorf("%d pages of %s/%s are not on the disk", n, o.Dir, name)
			}
		}
	}
}
