// Command jmpi computes singular value decompositions on the devices of many MPI ranks.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jmpi/dist"
	"jmpi/internal/cores"
	"jmpi/internal/stall"
)

func main() {
	process.watch()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(dist.CollectPercent)
	}
	stall.Prevent()
	process.exit(run(os.Args[1:]))
}

// rankZeroFirst is how long the other ranks leave rank 0 to print what all have met.
const rankZeroFirst = 2 * time.Second

// run executes the command line and returns the exit code; an error becomes one line on stderr. A panic ends all
// ranks.
func run(args []string) int {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "%s", debug.Stack())
			process.fail(fmt.Errorf("internal error: %v", p))
		}
	}()
	root := newRootCommand()
	root.SetArgs(withCommand(root, args))
	err := root.Execute()
	if err != nil && err.Error() != "" {
		announce(err)
	}
	return exitCode(err)
}

// announce prints an error that has ended this process. What goes wrong before MPI is started goes wrong on every rank, and the launcher
// ends all when one has ended: so rank 0 comes first. A rank that is still there then, and may be the only one with that error, prints it.
func announce(err error) {
	code := exitCode(err)
	var marked *exitError
	if !errors.As(err, &marked) { // of cobra, which quotes what was typed, and suggests commands on lines of their own
		err = errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
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

// withCommand puts "svd" before a first argument that is a file and not a command: jmpi INPUT is short for jmpi svd INPUT.
func withCommand(root *cobra.Command, args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return args
	}
	if cmd, _, err := root.Find(args); err == nil && cmd != root {
		return args
	}
	if info, err := os.Stat(args[0]); filepath.Ext(args[0]) == "" && (err != nil || info.IsDir()) {
		return args
	}
	return append([]string{"svd"}, args...)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "jmpi",
		Short:         "singular value decompositions by a hierarchically blocked Jacobi method on MPI ranks",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if onRankZero() {
				if err := cmd.Help(); err != nil {
					return err
				}
			}
			return exit(exitUsage, errElsewhere)
		},
	}
	root.AddCommand(newSVDCommand(), newBenchCommand(), newGenCommand(), newCheckCommand(), newStrategyCommand(), newPlanCommand(), newEnvCommand(), newSelftestCommand(), newVersionCommand())
	return root
}

// fromEnvironment gives every flag that was not set on the command line the value of its
// environment variable JMPI_NAME, if there is one ("--max-sweeps": JMPI_MAX_SWEEPS). A text that was given must not be empty.
func fromEnvironment(flags *pflag.FlagSet) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "JMPI_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(name)
		if ok && !f.Changed && err == nil {
			if e := flags.Set(f.Name, value); e != nil {
				err = usagef("%s=%q: %w", name, value, e)
			}
		}
		if f.Changed && f.Value.String() == "" && f.Value.Type() == "string" && err == nil {
			err = usagef("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}
