package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// pages writes the man pages, and returns their texts by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "new", "man1")
	if err := writeManual(folder); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts[e.Name()] = string(text)
	}
	return texts
}

// A page for each command has each of its flags, with what it means.
func TestManPages(t *testing.T) {
	texts := pages(t)
	for _, c := range allCommands(newRootCommand()) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		text, found := texts[name]
		if found == c.Hidden {
			t.Errorf("page %s: %v, hidden: %v", name, found, c.Hidden)
		}
		if delete(texts, name); !found {
			continue
		}
		if !strings.Contains(text, ".SH NAME\n"+strings.TrimSuffix(name, ".1")+" - "+c.Short) {
			t.Errorf("%s does not say what the command does", name)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !regexp.MustCompile(`(?m)^\.TP\n.*\\fB--` + f.Name + `\\fP\S*\n.`).MatchString(text) {
				t.Errorf("%s does not have --%s", name, f.Name)
			}
		})
		if strings.Contains(text, `\_`) || strings.Contains(text, "**") {
			t.Errorf("%s has marks of Markdown", name)
		}
	}
	root := texts["jmpi.1"]
	if delete(texts, "jmpi.1"); len(texts) > 0 {
		t.Errorf("pages of no command: %v", texts)
	}
	for code, constant := range definedExitCodes(t) {
		if !strings.Contains(root, ".TP\n\\fB"+code+"\\fP\n") {
			t.Errorf("jmpi.1 does not have exit code %s, %s", code, constant)
		}
	}
	day := regexp.MustCompile(`(?m)^\.TH "JMPI" "1" "Nov 2026" "jmpi ` + regexp.QuoteMeta(Version) + `" "jmpi"$`)
	if !day.MatchString(root) {
		t.Error("jmpi.1 does not begin with the version and the month of the release")
	}
}

// Lines that are indented in a help text stay as they are; others become paragraphs.
func TestMarkdown(t *testing.T) {
	const text = "One_two\nthree.\n  a  *b*\n\n    c_d\nfour"
	const want = "One\\_two\nthree.\n\n    a  *b*\n\n      c_d\n\nfour\n"
	if got := markdown(text); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const line = "\ngraded-both               order unless --sorted"
	if page := pages(t)["jmpi-gen.1"]; !strings.Contains(page, line) {
		t.Errorf("the kinds do not stand below each other in\n%s", page)
	}
}

// installed lists the files below a folder.
func installed(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, strings.TrimPrefix(name, root))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// `make install` puts the program, its pages and the completions where they are looked for, readable by all.
// `make uninstall` takes them away.
func TestInstall(t *testing.T) {
	root := t.TempDir()
	target := func(name string) {
		t.Helper()
		program, err := filepath.Abs(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		// umask: that of careful administrators
		cmd := exec.Command("sh", "-c", `umask 077 && exec make -s -C ../.. "$@"`, "sh", name, "DESTDIR="+root,
			"PREFIX=/opt/a b", "PROGRAM="+program)
		cmd.Env = append(os.Environ(), programVariable+"=install")
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("make %s: %v\n%s", name, err, out)
		}
	}
	target("install")
	const share = "/opt/a b/share/"
	shells := map[string]string{share + "bash-completion/completions/jmpi": "bash",
		share + "zsh/site-functions/_jmpi": "zsh", share + "fish/vendor_completions.d/jmpi.fish": "fish"}
	programs, manual := 0, 0
	for _, name := range installed(t, root) {
		info, err := os.Stat(root + name)
		if err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		switch shell := shells[name]; {
		case shell != "":
			delete(shells, name)
			if _, err := exec.LookPath(shell); err == nil || shell == "bash" {
				if out, err := exec.Command(shell, "-n", root+name).CombinedOutput(); err != nil {
					t.Errorf("%s does not read %s: %v\n%s", shell, name, err, out)
				}
			}
		case name == "/opt/a b/bin/jmpi":
			programs++
			mode = 0o755
		case strings.HasPrefix(name, share+"man/man1/jmpi") && strings.HasSuffix(name, ".1"):
			manual++
		default:
			t.Errorf("%s was installed", name)
		}
		if info.Mode().Perm() != mode || info.Size() < 100 {
			t.Errorf("%s has mode %o and %d bytes", name, info.Mode().Perm(), info.Size())
		}
	}
	if programs != 1 || manual != len(pages(t)) || len(shells) > 0 {
		t.Errorf("%d programs and %d pages were installed, missing: %v", programs, manual, shells)
	}
	target("uninstall")
	if left := installed(t, root); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
