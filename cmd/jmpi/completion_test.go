package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// offered returns what a shell offers after these words, the last of which is being typed.
func offered(t *testing.T, words ...string) ([]string, cobra.ShellCompDirective) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(withLongNames(root, append([]string{cobra.ShellCompNoDescRequestCmd}, words...)))
	if err := root.Execute(); err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := len(lines) - 1
	directive, err := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil {
		t.Fatalf("%q: the last line is %q", words, lines[last])
	}
	return lines[:last], cobra.ShellCompDirective(directive) &^ cobra.ShellCompDirectiveKeepOrder
}

func TestCompletion(t *testing.T) {
	const (
		any   = cobra.ShellCompDirectiveDefault
		none  = cobra.ShellCompDirectiveNoFileComp
		files = cobra.ShellCompDirectiveFilterFileExt
		dirs  = cobra.ShellCompDirectiveFilterDirs
		list  = none | cobra.ShellCompDirectiveNoSpace
	)
	for _, c := range []struct {
		typed     string // "_" is an empty word
		want      string
		directive cobra.ShellCompDirective
	}{
		{"s", "selftest strategy svd", none},
		{"a", "npy mtx f64 h5 hdf5 mat", files},
		{"a.npy _", "", none},
		{"svd _", "npy mtx f64 h5 hdf5 mat", files},
		{"svd a.npy _", "", none},
		{"svd a.npy -o _", "", dirs},
		{"svd a.npy --signature _", "npy", files},
		{"svd a.npy --trace _", "json", files},
		{"svd a.npy --threads _", "", none},
		{"svd --vec", "--vectors", none},
		{"svd --backend _", "auto cpu cuda", none},
		{"svd --vectors=", "both u v none", none},
		{"svd --v _", "auto accumulate solve", none},
		{"svd a.npy --v=a", "auto accumulate solve", none},
		{"svd --v solve --k _", "", none},
		{"svd -- --v _", "", none},
		{"svd --log _", "console json", none},
		{"check _", "npy mtx f64 h5 hdf5 mat", files},
		{"check a.npy _", "", dirs},
		{"check a.npy a.svd _", "", none},
		{"check --vs _", "dgesdd dgejsv dgesvj dgesvd", list},
		{"check --vs dgesvd,d", "dgesvd,dgesdd dgesvd,dgejsv dgesvd,dgesvj", list},
		{"gen graded-b -o _", "npy h5 hdf5 mat", files},
		{"gen gauss _", "", none},
		{"plan --objective _", "phases columns link", none},
		{"plan --hostfile _", "", any},
		{"bench _", "exchange tune", none},
		{"bench --signature _", "", none},
		{"report _", "", dirs},
		{"watch _", "", dirs},
		{"help bench _", "exchange tune", none},
	} {
		words := strings.Fields(strings.TrimSuffix(c.typed, "_"))
		if strings.HasSuffix(c.typed, " _") {
			words = append(words, "")
		}
		got, directive := offered(t, words...)
		if strings.Join(got, " ") != c.want || directive != c.directive {
			t.Errorf("%s: %q, directive %d; want %q, %d", c.typed, got, directive, c.want, c.directive)
		}
	}
	for command, wrong := range map[string]string{"gen": "gen nonsense", "strategy": "strategy nonsense 4"} {
		words, _ := offered(t, command, "")
		if taken := taken(t, strings.Fields(wrong)); !slices.Equal(words, taken) {
			t.Errorf("%s offers %q, takes %q", command, words, taken)
		}
	}
}

// choice is what an error says of a value that is not one of several words.
var choice = regexp.MustCompile(`hoose one of ([^;]+)$`)

// taken returns the words that the program would take instead of one in a command line.
func taken(t *testing.T, args []string) []string {
	t.Helper()
	root := newRootCommand()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil || choice.FindStringSubmatch(err.Error()) == nil {
		t.Errorf("%q: %v", args, err)
		return nil
	}
	return strings.Fields(choice.FindStringSubmatch(err.Error())[1])
}

// Each flag that takes one of several words offers all that the program takes, and no other.
func TestCompletionOfWords(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range allCommands(newRootCommand()) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			path := strings.Fields(strings.TrimPrefix(c.CommandPath(), "jmpi "))
			words, directive := offered(t, append(path, "--"+f.Name, "")...)
			if f.Value.Type() == "bool" || directive&cobra.ShellCompDirectiveNoFileComp == 0 || len(words) == 0 {
				return
			}
			seen[f.Name] = true
			args := map[string][]string{"svd": {"a.npy"}, "check": {"a.npy", "a.svd"},
				"plan": {"--devices", "4", "--shape", "64x64"}}[c.Name()]
			if f.Name == "strategies" {
				args = []string{"--paper"}
			}
			taken := taken(t, slices.Concat(path, args, []string{"--" + f.Name, "nonsense"}))
			if !slices.Equal(words, taken) {
				t.Errorf("%s --%s offers %q, takes %q", c.CommandPath(), f.Name, words, taken)
			}
		})
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	compared := regexp.MustCompile(`oneOf\("([a-z-]+)"`)
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range compared.FindAllStringSubmatch(string(text), -1) {
			if !seen[flag[1]] {
				t.Errorf("%s: --%s takes words, but offers none", name, flag[1])
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d flags offer words", len(seen))
	}
}
