package results

import (
	"os"
	"testing"
)

// A path is in a folder under whatever names, whether they exist or not; a name that begins alike is not.
func TestWithin(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, err := range []error{os.MkdirAll("there/below", 0o777), os.Symlink("there", "link")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dir, path string
		want      bool
	}{
		{"there", "there", true}, {"there", "./there/../there/x", true}, {"there", "link/below/x/y", true},
		{"link", "there/x", true}, {"new", "new", true}, {"new/", "new/a/b", true},
		{"link/new", "there/new/x", true},
		{"there", "therein", false}, {"new", "news/x", false}, {"there/below", "there", false}, {".", "new", true},
		{"there", "there/../x", false}, {"/", "x", true},
	} {
		if got := Within(c.dir, c.path); got != c.want {
			t.Errorf("%s in %s: %v", c.path, c.dir, got)
		}
	}
}
