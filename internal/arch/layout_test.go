package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// top is all that the repository has at its top.
var top = []string{".ci", ".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "README.md",
	"cmd", "dist", "docs", "examples", "go.mod", "go.sum", "hostfile.example", "internal", "kernels", "node",
	"python", "scripts", "strategy", "topology"}

// strangers returns those of the files, by their paths from the top, that lie elsewhere.
func strangers(files []string) (other []string) {
	for _, file := range files {
		if first, _, _ := strings.Cut(file, "/"); !slices.Contains(top, first) {
			other = append(other, file)
		}
	}
	return other
}

func TestTop(t *testing.T) {
	root := moduleRoot(t)
	for _, name := range append(slices.Clone(top), "docs/CONTRIBUTING.md") {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	// Users put files of their own there, which are not in the repository.
	out, err := exec.Command("git", "-C", root, "ls-files").Output()
	if err != nil {
		t.Logf("no repository of git here: files at the top that are new cannot be seen: %v", err)
	}
	for _, file := range strangers(strings.Fields(string(out))) {
		t.Errorf("%s: nothing new may stand at the top", file)
	}
}

func TestStrangers(t *testing.T) {
	files := []string{"go.mod", "cmd/jmpi/main.go", "CONTRIBUTING.md", "pkg/a.go", "docs/pkg/a.md"}
	if got := strangers(files); !slices.Equal(got, []string{"CONTRIBUTING.md", "pkg/a.go"}) {
		t.Errorf("%q", got)
	}
}
