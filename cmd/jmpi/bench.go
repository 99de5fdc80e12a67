package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/gen"
	"jmpi/internal/paper"
	"jmpi/internal/rates"
	"jmpi/internal/rivals"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	sessionFlags
	methodFlags
	kind   string
	shape  string
	seed   uint64
	cond   float64
	vs     []string
	repeat int
	folder string
	checks checks
	rates  string
	// positive is how many leading columns have the sign +1 in a hyperbolic SVD; −1: the SVD
	positive int64
	paperFlags
}

func newBenchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "time the decomposition of a test matrix, beside other libraries in the same run",
		Long: `Time the decomposition of a test matrix, all singular vectors, and check every result as the command
check does.

Lines that begin with % tell the circumstances; the others are the rows
  what m n ranks devices seconds gflops sweeps residual orthU orthV ratio read upload download
seconds is the median of --repeat runs (on GPUs after one to warm up), from the matrix where it is
computed, on the GPUs or in memory, to S, U and V there (jmpi), or of the driver's call (the
others); gflops counts 14·m·n² + 8·n³ operations for each; ratio is the row's time over jmpi's.
read, upload and download are the seconds, in the last run, of reading the file and of the copies to
and from the GPUs, - where there are none; of jmpi they overlap, and add up to what passed.
Where the results are not checked in full the row ends with "% sampled" or "% not checked", and where
a run has not converged with "% not converged". --rates FILE
stores what plan computes the time of a run from: the rates of the devices on random matrices up to the
order of this one, and the sweeps that this matrix took. They take the place of what the file had. Rates
are not measured again where the file has them and a matrix of another kind or order is added.

--vs lapack runs dgesdd, dgejsv and dgesvj on all cores of rank 0's node while the other ranks rest,
--vs scalapack pdgesvd on the same ranks, --vs cusolver gesvd, gesvdj (with the library's tolerance
and with 1e-14) and gesvdp on rank 0's first GPU, timed by events on it, --vs cusolvermp cusolverMpGesvd on
the first GPUs of all ranks. A library that is not there
gives a row that says so. With --signature P jmpi computes the hyperbolic SVD, which no other library
has; orthV is then how far Vᵀ·D·V is from diag(I_P, −I). --vs values computes singular values alone, and
compares their bits with those of the first row.

` + paperHelp,
		Args: takes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			var given []string // on the command line
			cmd.Flags().Visit(func(flag *pflag.Flag) { given = append(given, flag.Name) })
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if err := f.conflict(given); err != nil {
				return err
			}
			if f.paper && !cmd.Flags().Changed("vs") {
				f.vs = []string{paper.JacobiDriver}
			}
			if err := f.validate(); err != nil {
				return err
			}
			f.unwatch()
			if f.paper {
				return runPaper(f)
			}
			return runBench(f)
		},
	}
	cmd.AddCommand(newBenchExchangeCommand(), newBenchTuneCommand())
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "gauss", "kind of the matrix: "+strings.Join(gen.Kinds(), " "))
	flags.StringVar(&f.shape, "shape", "1024x1024", "rows and columns; at least as many rows")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the random numbers")
	decimalVar(flags, &f.cond, "cond", 0, "condition number or grading of the kinds that have one")
	flags.StringSliceVar(&f.vs, "vs", nil,
		"rivals: lapack, scalapack, cusolver, cusolvermp, accumulate (jmpi with --v accumulate), float64 (with "+
			"--precision float64), values (singular values alone), or single drivers: "+
			strings.Join(rivalDrivers(), " "))
	flags.IntVar(&f.repeat, "repeat", 3, "runs of each, of which the median counts")
	flags.StringVar(&f.folder, "folder", ".",
		"where the files of the run are made and deleted; the same on all nodes")
	flags.Var(&f.checks, "check",
		"of the results: full, as the command check does; sample: estimates, by a few "+
			"random vectors, without files; none; or auto: sample for more than 2^26 numbers")
	flags.StringVar(&f.rates, "rates", "",
		"measure the rates of the devices too, and store them in this file, or "+
			"add them to it; for plan")
	flags.Int64Var(&f.positive, "signature", -1,
		"hyperbolic SVD: the number of leading columns with sign +1, the others having -1; -1: the SVD")
	f.paperFlags.register(flags)
	f.sessionFlags.register(flags)
	f.methodFlags.register(flags)
	return cmd
}

// valuesRival is jmpi where no vectors are wanted.
const valuesRival = "values"

// benchRivals are the values of --vs.
func benchRivals() []string {
	return append([]string{"lapack", "scalapack", "cusolver", "cusolvermp", "accumulate", "float64",
		valuesRival},
		rivalDrivers()...)
}

func (f *benchFlags) validate() error {
	for _, name := range f.vs {
		if err := oneOf("vs", name, benchRivals()...); err != nil {
			return err
		}
	}
	switch {
	case f.repeat < 1:
		return usagef("--repeat %d: must be at least 1", f.repeat)
	case f.positive < -1:
		return usagef("--signature %d: must be at least -1, which stands for the SVD", f.positive)
	case f.positive >= 0 && (f.checks == sampleChecks || f.rates != ""):
		return usagef("--signature: leave out --check sample and --rates, they are for the SVD")
	case f.positive >= 0 && !f.paper && len(f.vs) > 0:
		return usagef("--signature: leave out --vs, no other library has the hyperbolic SVD")
	}
	if err := oneOf("kind", f.kind, gen.Kinds()...); err != nil {
		return err
	}
	if err := f.sessionFlags.check(); err != nil {
		return err
	}
	if err := f.methodFlags.check(); err != nil {
		return err
	}
	return f.checkPaper()
}

