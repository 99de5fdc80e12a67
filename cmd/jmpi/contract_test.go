package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const contractFile = "../../docs/contract.md"

// A heading names the commands whose flags the table below it has; commands may be in several headings.
var (
	flagsHeading = regexp.MustCompile("^### Flags of (.+)$")
	quoted       = regexp.MustCompile("`([^`]*)`")
	longName     = regexp.MustCompile("--([a-z-]+)")
)

// documentedFlags reads the flags of each command, and their defaults, from the text of the contract.
func documentedFlags(t *testing.T, text string) map[string]map[string]string {
	t.Helper()
	flags := map[string]map[string]string{}
	var commands []string
	for _, line := range strings.Split(text, "\n") {
		switch heading := flagsHeading.FindStringSubmatch(line); {
		case heading != nil:
			commands = nil
			for _, name := range quoted.FindAllStringSubmatch(heading[1], -1) {
				commands = append(commands, name[1])
			}
		case strings.HasPrefix(line, "#"):
			commands = nil
		case commands != nil && strings.HasPrefix(line, "| `-"):
			cells := strings.Split(strings.ReplaceAll(line, `\|`, "/"), "|")
			name := longName.FindStringSubmatch(cells[1])
			if name == nil {
				t.Fatalf("no flag in %q", line)
			}
			for _, command := range commands {
				if flags[command] == nil {
					flags[command] = map[string]string{}
				}
				if _, twice := flags[command][name[1]]; twice {
					t.Errorf("%s has --%s twice", command, name[1])
				}
				flags[command][name[1]] = documentedDefault(strings.TrimSpace(cells[2]))
			}
		}
	}
	return flags
}

// documentedDefault translates a default of the contract to what pflag calls it.
func documentedDefault(cell string) string {
	switch cell {
	case "–":
		return ""
	case "off":
		return "false"
	}
	return strings.Trim(cell, "`")
}

func TestContractFlags(t *testing.T) {
	text, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	documented := documentedFlags(t, string(text))
	var compare func(*cobra.Command)
	compare = func(command *cobra.Command) {
		name := strings.TrimPrefix(command.CommandPath(), "jmpi ")
		if !strings.Contains(string(text), "jmpi "+name) {
			t.Errorf("the contract has no command %s", name)
		}
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			want, known := documented[name][f.Name]
			switch got := strings.Trim(f.DefValue, "[]"); {
			case f.Name == "help":
			case !known:
				t.Errorf("the contract does not have --%s of %s", f.Name, name)
			case got != want:
				t.Errorf("--%s of %s is %q by default, %q by the contract", f.Name, name, got, want)
			}
			delete(documented[name], f.Name)
		})
		for _, below := range command.Commands() {
			compare(below)
		}
	}
	for _, command := range newRootCommand().Commands() {
		compare(command)
	}
	for command, flags := range documented {
		for flag := range flags {
			t.Errorf("%s has no flag --%s, which the contract has", command, flag)
		}
	}
}

// definedExitCodes reads the values of the constants exit… from the source.
func definedExitCodes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "exit.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "exit") {
			for i, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok {
					codes[literal.Value] = spec.Names[i].Name
				}
			}
		}
		return true
	})
	return codes
}

func TestContractExitCodes(t *testing.T) {
	text, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Exit codes\n")
	if !found {
		t.Fatal("the contract has no exit codes")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	defined := definedExitCodes(t)
	if len(defined) == 0 {
		t.Error("exit.go defines no exit code")
	}
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9]+) \|`).FindAllStringSubmatch(section, -1) {
		if defined[row[1]] == "" {
			t.Errorf("the contract has exit code %s, jmpi has not", row[1])
		}
		delete(defined, row[1])
	}
	for code, name := range defined {
		t.Errorf("the contract does not have exit code %s, %s", code, name)
	}
}
