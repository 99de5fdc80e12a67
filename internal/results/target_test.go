package results

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestCheck(t *testing.T) {
	root := t.TempDir()
	fill(t, root, "empty/", "full/file", "full/inside/", "file", "old/S.npy", "old/info.json",
		"folder/S.npy/a", "folder/info.json",
		"unknown/S.npy", "unknown/U.npy", "link/info.json", "other/S.npy", "damaged/S.npy",
		"there/S.npy", "there/info.json")
	for name, text := range map[string]string{
		"other/info.json":   `{"name": "leaflet", "versions": {"node": "22"}}`,
		"damaged/info.json": "\x00\x00",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{
		"dangling": "nowhere", "link/S.npy": root + "/file", "another": root + "/there",
	} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, "full/inside"))
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
		{"full/inside", true, ""}, // is empty
		{"file", false, "not a folder"},
		{"file", true, "not a folder"},
		{"file/out", false, "not a folder"},
		{"missing/out", false, "missing, which is to hold out, does not exist; make it first: mkdir -p "},
		{"dangling", false, "a symbolic link to nothing"},
		{"folder", true, "holds a folder S.npy, which is no result of jmpi"},
		{"link", true, "holds S.npy, not a regular file, which is no result of jmpi"},
		{"unknown", true, "has no info.json"},
		{"other", true, "info.json was not written by jmpi"},
		{"damaged", true, "info.json was not written by jmpi"},
		{"there", true, "holds " + root + "/another/S.npy, which the run reads"},
		{"another", true, "holds " + root + "/another/S.npy, which the run reads"},
	} {
		t.Run(fmt.Sprintf("%s, force %v", c.dir, c.force), func(t *testing.T) {
			reads := []string{root + "/file", root + "/another/S.npy"}
			says(t, Target{Dir: filepath.Join(root, c.dir), Force: c.force, Reads: reads}.Check(), c.want)
		})
	}
	if after := tree(t, root); after != before {
		t.Errorf("Check left %q of %q", after, before)
	}
	t.Chdir(root)
	says(t, Target{Dir: "full", Force: true}.Check(), "holds file, which is no result of jmpi")
}
