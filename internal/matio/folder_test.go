package matio

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fill makes the files of a tree; a name that ends in / is a folder.
func fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o777)
		} else if err == nil {
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

func TestFolder(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []string
		dir    string
		force  bool
		want   string // after Publish
		err    error
	}{
		{"absent", nil, "out", false, "out/S.npy", nil},
		{"slash", nil, "out/", false, "out/S.npy", nil},
		{"empty", []string{"out/"}, "out", false, "out/S.npy", nil},
		{"empty, force", []string{"out/"}, "out", true, "out/S.npy", nil},
		{"full", []string{"out/old"}, "out", false, ".out.7.tmp/S.npy out/old", syscall.ENOTEMPTY},
		{"full, force", []string{"out/old", "out/more/old"}, "out", true, "out/S.npy", nil},
		{"file, force", []string{"out"}, "out", true, ".out.7.tmp/S.npy out", syscall.ENOTDIR},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			fill(t, root, c.before...)
			f, err := NewFolder(filepath.Join(root, c.dir), "7")
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Create(); err != nil {
				t.Fatal(err)
			}
			if err := WriteVector(f.Path("S.npy"), []float64{1}); err != nil {
				t.Fatal(err)
			}
			if err := f.Publish(c.force); !errors.Is(err, c.err) {
				t.Errorf("%v, expected %v", err, c.err)
			}
			if got := tree(t, root); got != c.want {
				t.Errorf("%q, expected %q", got, c.want)
			}
		})
	}
}

func TestFolderDiscard(t *testing.T) {
	root := t.TempDir()
	fill(t, root, "out/old")
	f, err := NewFolder(filepath.Join(root, "out"), "7")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Create(); err != nil {
		t.Fatal(err)
	}
	fill(t, f.Temp, "S.npy")
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
	fill(t, root, "there/out/old")
	if err := os.Symlink(filepath.Join(root, "there/out"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	f, err := NewFolder(filepath.Join(root, "link"), "7")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Create(); err != nil {
		t.Fatal(err)
	}
	fill(t, f.Temp, "S.npy")
	if err := f.Publish(true); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, root); got != "link there/out/S.npy" {
		t.Errorf("%q", got)
	}
}

func TestCheckTarget(t *testing.T) {
	root := t.TempDir()
	fill(t, root, "empty/", "full/file", "full/work/", "file", "old/S.npy", "old/info.json")
	if err := os.Symlink("nowhere", filepath.Join(root, "dangling")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "full/work"))
	before := tree(t, root)
	for _, c := range []struct {
		dir   string
		force bool
		want  string // empty: no error
	}{
		{"absent", false, ""},
		{"empty", false, ""},
		{"empty", true, ""},
		{"full", false, "exists and is not empty; choose another folder, or replace it with --force"},
		{"full", true, "holds the working directory"},
		{"old", false, "exists and is not empty"},
		{"old", true, ""},
		{"full/work", true, ""}, // is empty
		{"file", false, "not a folder"},
		{"file", true, "not a folder"},
		{"file/out", false, "not a folder"},
		{"missing/out", false, "missing, which is to hold out, does not exist; make it first"},
		{"dangling", false, "a symbolic link to nothing"},
	} {
		err := CheckTarget(filepath.Join(root, c.dir), c.force)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, force %v: %v, expected %q", c.dir, c.force, err, c.want)
		}
	}
	if after := tree(t, root); after != before {
		t.Errorf("CheckTarget left %q of %q", after, before)
	}
	t.Chdir(root)
	if err := CheckTarget("full", true); err == nil || !strings.Contains(err.Error(), "holds file, which is no result of jmpi") {
		t.Errorf("full, from outside, force: %v", err)
	}
	if err := CheckTarget("/proc/out", false); err == nil || !strings.Contains(err.Error(), "cannot make a folder in /proc") {
		t.Errorf("/proc/out: %v", err)
	}
}
