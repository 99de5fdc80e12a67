package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// onGPUs returns the tests of a file that ask for GPUs.
func onGPUs(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || !strings.HasPrefix(f.Name.Name, "Test") {
			continue
		}
		asks := false
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				from, ok := s.X.(*ast.Ident)
				asks = asks || ok && from.Name == "disttest" && slices.Contains([]string{"GPUs", "OpenGPU"}, s.Sel.Name)
			}
			return !asks
		})
		if asks {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// TestTestsOnGPUs: scripts/test-gpu.sh runs all tests that ask for GPUs. It has a list of packages, and finds
// the tests by their names.
func TestTestsOnGPUs(t *testing.T) {
	root := moduleRoot(t)
	script, err := os.ReadFile(filepath.Join(root, "scripts/test-gpu.sh"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^packages=\((.*)\)$`).FindSubmatch(script)
	if list == nil {
		t.Fatal("the script has no list of packages")
	}
	listed, found := strings.Fields(string(list[1])), map[string]bool{}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != root {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		for _, test := range onGPUs(file) {
			folder := path.Dir(filepath.ToSlash(relative))
			found[folder] = true
			if !strings.Contains(test, "GPU") {
				t.Errorf("%s: %s needs GPUs, and has not GPU in its name", relative, test)
			}
			if !slices.Contains(listed, folder) {
				t.Errorf("%s: scripts/test-gpu.sh does not run %s", relative, test)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range listed {
		if !found[folder] && folder != "kernels/cuda" && folder != "internal/rivals" { // where most tests need them
			t.Errorf("scripts/test-gpu.sh runs %s, which has no test on GPUs", folder)
		}
	}
}
