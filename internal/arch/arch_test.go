package arch

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "jmpi/"

// rule says what a package may import. Names are folders of the module and hold for the packages
// below them too.
type rule struct {
	pure  bool     // of the rest: the standard library only
	only  []string // with pure: packages of the module that are allowed nevertheless
	never []string // without pure: packages of the module that are forbidden
	tests []string // allowed in _test.go files nevertheless
}

var (
	backends = []string{"kernels/cpu", "kernels/cuda"}
	leaf     = rule{never: []string{"cmd", "dist", "node"}} // an internal package
)

// floors are the packages of a distributed decomposition. Each may import those that come after it.
var floors = []string{"dist/svd", "dist/devices", "dist", "dist/measure", "dist/jacobi", "dist/refine",
	"dist/matrix", "dist/exchange", "dist/checkpoint", "dist/comm"}

// upward tells whether a folder on one floor imports a package on a floor above it.
func upward(folder, imported string) bool {
	floor := slices.Index(floors, folder)
	return floor >= 0 && slices.Contains(floors[:floor], imported)
}

// planned are the packages that only the Jacobi method, and what is above it, may know.
var planned = []string{"cmd", "node", "strategy", "topology", "kernels/cpu", "kernels/cuda"}

// rules has every package of the module.
var rules = map[string]rule{
	"strategy": {pure: true},
	"topology": {pure: true, only: []string{"strategy"}},

	"kernels":            {pure: true},
	"kernels/kerneltest": {pure: true, only: []string{"kernels"}},
	"kernels/cpu": {never: []string{"cmd", "dist", "node", "strategy", "topology", "kernels/cuda"},
		tests: []string{"strategy"}},
	"kernels/cuda": {never: []string{"cmd", "dist", "node", "strategy", "topology", "kernels/cpu"},
		tests: []string{"strategy", "kernels/cpu"}},

	"node": {never: []string{"cmd", "dist", "topology", "kernels/cpu", "kernels/cuda"},
		tests: backends},
	"dist":               {never: []string{"cmd", "kernels/cpu", "kernels/cuda"}, tests: backends},
	"dist/jacobi":        {never: []string{"cmd", "kernels/cpu", "kernels/cuda"}, tests: backends},
	"dist/measure":       {never: []string{"cmd", "kernels/cpu", "kernels/cuda"}, tests: backends},
	"dist/refine":        {never: append([]string{"dist/exchange"}, planned...)},
	"dist/matrix":        {never: planned},
	"dist/exchange":      {never: planned, tests: []string{"strategy", "topology"}},
	"dist/checkpoint":    {never: planned},
	"dist/comm":          {never: planned},
	"dist/comm/commtest": {never: planned},
	"dist/svd":           {never: []string{"cmd", "node", "kernels/cpu", "kernels/cuda"}},
	"dist/devices":       {never: []string{"cmd", "node", "strategy", "topology"}},
	"dist/disttest": {never: []string{"cmd", "dist/jacobi", "dist/matrix", "dist/exchange", "node",
		"strategy", "topology"}},
	"cmd/jmpi": {},

	"examples/go": {never: []string{"cmd", "kernels", "node", "strategy", "topology", "internal"}},

	"internal/arch":   {pure: true},
	"internal/cores":  leaf,
	"internal/dd":     {pure: true},
	"internal/dense":  leaf,
	"internal/enum":   {pure: true},
	"internal/gen":    leaf,
	"internal/hdf5":   {never: []string{"cmd", "dist", "node", "kernels", "strategy", "topology", "internal"}},
	"internal/limits": leaf,
	"internal/matio":  leaf,
	// shares no code with what it judges
	"internal/matio/matiotest": {pure: true},
	"internal/nvidia":          leaf,
	"internal/page":            leaf,
	"internal/paper":           leaf,
	"internal/parallel":        {pure: true},
	"internal/rates":           {pure: true},
	"internal/reference": {pure: true, only: []string{"internal/dd", "internal/parallel"},
		tests: []string{"internal/gen"}},
	"internal/report": leaf,
	// shares no code with the solver
	"internal/residual": {never: []string{"cmd", "dist", "node", "kernels", "strategy", "topology"}},
	"internal/results":  leaf,
	"internal/rivals":   leaf,
	"internal/selftest": leaf,
	"internal/stall":    {pure: true},
	"internal/trace":    {pure: true},
	// shares no code with what it judges
	"internal/trace/tracetest": {pure: true},
}

