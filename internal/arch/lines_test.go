package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is where lines of code, comments and prose end, in characters; a tab is one.
const columns = 110

// withLimit are the kinds of files that are looked at.
var withLimit = []string{".go", ".cu", ".cuh", ".c", ".h", ".md", ".sh", ".py", ".m"}

// tooLong returns the numbers, from 1, of the lines that go beyond the limit. The rows of a table in Markdown
// may: a line break would end them.
func tooLong(name, text string) []int {
	var numbers []int
	for i, line := range strings.Split(text, "\n") {
		row := filepath.Ext(name) == ".md" && strings.HasPrefix(line, "|")
		if !row && utf8.RuneCountInString(line) > columns {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func TestLinesEndInTime(t *testing.T) {
	root := moduleRoot(t)
	files := 0
	err := filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		file := filepath.ToSlash(relative)
		switch name := entry.Name(); {
		case entry.IsDir() && full != root && strings.HasPrefix(name, "."):
			return filepath.SkipDir
		case entry.IsDir() || !slices.Contains(withLimit, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		files++
		for _, line := range tooLong(file, string(text)) {
			t.Errorf("%s:%d goes beyond column %d", file, line, columns)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("%d files were read below %s, too few to be all", files, root)
	}
}

func TestTooLong(t *testing.T) {
	full := strings.Repeat("ε", columns)
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"a.go", full + "\n" + full, nil},
		{"a.go", "\n" + full + "x\n\n" + full + "xy", []int{2, 4}},
		{"a.go", "|" + full, []int{1}},
		{"a.md", "|" + full + "\n" + full + "|\n", []int{2}},
		{"a.sh", "", nil},
	} {
		if got := tooLong(c.name, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s %q: lines %v, want %v", c.name, c.text, got, c.want)
		}
	}
}
