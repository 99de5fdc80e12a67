// Command jmpi computes singular value decompositions on the devices of many MPI ranks.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jmpi/internal/cores"
	"jmpi/internal/hdf5"
	"jmpi/internal/matio"
	"jmpi/internal/parallel"
	"jmpi/internal/stall"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == hdf5.ChildArgument {
		os.Exit(hdf5.Serve())
	}
	process.watch()
	stall.Prevent()
	process.exit(run(os.Args[1:]))
}

// rankZeroFirst is how long the other ranks leave rank 0 to print what all have met.
const rankZeroFirst = 2 * time.Second

// run executes the command line and returns the exit code. A panic ends all ranks.
func run(args []string) (code int) {
	parallel.Guard(func() { code = execute(args) }, process.fail)
	return code
}

// execute executes the command line and returns the exit code; an error becomes one line on stderr.
func execute(args []string) int {
	root := newRootCommand()
	args, err := withCommand(root, args)
	if err == nil {
		err = oneDash(root, args)
	}
	if err == nil {
		root.SetArgs(withLongNames(root, args))
		err = root.Execute()
	}
	if err != nil && err.Error() != "" {
		announce(err)
	}
	return exitCode(err)
}

// announce prints an error that has ended this process. What goes wrong before MPI is started goes wrong on
// every rank, and the launcher ends all when one has ended: so rank 0 comes first. A rank that is still there
// then, and may be the only one with that error, prints it. A panic is always of this rank alone.
func announce(err error) {
	if lost := (*parallel.Panic)(nil); errors.As(err, &lost) {
		process.fail(lost) // does not return
	}
	code := exitCode(err)
	var own *ownError
	switch launcher := cores.FindLauncher(); {
	case launcher.Rank == 0:
		process.print(code, "", err)
	default:
		process.leave(code)
		time.Sleep(rankZeroFirst)
		if errors.As(err, &own) {
			process.print(code, fmt.Sprintf("rank %d on %s: ", launcher.Rank, host()), err)
		}
	}
}

// withCommand puts "svd" before a first argument that is a file and not a command: jmpi INPUT is
// short for jmpi svd INPUT.
func withCommand(root *cobra.Command, args []string) ([]string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || slices.Contains(lateCommands, args[0]) {
		return args, nil
	}
	if cmd, _, err := root.Find(args); err == nil && cmd != root {
		return args, nil
	}
	name, _ := matio.SplitName(args[0])
	if info, err := os.Stat(name); filepath.Ext(name) == "" && (err != nil || info.IsDir()) {
		return nil, unknownCommand(root, args[0])
	}
	return append([]string{"svd"}, args...), nil
}

// lateCommands are commands that cobra adds when it starts.
var lateCommands = []string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

const rootHelp = `jmpi computes the singular value decomposition A = U·diag(S)·Vᵀ, or the hyperbolic one, of a
dense real matrix: all singular vectors, on many MPI ranks, on CPUs and GPUs.

  jmpi gen gauss -o a.npy --shape 1000x800      makes a matrix
  mpirun -np 4 jmpi svd a.npy -o a.svd          decomposes it
  jmpi check a.npy a.svd                        judges the result`

func newRootCommand() *cobra.Command {
	var printVersion bool
	root := &cobra.Command{
		Use:               "jmpi",
		Short:             "singular value decompositions by a hierarchically blocked Jacobi method on MPI ranks",
		Long:              rootHelp,
		Args:              takes(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: warnOfVariables,
		RunE: func(cmd *cobra.Command, args []string) error {
			if printVersion {
				if !onRankZero() {
					return nil
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "jmpi %s\n", version())
				return exit(exitFailure, err)
			}
			if onRankZero() {
				if err := cmd.Help(); err != nil {
					return err
				}
			}
			return exit(exitUsage, errElsewhere)
		},
	}
	root.AddCommand(newSVDCommand(), newBenchCommand(), newGenCommand(), newCheckCommand(), newStrategyCommand(),
		newPlanCommand(), newReportCommand(), newEnvCommand(), newSelftestCommand(),
		newVersionCommand(), newWatchCommand(), newManCommand())
	root.Flags().BoolVar(&printVersion, "version", false, "print the version of jmpi")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCommand())
	completeAll(root)
	return root
}

// newHelpCommand makes the command help, which unlike cobra's refuses the name of a command that there is
// not.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "print the help of a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			topic, _, err := cmd.Root().Find(args)
			if err != nil {
				topic = cmd.Root()
			}
			return commandNames(topic), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(args) > 0 && topic == cmd.Root() {
				return unknownCommand(cmd.Root(), args[0]) // also of cobra's own error
			} else if len(rest) > 0 {
				return takes()(topic, rest)
			}
			if !onRankZero() {
				return nil
			}
			topic.InitDefaultHelpFlag()
			return exit(exitFailure, topic.Help())
		},
	}
}

// fromEnvironment gives every flag that was not set on the command line the value of its environment variable
// JMPI_NAME, if there is one ("--max-sweeps": JMPI_MAX_SWEEPS). A text that was given must not be empty.
func fromEnvironment(flags *pflag.FlagSet) error {
	var err error
	set := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		name := variableName(f.Name)
		value, ok := os.LookupEnv(name)
		if ok && !f.Changed && f.Name != "help" && err == nil {
			set[f.Name] = name
			if e := flags.Set(f.Name, value); e != nil {
				err = usagef("%s", invalidValue(name+"=", f, value, e))
			}
		}
		if f.Changed && f.Value.Type() == "string" && err == nil {
			switch text := f.Value.String(); {
			case text == "":
				err = usagef("--%s is empty: give it a value, or leave it out", f.Name)
			case strings.HasPrefix(text, "--"):
				err = usagef("--%s %s: the value of --%s is missing before %s", f.Name, text, f.Name, text)
			}
		}
	})
	variables.Store(&set)
	return err
}
