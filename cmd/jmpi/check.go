package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"jmpi/internal/matio"
	"jmpi/internal/reference"
	info "jmpi/internal/report"
	"jmpi/internal/residual"
	"jmpi/internal/rivals"
)

// checkFlags are the flags of check.
type checkFlags struct {
	sigmaTol  float64
	reference bool
	vs        []string
}

func newCheckCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check INPUT DIR",
		Short: "judge the decomposition of INPUT in the folder DIR",
		Long: `Judge S.npy, U.npy and V.npy in DIR as a singular value decomposition of the matrix in INPUT, by the
files alone.

Each line is "name = value  PASSED", FAILED or skipped (a factor is missing), with ε = 2⁻⁵² and k =
min(m,n):
  residual   ‖A−U·S·Vᵀ‖_F / (‖A‖_F·max(m,n)·ε)                    passes below 10
  orthU      ‖UᵀU−I‖_F / (k·ε), and orthV the same of V           passes below 10
  order      number of values in S that are negative or out of order
  sign       number of columns of U whose largest entry is not positive
  sigma      largest relative error of S, if INPUT's name with .sigma.npy for its extension is a file
  reference  with --reference, the largest relative error of S against the true singular values, computed with
             as many digits as it takes; where they are 0, S may have k·ε times the largest
  dgesdd     with --vs dgesdd, the same of the singular values that LAPACK's dgesdd finds, which is not
             judged;
             without --reference it is compared with the file of sigma
Where U or V is missing, residual is skipped, and these must be below 10, in units of max(m,n)·ε:
  norm       |‖A‖_F²−ΣS²|/‖A‖_F², and without U and V norm4: |‖AᵀA‖_F²−ΣS⁴|/‖A‖_F⁴
  rayleighU  max |‖Aᵀu‖−σ|/‖A‖_F, and rayleighV the same of V and Aᵀ, as the following
  eigenU     ‖AAᵀU−U·S²‖_F/‖A‖_F²
  rangeU     ‖A−U·UᵀA‖_F/‖A‖_F, if U has more rows than columns
For a hyperbolic decomposition (info.json has its signature) residual is ‖A−U·S·Vᵀ‖_F /
(‖U·S‖_F·‖V‖_F·max(m,n)·ε), orthV is ‖VᵀDV−J‖_F / (‖V‖_F²·ε), and for sigma there is lambda, the
largest relative error of the eigenvalues S²·J. Without U or V the rows judge A·D·Aᵀ instead of
A·Aᵀ, and ‖S‖_F·‖V‖_F takes the place of one ‖A‖_F. The last line is PASSED or FAILED; the exit code
is 0 or 5, and 3 if INPUT or DIR cannot be used. Under mpirun only rank 0 works.`,
		Args: takes("INPUT", "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if err := f.validate(); err != nil {
				return err
			}
			if !onRankZero() {
				return nil
			}
			return f.check(args[0], args[1])
		},
	}
	flags := cmd.Flags()
	decimalVar(flags, &f.sigmaTol, "sigma-tol", 1e-10,
		"relative error below which the rows sigma, reference and lambda pass")
	flags.BoolVar(&f.reference, "reference", false,
		fmt.Sprintf("compute the true singular values; min(m,n) up to %d", reference.MaxOrder))
	flags.StringSliceVar(&f.vs, "vs", nil,
		"compare drivers of LAPACK with the same true singular values: "+strings.Join(lapackDrivers, " "))
	return cmd
}

func (f *checkFlags) validate() error {
	if !(f.sigmaTol > 0) {
		return usagef("--sigma-tol %g: must be positive", f.sigmaTol)
	}
	for _, driver := range f.vs {
		if err := oneOf("vs", driver, lapackDrivers...); err != nil {
			return err
		}
	}
	return nil
}