// unwatch ends the watch of the ranks where a rival calls MPI itself, from its own thread: no beat
// may be sent meanwhile.
func (f *benchFlags) unwatch() {
	if slices.Contains(f.vs, "scalapack") || slices.Contains(f.vs, "cusolvermp") {
		f.silence.seconds = 0
	}
}

// bench is one run of the command.
type bench struct {
	*session
	f benchFlags
	benchMatrix
	signs []float64 // of the columns, for the hyperbolic SVD; nil: the SVD
	m, n  int
	ours  float64   // seconds of jmpi
	sigma []float64 // its singular values
	out   *printer

	reading float64 // seconds of reading the file for the last rival

	cusolver *rivals.CUSOLVER // once it was opened; on rank 0
	courses  []rates.Course   // what our own decompositions did
}

func runBench(f benchFlags) error {
	m, n, err := parseShape(f.shape)
	if err != nil {
		return err
	}
	if m < n || n < 1 {
		return usagef("--shape %s: bench wants at least as many rows as columns, and one column", f.shape)
	}
	s, err := newSession(f.sessionFlags)
	if err != nil {
		return err
	}
	s.quiet()
	b := &bench{session: s, f: f, m: int(m), n: int(n), out: s.printer()}
	return s.end(b.run())
}

func (b *bench) run() (err error) {
	if b.f.positive >= 0 {
		signs, kind, err := leadingSigns(b.f.positive, int64(b.n))
		if err := b.suited(signs, kind, err, b.f.methodFlags); err != nil {
			return err
		}
		b.signs = signs
	}
	if err := b.prepare(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.discard()) }()
	matrix := fmt.Sprintf("%s %dx%d", b.f.kind, b.m, b.n)
	if cond := gen.Cond(b.f.kind, b.f.cond); cond != 0 {
		matrix += fmt.Sprintf(", cond %g", cond)
	}
	b.circumstances(b.out, fmt.Sprintf("%s, seed %d", matrix, b.f.seed))
	if err := b.jmpi("jmpi", b.f.methodFlags, "both"); err != nil {
		return err
	}
	if err := b.rivals(); err != nil {
		return err
	}
	if b.f.rates != "" {
		if err := b.storeRates(); err != nil {
			return err
		}
	}
	return b.agree(comm.BadResource, b.out.err)
}

// printer is a writer that keeps its first error, and writes nothing after it.
type printer struct {
	w   io.Writer
	err error
}

func (o *printer) Write(text []byte) (n int, err error) {
	if o.err == nil {
		n, o.err = o.w.Write(text)
	}
	return n, o.err
}

// printer is stdout on rank 0, and nothing on the others.
func (s *session) printer() *printer {
	if s.comm.Rank() == 0 {
		return &printer{w: os.Stdout}
	}
	return &printer{w: io.Discard}
}

// circumstances writes the lines that say what runs where on which matrix.
func (s *session) circumstances(w *printer, matrix string) {
	fmt.Fprintf(w, "%% %s\n%% command: jmpi %s\n", version(), printable(strings.Join(os.Args[1:], " ")))
	fmt.Fprintf(w, "%% %s; %d ranks, %d devices each; cores used: %d of each rank; threads: %d of each rank\n",
		matrix, s.comm.Size(), len(s.Devices), s.choice.Cores, s.threads())
	d := s.Devices[0].Describe()
	fmt.Fprintf(w, "%% %s; %s; %s\n", d.Name, d.Library, s.comm.Library())
}

// jmpi times our own solver for these vectors, checks its last result, and prints the row, by the name what,
// and the phases. The first call sets the time and the singular values that all rows are compared with.
func (b *bench) jmpi(what string, f methodFlags, vectors string) error {
	p := problem{file: b.file, vectors: vectors, signs: b.signs}
	task := b.task(p, f)
	if b.numbers != nil {
		task.Load = b.load
	}
	var seconds []float64
	solve := func(use func(*dist.Decomposition) error) error {
		solution, err := dist.Decompose(context.Background(), b.comm, b.Devices, task)
		if err != nil {
			return b.failed(err)
		}
		defer solution.Free()
		seconds = append(seconds, solution.Seconds)
		return use(solution)
	}
	warmUp := b.warmUps()
	for run := range warmUp + b.f.repeat {
		err := solve(func(s *dist.Decomposition) error {
			if run+1 < warmUp+b.f.repeat {
				return nil
			}
			if vectors == "both" {
				b.note(s, median(seconds[warmUp:]))
			}
			if err := b.report(what, p, s, f, median(seconds[warmUp:])); err != nil || b.GPUs != nil {
				return err
			}
			return b.phases(s)
		})
		if err != nil {
			return err
		}
	}
	if b.GPUs == nil {
		return nil
	}
	// What is queued on a GPU is timed phase by phase only if each is waited for, in a run of its own.
	task.Profile = true
	return solve(b.phases)
}

// warmUps is the number of runs that are not timed: on GPUs the first one, as for the drivers of cuSOLVER.
func (s *session) warmUps() int {
	if s.GPUs != nil {
		return 1
	}
	return 0
}

// slowest returns the time of the slowest rank. It is collective.
func (s *session) slowest(seconds float64) (float64, error) {
	x := []int64{int64(seconds * 1e9)}
	if err := s.comm.AllreduceMax(x); err != nil {
		return 0, s.failed(err)
	}
	return float64(x[0]) / 1e9, nil
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
