// Command jmpi computes singular value decompositions on the devices of many MPI ranks.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run executes the command line and returns the exit code; errors become one line on stderr.
func run(args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "jmpi: internal error: %v\n", p)
			code = exitFailure
		}
	}()
	root := newRootCommand()
	root.SetArgs(args)
	err := root.Execute()
	if err != nil && err.Error() != "" {
		fmt.Fprintf(os.Stderr, "jmpi: %v\n", err)
	}
	return exitCode(err)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "jmpi",
		Short:         "singular value decompositions by a hierarchically blocked Jacobi method on MPI ranks",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand()
	return root
}

// fromEnvironment gives every flag that was not set on the command line the value of its
// environment variable JMPI_NAME, if there is one ("--max-sweeps": JMPI_MAX_SWEEPS).
func fromEnvironment(flags *pflag.FlagSet) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "JMPI_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(name)
		if !ok || f.Changed || err != nil {
			return
		}
		if e := flags.Set(f.Name, value); e != nil {
			err = usagef("%s=%q: %w", name, value, e)
		}
	})
	return err
}
