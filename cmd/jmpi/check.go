package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"jmpi/internal/gen"
	"jmpi/internal/matio"
	"jmpi/internal/residual"
)

func newCheckCommand() *cobra.Command {
	var sigmaTol float64
	cmd := &cobra.Command{
		Use:   "check INPUT DIR",
		Short: "judge the decomposition of INPUT in the folder DIR",
		Long: `Judge S.npy, U.npy and V.npy in DIR as a singular value decomposition of the matrix in INPUT, by the files alone.

Each line is "name = value  PASSED", FAILED or skipped (a factor is missing), with ε = 2⁻⁵² and k = min(m,n):
  residual  ‖A−U·S·Vᵀ‖_F / (‖A‖_F·max(m,n)·ε)                    passes below 10
  orthU     ‖UᵀU−I‖_F / (k·ε), and orthV the same of V           passes below 10
  order     number of values in S that are negative or out of order
  sign      number of columns of U whose largest entry is not positive
  sigma     largest relative error of S, if INPUT's name with .sigma.npy for its extension is a file
The last line is PASSED or FAILED; the exit code is 0 or 5, and 3 if INPUT or DIR cannot be used. Under mpirun only rank 0 works.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if !(sigmaTol > 0) {
				return usagef("--sigma-tol %g: must be positive", sigmaTol)
			}
			if !onRankZero() {
				return nil
			}
			return checkFiles(args[0], args[1], sigmaTol)
		},
	}
	cmd.Flags().Float64Var(&sigmaTol, "sigma-tol", 1e-10, "relative error below which the row sigma passes")
	return cmd
}

// checkFiles prints the verdict.
func checkFiles(input, dir string, sigmaTol float64) error {
	file, err := matio.Open(input)
	if err != nil {
		return exit(exitInput, err)
	}
	defer file.Close()
	report, err := residual.Check(file, dir, residual.Options{SigmaFile: gen.Sidecar(input, "sigma"), SigmaTol: sigmaTol})
	if err != nil {
		return exit(exitInput, err)
	}
	if err := report.WriteText(os.Stdout); err != nil {
		return exit(exitFailure, err)
	}
	if !report.Passed() {
		return exit(exitCheckFailed, fmt.Errorf("the check of %s against %s failed", dir, input))
	}
	return nil
}
