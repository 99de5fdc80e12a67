package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jmpi/internal/hdf5"
)

// What is typed wrongly on the command line, in words that say what to type instead.

// takes returns a check that a command gets as many arguments as names.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		_, form, _ := strings.Cut(cmd.UseLine(), " ")
		form = "jmpi " + strings.TrimSuffix(form, " [flags]")
		switch {
		case len(args) < len(names):
			return usagef("%s needs %s; type %s", cmd.Name(), strings.Join(names[len(args):], " and "), form)
		case len(args) == len(names):
			if i := slices.Index(args, ""); i >= 0 {
				return usagef("%s needs %s, and was given \"\"; type %s", cmd.Name(), names[i], form)
			}
			return nil
		}
		extra := strings.Join(args[len(names):], " ")
		if sub := nearest(args[0], commandNames(cmd)); sub != "" {
			return usagef("there is no %s %s; did you mean %s %s?", cmd.Name(), extra, cmd.Name(), sub)
		}
		if slices.Contains([]string{"true", "false", "yes", "no", "on", "off"}, extra) {
			const text = "%s is one argument too many; a flag that is on or off takes no value, " +
				"as --check, or --check=false"
			return usagef(text, extra)
		}
		return usagef("%s is one argument too many; type %s", extra, form)
	}
}

// commandNames lists the commands of a command.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" {
			names = append(names, c.Name())
		}
	}
	return names
}

// unknownCommand says that jmpi has no such command.
func unknownCommand(root *cobra.Command, name string) error {
	names := commandNames(root)
	if name == "" {
		return usagef(`a command or a matrix file comes first, and "" was given; the commands are %s`,
			strings.Join(names, " "))
	}
	if filepath.Ext(name) != "" || strings.ContainsRune(name, '/') {
		return usagef("%s is no matrix file and no command; the commands are %s", name, strings.Join(names, " "))
	}
	return usagef("there is no command %s; %s", name, choose(nearest(name, names), names))
}

// choose lists the choices, after the one that is suggested, if any.
func choose(suggestion string, choices []string) string {
	list := "hoose one of " + strings.Join(choices, " ")
	if suggestion == "" {
		return "c" + list
	}
	return fmt.Sprintf("did you mean %s? C%s", suggestion, list)
}

// flagError puts an error of the parser of flags into plain words.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return unknownLetter(cmd, unknown)
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	case errors.As(err, &missing):
		f := missing.GetFlag()
		return usagef("--%s needs a value; type --%s %s", f.Name, f.Name, sample(f))
	case errors.As(err, &invalid):
		return usagef("%s", invalidValue("--"+invalid.GetFlag().Name+" ", invalid.GetFlag(), invalid.GetValue(),
			err))
	}
	return usagef("%w; %s --help lists the flags", err, cmd.CommandPath())
}

// unknownFlag says what is nearest to a flag that the command has not.
func unknownFlag(cmd *cobra.Command, name string) error {
	if cmd == cmd.Root() {
		return usagef("--%s: a command comes first; type jmpi svd INPUT, or jmpi --help", name)
	}
	if flag := nearest(name, flagNames(cmd)); flag != "" {
		return usagef("%s has no flag --%s; did you mean --%s?", cmd.Name(), name, flag)
	}
	var others []string
	for _, c := range allCommands(cmd.Root()) {
		if c.Flags().Lookup(name) != nil {
			others = append(others, c.Name())
		}
	}
	hint := cmd.CommandPath() + " --help lists its flags"
	if others != nil {
		hint = fmt.Sprintf("it is a flag of %s; %s", strings.Join(others, ", "), hint)
	}
	return usagef("%s has no flag --%s; %s", cmd.Name(), name, hint)
}

// unknownLetter is unknownFlag for a flag of one dash.
func unknownLetter(cmd *cobra.Command, err *pflag.NotExistError) error {
	letter, group := err.GetSpecifiedName(), err.GetSpecifiedShortnames()
	if group == "np" || group == "n" {
		return usagef("-%s is a flag of mpirun; type mpirun -np 4 %s …", group, cmd.CommandPath())
	}
	for _, name := range flagNames(cmd) {
		if strings.HasPrefix(name, letter) {
			const text = "%s has no flag -%s; did you mean --%s? %s --help lists its flags"
			return usagef(text, cmd.Name(), letter, name, cmd.CommandPath())
		}
	}
	return usagef("%s has no flag -%s; %s --help lists its flags", cmd.Name(), letter, cmd.CommandPath())
}

// oneDash refuses flags such as -force: the parser would take them for -f -o rce.
func oneDash(root *cobra.Command, args []string) error {
	names := map[string]bool{}
	for _, c := range allCommands(root) {
		for _, name := range flagNames(c) {
			names[name] = len(name) > 1
		}
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		switch {
		case arg == "--":
			return nil
		case strings.HasPrefix(arg, "-") && names[name]:
			return usagef("%s: long flags have two dashes; type -%s", arg, arg)
		}
	}
	return nil
}