// check prints the verdict.
func (f *checkFlags) check(input, dir string) error {
	matio.Prepare(input, matio.Result(dir, "S"))
	name, _ := matio.SplitName(input)
	first, errFirst := os.Stat(name)
	second, errSecond := os.Stat(dir)
	if errFirst == nil && errSecond == nil && first.IsDir() && second.Mode().IsRegular() {
		return usagef("the matrix comes first, then the folder; type jmpi check %s %s", dir, input)
	}
	file, err := matio.Open(input)
	if err != nil {
		return exit(exitInput, err)
	}
	defer file.Close()
	if errors.Is(errSecond, fs.ErrNotExist) {
		return exit(exitInput, fmt.Errorf("%s: there is no such folder; name one that jmpi svd has written", dir))
	}
	options := residual.Beside(input)
	options.SigmaTol = f.sigmaTol
	sigma, err := f.truth(file, options.SigmaFile)
	if err != nil {
		return exit(exitInput, err)
	}
	if f.reference {
		options.Reference = sigma
	}
	report, err := residual.Check(file, dir, options)
	if err != nil {
		return exit(exitInput, err)
	}
	for _, driver := range f.vs {
		row, err := compare(driver, file, sigma)
		if err != nil {
			return exit(exitFailure, err)
		}
		report.Rows = append(report.Rows, row)
	}
	if untold(dir) {
		fmt.Printf("metadata is missing: %s has no info.json of jmpi, and is judged as a whole SVD\n", dir)
	}
	if err := report.WriteText(os.Stdout); err != nil {
		return exit(exitFailure, err)
	}
	if !report.Passed() {
		return exit(exitCheckFailed, fmt.Errorf("the check of %s against %s failed", dir, input))
	}
	return nil
}

// untold tells whether a folder has no info.json, or one that says nothing of the decomposition.
func untold(dir string) bool {
	path := filepath.Join(dir, "info.json")
	told, err := info.Read(path)
	written, e := info.Written(path)
	return err == nil && told == (info.Told{}) && (e != nil || !written)
}

// truth returns the true singular values if the flags need them: by the reference solver, or from
// the file beside the input.
func (f *checkFlags) truth(file *matio.File, beside string) ([]float64, error) {
	if f.reference {
		if err := reference.Fits(file.Rows, file.Cols); err != nil {
			return nil, usagef("--reference: %w", err)
		}
		a, err := readAll(file)
		if err != nil {
			return nil, err
		}
		return reference.Sigma(a, int(file.Rows), int(file.Cols), max(1, int(file.Rows)))
	}
	if len(f.vs) == 0 {
		return nil, nil
	}
	sigma, err := matio.ReadVector(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--vs needs the true singular values, and there is no %s: add --reference", beside)
	}
	return sigma, err
}

// compared is the verdict on a value that stands beside the others and is not judged.
const compared residual.Verdict = "compared"

// compare returns the row of a driver of LAPACK, which is skipped where the library or the driver is missing.
func compare(driver string, file *matio.File, sigma []float64) (residual.Row, error) {
	row := residual.Row{Name: driver, Value: math.NaN(), Verdict: residual.Skipped}
	a, err := readAll(file)
	if err != nil {
		return row, err
	}
	lapack, err := rivals.OpenLAPACK()
	var result rivals.Result
	if err == nil {
		lapack.Threads = runtime.GOMAXPROCS(0)
		result, err = lapack.SVD(driver, int(file.Rows), int(file.Cols), a)
	}
	switch {
	case errors.Is(err, rivals.ErrMissing):
		return row, nil
	case err == nil && len(result.Sigma) != len(sigma):
		err = fmt.Errorf("%d true singular values for a %d×%d matrix", len(sigma), file.Rows, file.Cols)
	case err == nil:
		row.Value, row.Verdict = residual.RelativeError(result.Sigma, sigma), compared
	}
	return row, err
}

// readAll reads the whole matrix, column-major without gaps.
func readAll(file *matio.File) ([]float64, error) {
	a := make([]float64, file.Rows*file.Cols)
	return a, file.ReadColumns(0, file.Cols, a, max(1, int(file.Rows)))
}
