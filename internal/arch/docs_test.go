package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forPrograms are the packages that programs of others import.
var forPrograms = []string{"dist/svd", "dist/devices", "dist"}

// undocumented returns the exported names of a file that have no comment. String says what it does by itself.
func undocumented(file *ast.File) (names []string) {
	lacks := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		said := slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d.Text() != "" })
		if name.IsExported() && name.Name != "String" && !said {
			names = append(names, name.Name)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			lacks(d.Name, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					lacks(spec.Name, spec.Doc, d.Doc)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						lacks(name, spec.Doc, spec.Comment, d.Doc)
					}
				}
			}
		}
	}
	return names
}

func TestExportsAreDocumented(t *testing.T) {
	root := moduleRoot(t)
	for _, folder := range forPrograms {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, missing := range undocumented(file) {
				t.Errorf("%s: %s has no comment", name, missing)
			}
		}
	}
	const source = "package p\n\nfunc F() {}\n\n// G does.\nfunc G() {}\n\ntype T int\n\nconst A, b = 1, 2\n\n" +
		"const (\n\tB = 1 // says\n\tC = 2\n)\n\nfunc (T) M() {}\n\nfunc (T) String() string { return \"\" }\n"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := undocumented(file); !slices.Equal(got, []string{"F", "T", "A", "C", "M"}) {
		t.Errorf("without comments: %v", got)
	}
}
