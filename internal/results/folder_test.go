package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jmpi/internal/matio"
	"jmpi/internal/report"
)

// written is what a run writes into info.json.
var written = report.Info{Convention: report.Convention, Versions: map[string]string{"jmpi": "1"}}

// fill makes the files of a tree; a name that ends in / is a folder. info.json is that of a run.
func fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o777)
		case filepath.Base(name) == infoName:
			err = written.Write(path)
		default:
			err = os.WriteFile(path, []byte(name), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tree returns the names of all files and empty folders below dir, in order.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err == nil && entry.IsDir() {
			var inside []os.DirEntry
			if inside, err = os.ReadDir(path); len(inside) > 0 {
				return err
			}
			name += "/"
		}
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// finished returns a hidden folder with results, to be published in root as the name dir.
func finished(t *testing.T, dir string, force bool) *Folder {
	t.Helper()
	f, err := NewFolder(Target{Dir: dir, Force: force}, Tag())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.unlock)
	if err := matio.WriteVector(f.Path("S.npy"), []float64{1}); err != nil {
		t.Fatal(err)
	}
	fill(t, f.temp, infoName)
	return f
}

// says asserts that an error has this text, or, for no text, that there is none.
func says(t *testing.T, err error, text string) {
	t.Helper()
	if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("error %v, expected %q", err, text)
	}
}

// noExchange is what a file system says that cannot exchange two names.
func noExchange(string, string) error { return syscall.EINVAL }

func TestFolder(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string
		dir    string
		force  bool
		want   string // after Publish
		says   string // empty: no error
	}{
		{"absent", "", "out", false, "out/S.npy out/info.json", ""},
		{"slash", "", "out/", false, "out/S.npy out/info.json", ""},
		{"empty", "out/", "out", false, "out/S.npy out/info.json", ""},
		{"empty, force", "out/", "out", true, "out/S.npy out/info.json", ""},
		{"results", "out/info.json out/U.npy", "out", false,
			"out/U.npy out/info.json out.1/S.npy out.1/info.json",
			"out was made during the run and is not empty; the results are complete, in "},
		{"results, force", "out/info.json out/U.npy", "out", true, "out/S.npy out/info.json", ""},
		{"a user's file, force", "out/info.json out/notes", "out", true,
			"out/info.json out/notes out.1/S.npy out.1/info.json",
			"out holds notes, which is no result of jmpi"},
		{"file, force", "out", "out", true, "out out.1/S.npy out.1/info.json", "not a directory"},
		{"numbers in use", "out out.1 out.2/", "out", true,
			"out out.1 out.2/ out.3/S.npy out.3/info.json", "out.3"},
	} {
		for _, swap := range []func(string, string) error{exchange, noExchange} {
			t.Run(c.name, func(t *testing.T) {
				root := t.TempDir()
				fill(t, root, strings.Fields(c.before)...)
				f := finished(t, root+"/"+c.dir, c.force)
				f.exchange = swap
				err := f.Publish()
				says(t, err, c.says)
				if got := tree(t, root); got != c.want {
					t.Errorf("%q, expected %q", got, c.want)
				}
				if err := f.Discard(); err != nil || tree(t, root) != c.want {
					t.Errorf("Discard: %v, it leaves %q", err, tree(t, root))
				}
			})
		}
	}
}

// TestPutDuringRun: what comes into the folder at the last moment is not deleted.
func TestPutDuringRun(t *testing.T) {
	for _, c := range []struct{ step, want string }{
		{"rename", "out/S.npy out/U.npy out/info.json out/notes out.1/S.npy out.1/info.json"},
		{"exchange", "out/S.npy out/info.json out.1/S.npy out.1/U.npy out.1/info.json out.1/notes"},
	} {
		for i, swap := range []func(string, string) error{exchange, noExchange} {
			t.Run(c.step+[]string{", exchange", ", two renames"}[i], func(t *testing.T) {
				root := t.TempDir()
				fill(t, root, "out/S.npy", "out/U.npy", "out/info.json")
				f := finished(t, root+"/out", true)
				f.exchange = swap
				f.Step = func(name string) {
					if name == c.step {
						fill(t, root, "out/notes")
					}
				}
				err := f.Publish()
				says(t, err, "notes")
				says(t, err, root+"/out.1")
				if got := tree(t, root); got != c.want {
					t.Errorf("%q, expected %q", got, c.want)
				}
			})
		}
	}
}

// TestKeepHidden: a folder that cannot get a visible name stays, and the next run does not delete it.
func TestKeepHidden(t *testing.T) {
	root := t.TempDir()
	f := finished(t, root+"/out", true)
	hidden := f.temp
	f.target = root + "/missing/out"
	err := f.Publish()
	if !errors.Is(err, syscall.ENOENT) || !strings.HasSuffix(err.Error(), "in "+hidden) {
		t.Errorf("%v, expected %s", err, hidden)
	}
	r, err := Target{Dir: root + "/out"}.Recover()
	if err != nil || len(r.Left) != 1 || !strings.Contains(r.Left[0], keptName) {
		t.Errorf("%v, error %v", r, err)
	}
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
	if got := tree(t, hidden); got != "KEPT S.npy info.json" {
		t.Errorf("%q is left", got)
	}
}

func TestFolderDiscard(t *testing.T) {
	root := t.TempDir()
	fill(t, root, "out/old")
	f := finished(t, root+"/out", false)
	if err := f.Discard(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, root); got != "out/old" {
		t.Errorf("%q is left", got)
	}
}

// TestFolderLink: a link to a folder stays a link, and what it names is replaced.
func TestFolderLink(t *testing.T) {
	root := t.TempDir()
	fill(t, root, "there/out/info.json", "there/out/V.npy")
	if err := os.Symlink(filepath.Join(root, "there/out"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := finished(t, root+"/link", true).Publish(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, root); got != "link there/out/S.npy there/out/info.json" {
		t.Errorf("%q", got)
	}
}

// TestCreateSays: what stands in the way of a hidden folder.
func TestCreateSays(t *testing.T) {
	for _, c := range []struct{ dir, want string }{
		{"/proc/out", "cannot make a folder in /proc"},
		{filepath.Join(t.TempDir(), strings.Repeat("n", 230)), "file name too long"},
	} {
		f, err := NewFolder(Target{Dir: c.dir}, Tag())
		if err != nil {
			t.Fatal(err)
		}
		says(t, f.Create(), c.want)
	}
}