// owners says in which folders or files an import that comes from outside may stand.
var owners = map[string][]string{
	"C":                            {"dist/comm", "kernels/cpu", "kernels/cuda", "internal"},
	"github.com/sbromberger/gompi": {"dist/comm/mpi.go"},
	"github.com/spf13":             {"cmd"},
	"github.com/schollz":           {"cmd"},
	"github.com/rs/zerolog":        {"cmd", "dist", "node"},
	"github.com/ebitengine/purego": {"cmd", "internal/hdf5", "internal/nvidia", "internal/rivals",
		"kernels/cuda/traced_test.go"},
	"gonum.org/v1/plot":             {"cmd", "internal/page", "internal/paper"},
	"golang.org/x/net":              testLibraries,
	"testing":                       testLibraries,
	"jmpi/kernels/kerneltest":       testLibraries,
	"jmpi/dist/comm/commtest":       testLibraries,
	"jmpi/dist/disttest":            testLibraries,
	"jmpi/internal/matio/matiotest": testLibraries,
	"jmpi/internal/trace/tracetest": testLibraries,
	"pgregory.net/rapid":            testLibraries,
	"github.com/google/go-cmp":      testLibraries,
}

// testLibraries are the packages that are made of tests; beside them only _test.go files import
// what tests need.
var testLibraries = []string{"kernels/kerneltest", "dist/comm/commtest", "dist/disttest",
	"internal/matio/matiotest", "internal/trace/tracetest"}

// forTests are the imports that a _test.go file of any package may have.
var forTests = []string{"testing", "pgregory.net/rapid", "github.com/google/go-cmp",
	"golang.org/x/net/html", "jmpi/kernels/kerneltest", "jmpi/dist/comm/commtest", "jmpi/dist/disttest",
	"jmpi/internal/matio/matiotest", "jmpi/internal/trace/tracetest"}

// within reports whether name is one of the folders, files or packages, or below one.
func within(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return name == root || strings.HasPrefix(name, root+"/")
	})
}

// violations checks the imports of one Go file; file is its slash-separated path from the module's root.
func violations(file string, imports []string) []string {
	folder := path.Dir(file)
	r, known := rules[folder]
	if !known {
		return []string{fmt.Sprintf("%s: package %s is unknown: add it to the table in "+
			"internal/arch/arch_test.go and in docs/design.md", file, folder)}
	}
	test := strings.HasSuffix(file, "_test.go")
	var bad []string
	for _, imported := range imports {
		if test && within(imported, forTests) {
			continue
		}
		reason := r.forbids(folder, imported, test)
		for outside, places := range owners {
			if within(imported, []string{outside}) && !within(file, places) {
				reason = fmt.Sprintf("it may stand in %v only", places)
			}
		}
		if reason != "" {
			bad = append(bad, fmt.Sprintf("%s must not import %q: %s", file, imported, reason))
		}
	}
	return bad
}

// forbids returns why a file in folder must not have the import, or "".
func (r rule) forbids(folder, imported string, test bool) string {
	name, ours := strings.CutPrefix(imported, module)
	switch {
	case ours && (name == folder || test && within(name, r.tests)):
		return "" // a test of the package itself, from outside
	case ours && r.pure && !slices.Contains(r.only, name):
		return fmt.Sprintf("of the module %s may import %v only", folder, r.only)
	case ours && upward(folder, name):
		return fmt.Sprintf("%s must not depend on a floor above it", folder)
	case ours && within(name, r.never):
		return fmt.Sprintf("%s must not depend on it", folder)
	case !ours && r.pure && (imported == "C" || strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")):
		return fmt.Sprintf("%s is pure, standard library only", folder)
	}
	return ""
}

// importsOf parses the imports of a Go file; source is as for parser.ParseFile.
func importsOf(file string, source any) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", file, spec.Path.Value, err)
		}
		imports = append(imports, imported)
	}
	return imports, nil
}

// moduleRoot is the folder of go.mod, at or above the working directory.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("there is no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