// sample is a value that a flag may have.
func sample(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int64", "uint64":
		return "4"
	case "float64":
		if f.DefValue != "0" {
			return f.DefValue
		}
		return "1e6"
	case "intSlice":
		return "128,256"
	}
	if f.Name == "output" {
		return "NAME"
	}
	return "VALUE"
}

// invalidValue says what a value must be. given is what stands before the value: "--threads " or
// "JMPI_THREADS=".
func invalidValue(given string, f *pflag.Flag, value string, cause error) string {
	if e, ok := f.Value.(interface{ Choices() []string }); ok {
		return given + value + ": " + choose(suggestion(f.Name, value, e.Choices()), e.Choices())
	}
	what := "words with commas between them"
	switch f.Value.Type() {
	case "int", "int64":
		what = "a whole number"
	case "uint64":
		what = "a whole number, at least 0"
	case "float64":
		what = "a number"
	case "intSlice":
		what = "whole numbers with commas between them"
	case "bool":
		given = strings.TrimRight(given, " =")
		means := given + " alone means true"
		if !strings.HasPrefix(given, "-") {
			means = "type " + given + "=true"
		}
		return fmt.Sprintf("%s=%s: must be true or false; %s", given, value, means)
	}
	if errors.Is(cause, strconv.ErrRange) && !strings.HasPrefix(value, "-") {
		what = "smaller"
	}
	if errors.Is(cause, errTooSmall) {
		return fmt.Sprintf("%s%s: must be 0, or at least 4.9e-324, where float64 ends", given, value)
	}
	if value == "" {
		value = `""`
	}
	return fmt.Sprintf("%s%s: must be %s, as %s%s", given, value, what, given, sample(f))
}

// oneOf tells whether a value of a flag is one of the choices.
func oneOf(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return usagef("--%s %s: %s", flag, value, choose(suggestion(flag, value, choices), choices))
}

// suggestion is the choice that is meant, "" if none is near.
func suggestion(flag, value string, choices []string) string {
	if flag == "backend" && slices.Contains([]string{"gpu", "nvidia"}, strings.ToLower(value)) {
		return "cuda"
	}
	return nearest(value, choices)
}

// checkFolderName refuses names of files for the folder of the results.
func checkFolderName(name string) error {
	switch kind := strings.ToLower(filepath.Ext(name)); kind {
	case ".npy", ".mtx", ".f64", ".npz", ".csv", ".txt", ".mat", ".h5", ".hdf5":
		return usagef("-o %s: -o names a folder, which gets S.npy, U.npy and V.npy; type -o %s.svd",
			name, strings.TrimSuffix(name, filepath.Ext(name)))
	}
	return nil
}

// allCommands lists the commands below a command.
func allCommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		all = append(append(all, c), allCommands(c)...)
	}
	return all
}

// flagNames lists the flags of a command.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// otherVariables are the variables that no flag has. Tests mark their processes by others.
var otherVariables = []string{"JMPI_CACHE_DIR", hdf5.Variable}

const testVariables = "JMPI_TEST_"

// variableName is the environment variable of a flag.
func variableName(flag string) string {
	return "JMPI_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// unknownVariables returns a line for each variable JMPI_… that nothing reads.
func unknownVariables(root *cobra.Command, environment []string) (lines []string) {
	known := slices.Clone(otherVariables)
	const prefix = "JMPI_" // which all have: it does not make them alike
	for _, c := range allCommands(root) {
		for _, name := range flagNames(c) {
			if name != "help" {
				known = append(known, variableName(name))
			}
		}
	}
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		ours := strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, testVariables)
		if !ours || slices.Contains(known, name) {
			continue
		}
		line := printable(entry) + " has no effect: jmpi knows no such variable"
		var rests []string
		for _, k := range known {
			rests = append(rests, strings.TrimPrefix(k, prefix))
		}
		if suggestion := nearest(strings.TrimPrefix(name, prefix), rests); suggestion != "" {
			line += "; did you mean " + prefix + suggestion + "?"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// warnOfVariables logs, on rank 0, the variables that have no effect.
func warnOfVariables(cmd *cobra.Command, _ []string) error {
	if !onRankZero() {
		return nil
	}
	f := sessionFlags{log: "console"}
	if flag := cmd.Flags().Lookup("log"); flag != nil {
		f.log = flag.Value.String()
		if form, ok := os.LookupEnv("JMPI_LOG"); ok && !flag.Changed {
			f.log = form
		}
	}
	log := newLog(f, 0)
	for _, line := range unknownVariables(cmd.Root(), os.Environ()) {
		log.Warn().Msg(line)
	}
	return nil
}

// nearest returns the candidate that a word is most likely meant for, "" if none is near: one that begins
// with it, or differs from it in a third of its letters at most.
func nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, least := "", len(word)/3+1
	for _, c := range candidates {
		d := distance(word, strings.ToLower(c))
		if len(word) > 2 && strings.HasPrefix(strings.ToLower(c), word) {
			d = min(d, 1)
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace, and of neighbours to exchange, that makes
// b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
