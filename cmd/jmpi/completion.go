package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jmpi/dist/jacobi"
	"jmpi/internal/gen"
	"jmpi/strategy"
)

// What a shell offers when the user presses the tab key.

// matrixExtensions are those of the files that hold a matrix.
var matrixExtensions = []string{"npy", "mtx", "f64", "h5", "hdf5", "mat"}

var (
	inputFiles = filesOf(matrixExtensions...)
	npyFiles   = filesOf("npy")
	anyFile    = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	folders    = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	strategies = append([]string{jacobi.AutoStrategy}, strategy.Names()...)
)

// argumentCompletions say what each argument of a command may be.
var argumentCompletions = map[string][]cobra.CompletionFunc{
	"svd":      {inputFiles},
	"check":    {inputFiles, folders},
	"gen":      {words(gen.Kinds()...)},
	"report":   {folders},
	"watch":    {folders},
	"man":      {folders},
	"strategy": {words(strategy.Names()...)},
}

// flagCompletions say what the values of flags may be, by the name of the flag, or by the command and the
// name where these differ. Flags whose type lists its values need no entry. A flag that is not here takes a
// number or a text of which nothing can be said.
var flagCompletions = map[string]cobra.CompletionFunc{
	"vectors": words(vectorChoices...), "log": words(logForms...), "kind": words(gen.Kinds()...),
	"strategy": words(strategies...), "strategies": lists(strategy.Names()), "objective": words(objectives...),
	"bench vs": lists(benchRivals()), "check vs": lists(lapackDrivers),
	"svd output": folders, "bench output": folders, "report output": filesOf("html"),
	"gen output":    filesOf("npy", "h5", "hdf5", "mat"),
	"svd signature": npyFiles, "checkpoint": folders, "folder": folders, "trace": filesOf("json"),
	"rates": anyFile, "hostfile": anyFile, "network": anyFile,
}

// completeAll tells cobra what a shell may offer for the arguments and flags of all commands.
func completeAll(root *cobra.Command) {
	root.ValidArgsFunction = fileOrCommand
	for _, c := range allCommands(root) {
		c.ValidArgsFunction = inTurn(argumentCompletions[c.Name()])
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if completion := flagCompletion(c, f); completion != nil {
				// It fails where the flag is unknown, or has a completion already: neither can be.
				_ = c.RegisterFlagCompletionFunc(f.Name, completion)
			}
		})
	}
}

// flagCompletion returns what may stand after a flag; nil after one that is on or off.
func flagCompletion(c *cobra.Command, f *pflag.Flag) cobra.CompletionFunc {
	if f.Value.Type() == "bool" {
		return nil
	}
	if e, ok := f.Value.(interface{ Choices() []string }); ok {
		return words(e.Choices()...)
	}
	for _, name := range []string{c.Name() + " " + f.Name, f.Name} {
		if completion, ok := flagCompletions[name]; ok {
			return completion
		}
	}
	return cobra.NoFileCompletions
}

// oneLetter is a long flag of one letter, as --v, perhaps with its value.
var oneLetter = regexp.MustCompile(`^--[a-z](=|$)`)

// withLongNames gives each long flag of one letter a second name in a request of a shell, and calls it by
// that: cobra would look for a short flag, and offer nothing.
func withLongNames(root *cobra.Command, args []string) []string {
	if len(args) == 0 || !slices.Contains(lateCommands[2:], args[0]) {
		return args
	}
	const end = "-in-full"
	for _, c := range allCommands(root) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if len(f.Name) == 1 {
				other := *f
				other.Name, other.Hidden = f.Name+end, true
				c.Flags().AddFlag(&other)
				_ = c.RegisterFlagCompletionFunc(other.Name, flagCompletion(c, f))
			}
		})
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		} else if oneLetter.MatchString(arg) && (i < len(args)-1 || len(arg) > 3) {
			args[i] = arg[:3] + end + arg[3:]
		}
	}
	return args
}

// words offers words, and no files.
func words(choices ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

// filesOf offers the files with these extensions, and folders on the way to them.
func filesOf(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// lists offers words that may stand in a list with commas, but those that are in it already.
func lists(choices []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		given := typed[:strings.LastIndex(typed, ",")+1]
		var offered []string
		for _, word := range choices {
			if !slices.Contains(strings.Split(given, ","), word) {
				offered = append(offered, given+word)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// inTurn offers what the next argument may be, and nothing after the last.
func inTurn(arguments []cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(arguments) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return arguments[len(args)](cmd, args, typed)
	}
}

// fileOrCommand offers matrix files where no command begins with what is typed: jmpi INPUT is a command line.
func fileOrCommand(root *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	begins := func(name string) bool { return strings.HasPrefix(name, typed) }
	if len(args) > 0 || slices.ContainsFunc(append(commandNames(root), lateCommands...), begins) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return inputFiles(root, args, typed)
}