func TestImports(t *testing.T) {
	root := moduleRoot(t)
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && full != root && (strings.HasPrefix(name, ".") || name == "testdata" ||
			name == "vendor"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		relative, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		imports, err := importsOf(full, nil)
		if err != nil {
			return err
		}
		file := filepath.ToSlash(relative)
		seen[path.Dir(file)] = true
		for _, v := range violations(file, imports) {
			t.Error(v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"cmd/jmpi", "dist", "kernels", "kernels/cpu", "node", "strategy",
		"topology"} {
		if !seen[folder] {
			t.Errorf("no Go file was found in %s", folder)
		}
	}
}

// The checker must find what is forbidden, and leave what is not.
func TestCheckerFindsViolations(t *testing.T) {
	for _, c := range []struct {
		file, imported string
		allowed        bool
	}{
		{"strategy/closest.go", "slices", true},
		{"strategy/closest.go", "jmpi/kernels", false},
		{"strategy/closest.go", "gonum.org/v1/gonum/mat", false},
		{"strategy/closest.go", "github.com/rs/zerolog", false},
		{"strategy/closest.go", "C", false},
		{"strategy/closest.go", "pgregory.net/rapid", false},
		{"strategy/closest_test.go", "pgregory.net/rapid", true},
		{"strategy/closest_test.go", "jmpi/strategy", true},
		{"strategy/closest_test.go", "jmpi/node", false},
		{"topology/plan.go", "jmpi/strategy", true},
		{"topology/plan.go", "jmpi/kernels", false},
		{"topology/plan_test.go", "jmpi/dist", false},
		{"kernels/norm.go", "math/bits", true},
		{"kernels/norm.go", "C", false},
		{"kernels/norm.go", "testing", false},
		{"kernels/kerneltest/gram.go", "testing", true},
		{"kernels/kerneltest/gram.go", "jmpi/kernels/cpu", false},
		{"kernels/cpu/gram.go", "jmpi/kernels", true},
		{"kernels/cpu/gram.go", "C", true},
		{"kernels/cpu/gram.go", "jmpi/node", false},
		{"kernels/cpu/gram.go", "jmpi/strategy", false},
		{"kernels/cpu/gram.go", "jmpi/kernels/kerneltest", false},
		{"kernels/cpu/gram_test.go", "jmpi/kernels/kerneltest", true},
		{"kernels/cuda/gram.go", "jmpi/topology", false},
		{"node/sweep.go", "jmpi/strategy", true},
		{"node/sweep.go", "jmpi/topology", false},
		{"node/sweep.go", "jmpi/kernels/cpu", false},
		{"node/sweep_test.go", "jmpi/kernels/cpu", true},
		{"node/sweep_test.go", "jmpi/dist", false},
		{"dist/comm/mpi.go", "github.com/sbromberger/gompi", true},
		{"dist/comm/local.go", "github.com/sbromberger/gompi", false},
		{"dist/comm/local.go", "jmpi/dist/exchange", false},
		{"dist/comm/local_test.go", "jmpi/dist/comm/commtest", true},
		{"dist/exchange/lane.go", "jmpi/dist/comm", true},
		{"dist/exchange/lane.go", "jmpi/dist/jacobi", false},
		{"dist/exchange/lane.go", "jmpi/kernels/cuda", false},
		{"dist/exchange/lane.go", "jmpi/topology", false},
		{"dist/exchange/tags_test.go", "jmpi/topology", true},
		{"dist/matrix/matrix.go", "jmpi/dist/exchange", true},
		{"dist/matrix/matrix.go", "jmpi/dist/jacobi", false},
		{"dist/matrix/matrix.go", "jmpi/dist", false},
		{"dist/matrix/matrix.go", "C", false},
		{"dist/refine/loop.go", "jmpi/dist/matrix", true},
		{"dist/refine/loop.go", "jmpi/dist/jacobi", false},
		{"dist/refine/loop.go", "jmpi/dist/exchange", false},
		{"dist/jacobi/solve.go", "jmpi/topology", true},
		{"dist/jacobi/solve.go", "jmpi/dist", false},
		{"dist/jacobi/keep.go", "jmpi/dist/checkpoint", true},
		{"dist/checkpoint/save.go", "jmpi/dist/matrix", false},
		{"dist/decompose.go", "jmpi/dist/jacobi", true},
		{"dist/decompose.go", "github.com/spf13/cobra", false},
		{"dist/decompose.go", "jmpi/dist/disttest", false},
		{"cmd/jmpi/main.go", "github.com/spf13/cobra", true},
		{"cmd/jmpi/main.go", "jmpi/kernels/cpu", true},
		{"cmd/jmpi/main.go", "C", false},
		{"cmd/jmpi/bench_paper.go", "gonum.org/v1/plot", true},
		{"internal/paper/figures.go", "gonum.org/v1/plot/vg", true},
		{"internal/report/report.go", "gonum.org/v1/plot", false},
		{"internal/residual/check.go", "jmpi/internal/matio", true},
		{"internal/residual/check.go", "jmpi/kernels/cpu", false},
		{"internal/matio/npy.go", "jmpi/dist", false},
		{"internal/matio/npy.go", "jmpi/distant", true}, // no prefix match across a name
		{"unknown/file.go", "fmt", false},
	} {
		source := fmt.Sprintf("package p\n\nimport x %q\n", c.imported)
		imports, err := importsOf(c.file, source)
		if err != nil {
			t.Fatal(err)
		}
		found := violations(c.file, imports)
		if (len(found) == 0) != c.allowed {
			t.Errorf("%s with import %q: violations %q, allowed %v", c.file, c.imported, found, c.allowed)
		}
	}
	if found := violations("unknown/file.go", nil); len(found) != 1 ||
		!strings.Contains(found[0], "add it to the table") {
		t.Errorf("an unknown package gives %q", found)
	}
}
