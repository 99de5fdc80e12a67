package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/hdf5"
	"jmpi/internal/matio"
	"jmpi/internal/residual"
	"jmpi/internal/results"
)

// svdFlags are the flags of svd.
type svdFlags struct {
	sessionFlags
	methodFlags
	checkpointFlags
	outputFlags
	vectors string
	check   bool
	verify  bool
	trace   string
	part    part
	// signature is P, or the name of a file; read, its signs, nil for the SVD.
	signature string
	signs     []float64
}

func newSVDCommand() *cobra.Command {
	var f svdFlags
	cmd := &cobra.Command{
		Use:   "svd INPUT [-o DIR]",
		Short: "decompose a matrix: A = U·diag(S)·Vᵀ",
		Long: `Decompose the matrix in INPUT (.npy, .mtx, HDF5 and MATLAB 7.3: FILE.h5:/SET, FILE.mat, or raw:
NAME.MxN.rowmajor.f64, NAME.MxN.colmajor.f64): A = U·diag(S)·Vᵀ with S non-increasing.

DIR gets S.npy, U.npy (m×k), V.npy (n×k: V, not its transpose; k = min(m,n), or fewer with --k and
--rtol) and info.json, all together at the end. With --signature it is the hyperbolic SVD of a matrix
with m ≥ n: A = U·diag(S)·Vᵀ, UᵀU = I, Vᵀ·D·V = diag(I_P, −I), D = diag(signature). Without -o, DIR is
INPUT without its extension, plus ".svd". Start it on many ranks with mpirun -np N jmpi svd …`,
		Args: takes("INPUT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if err := f.validate(); err != nil {
				return err
			}
			if f.output == "" {
				f.output = matio.Stem(args[0]) + ".svd"
			}
			return runSVD(args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.vectors, "vectors", "both", "singular vectors to compute: both, u, v or none")
	flags.StringVar(&f.signature, "signature", "",
		"hyperbolic SVD: P, the number of leading columns with sign +1, the others having -1, or a "+
			".npy file of n numbers +1 or -1")
	flags.BoolVar(&f.verify, "verify-input", false,
		"where hosts have copies of the input, compare all of their bytes, not samples")
	flags.BoolVar(&f.check, "check", false, "check the results at the end, as the command check does")
	flags.StringVar(&f.trace, "trace", "",
		"a JSON file: what each device and each rank did when, for https://ui.perfetto.dev")
	f.part.register(flags)
	f.outputFlags.register(flags)
	f.sessionFlags.register(flags)
	f.methodFlags.register(flags)
	f.checkpointFlags.register(flags)
	return cmd
}

// part says which part of the spectrum is wanted.
type part struct {
	k    int     // so many singular values at most; 0: all
	rtol float64 // those above rtol times the largest; 0: all
}

func (p *part) register(flags *pflag.FlagSet) {
	flags.IntVar(&p.k, "k", 0, "write the K largest singular values and their vectors, or all if there are "+
		"fewer; 0: all")
	decimalVar(flags, &p.rtol, "rtol", 0,
		"write the singular values above R times the largest, and their vectors; 0: all")
}

// check refuses what is no part, and a part of a hyperbolic SVD, whose S has no order by size.
func (p part) check(hyperbolic bool) error {
	switch {
	case p.k < 0:
		return usagef("--k %d: must be at least 1, or 0 for all singular values", p.k)
	case !(p.rtol >= 0 && p.rtol < 1):
		return usagef("--rtol %g: must be at least 0 and below 1", p.rtol)
	case hyperbolic && p != part{}:
		return usagef("--k and --rtol take the largest part of an SVD; a hyperbolic SVD (--signature) has none: " +
			"leave them out")
	}
	return nil
}

// of returns how many of n singular values are wanted at most.
func (p part) of(n int64) int64 {
	if p.k == 0 {
		return n
	}
	return min(n, int64(p.k))
}

// vectorChoices are the values of --vectors.
var vectorChoices = []string{"both", "u", "v", "none"}

func (f *svdFlags) validate() error {
	if err := oneOf("vectors", f.vectors, vectorChoices...); err != nil {
		return err
	}
	if err := checkFolderName(f.output); err != nil {
		return err
	}
	if err := f.part.check(f.signature != ""); err != nil {
		return err
	}
	if err := f.sessionFlags.check(); err != nil {
		return err
	}
	if err := f.checkpointFlags.check(); err != nil {
		return err
	}
	return f.methodFlags.check()
}

// runSVD is the command svd on one rank.
func runSVD(input string, f svdFlags) error {
	f.withoutMPI = true
	process.requests.begin(f.dir)
	f.prepare(input)
	s, err := newSession(f.sessionFlags)
	if err != nil {
		return err
	}
	s.header()
	return s.end(s.svd(input, f))
}

// svd reads, solves, writes and, if asked, checks.
func (s *session) svd(input string, f svdFlags) error {
	if s.comm.Rank() == 0 {
		s.progress = newProgress(s.log)
		defer s.progress.stop()
	}
	file, err := matio.Open(input)
	if err := s.agree(comm.BadInput, err); err != nil {
		return err
	}
	defer file.Close()
	if err := s.sameOptions(f); err != nil {
		return err
	}
	if err := s.agree(comm.BadInput, f.apart()); err != nil {
		return err
	}
	if err := s.sameFile(file, input, f.verify); err != nil {
		return err
	}
	if f.signs, err = s.readSignature(file, f); err != nil {
		return err
	}
	if err := s.startTrace(f.trace); err != nil {
		return err
	}
	p := problem{file: file, wide: file.Rows < file.Cols, vectors: f.vectors, part: f.part, signs: f.signs}
	if s.kept, err = s.journal(file, p, f); err != nil {
		return err
	}
	if done, err := s.finished(s.kept, p, f); err != nil {
		return err
	} else if done {
		return s.verdictOf(exitDone, file, input, f)
	}
	s.hintAtBLAS(file.Rows, file.Cols)
	begin := time.Now()
	folder, err := s.target(input, p, f)
	s.took("reserve", begin)
	if err != nil {
		s.kept.Abandon()
		return err
	}
	s.progress.tellBy(s.job(), folder.Tell)
	hdf5.Release() // no more files are opened
	code, err := s.decompose(p, folder, f)
	if err != nil {
		return errors.Join(err, s.discard(folder))
	}
	return s.verdictOf(code, file, input, f)
}

// verdictOf checks the results, if that was asked for, and says what has become of the run, which has ended
// with a code. It is collective.
func (s *session) verdictOf(code int, file *matio.File, input string, f svdFlags) (err error) {
	passed := true
	if f.check {
		checked := time.Now()
		if passed, err = s.checkResult(file, input, f.output); err != nil {
			return err
		}
		s.spans.Span(0, "check", checked, time.Now())
		s.progress.end()
	}
	if err := s.writeTrace(); err != nil {
		return err
	}
	switch {
	case code == exitNotConverged:
		return s.verdict(code, fmt.Errorf("not converged in %d sweeps; the results in %s are marked so: raise "+
			"--max-sweeps", f.maxSweeps, f.output))
	case !passed:
		return s.verdict(exitCheckFailed, fmt.Errorf("the check of %s failed", f.output))
	}
	return nil
}

// apart refuses a checkpoint and a trace in the folder of the results, and what is not of a checkpoint in the
// folder of that.
func (f svdFlags) apart() error {
	for _, x := range []struct{ flag, path, of, folder string }{
		{"checkpoint", f.dir, "results", f.output}, {"trace", f.trace, "results", f.output},
		{"output", f.output, "checkpoint", f.dir}, {"trace", f.trace, "checkpoint", f.dir},
	} {
		if x.path != "" && x.folder != "" && results.Within(x.folder, x.path) {
			return fmt.Errorf("--%s %s: %s is the folder of the %s, which holds nothing else; choose another place",
				x.flag, x.path, x.folder, x.of)
		}
	}
	return nil
}

// sameOptions compares the options that shape the run over all ranks.
func (s *session) sameOptions(f svdFlags) error {
	options := fmt.Sprintf("%s %s %s block %d inner-block %d max-sweeps %d precondition %s v "+
		"%s precision %s vectors %s "+
		"signature %q k %d rtol %g format %s force %t check %t verify-input %t trace %q checkpoint %v",
		f.strategy, f.scheme, f.variant, f.block, f.innerBlock, f.maxSweeps, f.precondition, f.v, f.precision,
		f.vectors, f.signature, f.part.k, f.part.rtol, f.format, f.force, f.check, f.verify, f.trace,
		f.checkpointFlags)
	return s.same("the options are", options)
}

// largeV is the mean square of the norms of the columns of V (1 for the SVD) beyond which the user of a
// hyperbolic SVD is warned.
const largeV = 100

// decompose solves and writes the results into the folder, and publishes it. It returns the exit code.
func (s *session) decompose(p problem, folder *results.Folder, f svdFlags) (int, error) {
	if p.empty() {
		return exitDone, s.agree(comm.BadResource, s.writeEmpty(p, folder, f))
	}
	s.progress.read(float64(p.rows())*float64(p.k()), s.comm.Size())
	solution, err := dist.Decompose(context.Background(), s.comm, s.Devices, s.task(p, f.methodFlags))
	if err != nil {
		return 0, s.failed(err)
	}
	defer solution.Free()
	s.progress.begin(writing)
	begin := time.Now()
	if err := s.write(p, solution, folder, f); err != nil {
		return 0, err
	}
	s.spans.Span(0, "write", begin, time.Now())
	s.progress.begin(checking)
	s.sayTimes(solution)
	sigma := solution.Sigma[:max(1, solution.Count)] // where nothing is left of it, the largest
	s.log.Info().Float64("seconds", digits(time.Since(started).Seconds())).Int("sweeps", len(solution.Sweeps)).
		Bool("converged", solution.Converged).Float64("sigma_max", digits(slices.Max(sigma))).
		Float64("sigma_min", digits(slices.Min(sigma))).Str("results", f.output).Msg("done")
	if square := solution.VNorm * solution.VNorm; square > largeV*float64(p.k()) {
		s.log.Warn().Float64("norm_of_V", digits(solution.VNorm)).
			Msgf("use --check: columns of different signs are nearly equal, and relative errors may be as "+
				"large as %.1g", 0x1p-52*square)
	}
	if o := p.outOfRange(solution); o != (dist.OutOfRange{}) {
		s.log.Warn().Int("columns", o.Columns).Int("rows", o.Rows).
			Msgf("so many columns and rows are smaller than %.0e times the largest: singular values of their size "+
				"may have no correct digit, or be 0", dist.LeastShare)
	}
	if !solution.Converged {
		return exitNotConverged, nil
	}
	return exitDone, nil
}

// sayTimes logs where the time of the run went, on rank 0.
func (s *session) sayTimes(d *dist.Decomposition) {
	t := d.Traffic()
	line := s.log.Info()
	for _, step := range []struct {
		name    string
		seconds float64
	}{
		{"mpi", s.seconds["mpi"]}, {"devices", s.seconds["devices"]}, {"reserve", s.seconds["reserve"]},
		{"read", t.Read}, {"upload", t.Upload}, {"compute", d.Seconds}, {"download", t.Download},
		{"write", t.Write}, {"sync", s.seconds["sync"]}, {"publish", s.seconds["publish"]},
	} {
		line = line.Float64(step.name, digits(step.seconds))
	}
	line.Msg("times")
}

// checkResult runs the check on rank 0 and tells all ranks whether it has passed.
func (s *session) checkResult(file *matio.File, input, dir string) (passed bool, err error) {
	var failures int64
	if s.comm.Rank() == 0 {
		var report residual.Report
		if report, err = residual.Check(file, dir, residual.Beside(input)); err == nil {
			shownBar.hide()
			err = report.WriteText(os.Stdout)
			if !report.Passed() {
				failures = 1
			}
		}
	}
	if err := s.agree(comm.BadResource, err); err != nil {
		return false, err
	}
	x := []int64{failures}
	if err := s.comm.AllreduceMax(x); err != nil {
		return false, s.failed(err)
	}
	return x[0] == 0, nil
}
