package arch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gonum's netlib leaves it to others to name the library that has BLAS. A package that imports it does so, so
// that every program with that package links.
func TestBLASIsLinked(t *testing.T) {
	root := moduleRoot(t)
	users := 0
	for folder := range rules {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		uses, names := false, false
		for _, file := range files {
			imports, err := importsOf(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			uses = uses || slices.ContainsFunc(imports, func(i string) bool {
				return within(i, []string{"gonum.org/v1/netlib"})
			})
			flag := strings.Contains(string(text), "#cgo LDFLAGS: -lopenblas")
			names = names || flag && slices.Contains(imports, "C")
		}
		if uses {
			users++
		}
		if uses && !names {
			t.Errorf("%s imports netlib, but has no line \"#cgo LDFLAGS: -lopenblas\"", folder)
		}
	}
	if users < 3 {
		t.Errorf("only %d packages import netlib", users)
	}
}
