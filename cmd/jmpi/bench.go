package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/gen"
	"jmpi/internal/matio"
	"jmpi/internal/paper"
	"jmpi/internal/residual"
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
--vs lapack runs dgesdd, dgejsv and dgesvj on all cores of rank 0's node while the other ranks rest,
--vs scalapack pdgesvd on the same ranks, --vs cusolver gesvd, gesvdj (with the library's tolerance
and with 1e-14) and gesvdp on rank 0's first GPU, timed by events on it. A library that is not there
gives a row that says so. With --signature P jmpi computes the hyperbolic SVD, which no other library
has; orthV is then how far Vᵀ·D·V is from diag(I_P, −I).

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
	cmd.AddCommand(newBenchExchangeCommand())
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "gauss", "kind of the matrix: "+strings.Join(gen.Kinds(), " "))
	flags.StringVar(&f.shape, "shape", "1024x1024", "rows and columns; at least as many rows")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the random numbers")
	flags.Float64Var(&f.cond, "cond", 0, "condition number or grading of the kinds that have one")
	flags.StringSliceVar(&f.vs, "vs", nil,
		"rivals: lapack, scalapack, cusolver, accumulate (jmpi with --v accumulate), float64 (with "+
			"--precision float64), or single drivers: "+strings.Join(rivalDrivers(), " "))
	flags.IntVar(&f.repeat, "repeat", 3, "runs of each, of which the median counts")
	flags.StringVar(&f.folder, "folder", ".",
		"where the files of the run are made and deleted; the same on all nodes")
	flags.Int64Var(&f.positive, "signature", -1,
		"hyperbolic SVD: the number of leading columns with sign +1, the others having -1; -1: the SVD")
	f.paperFlags.register(flags)
	f.sessionFlags.register(flags)
	f.methodFlags.register(flags)
	return cmd
}

func (f *benchFlags) validate() error {
	known := append([]string{"lapack", "scalapack", "cusolver", "accumulate", "float64"}, rivalDrivers()...)
	for _, name := range f.vs {
		if err := oneOf("vs", name, known...); err != nil {
			return err
		}
	}
	switch {
	case f.repeat < 1:
		return usagef("--repeat %d: must be at least 1", f.repeat)
	case f.positive < -1:
		return usagef("--signature %d: must be at least -1, which stands for the SVD", f.positive)
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
	if slices.Contains(f.vs, "scalapack") {
		f.silence = 0
	}
}

// bench is one run of the command.
type bench struct {
	*session
	f      benchFlags
	folder string // holds a.npy and the results
	file   *matio.File
	signs  []float64 // of the columns, for the hyperbolic SVD; nil: the SVD
	m, n   int
	ours   float64 // seconds of jmpi
	out    *printer

	reading float64 // seconds of reading the file for the last rival

	cusolver *rivals.CUSOLVER // once it was opened; on rank 0
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
	b.f.resolve(b.devices[0].Limits(), mixed(b.signs))
	if err := b.prepare(); err != nil {
		return err
	}
	defer func() {
		b.file.Close()
		err = errors.Join(err, b.discard())
	}()
	b.circumstances(b.out, fmt.Sprintf("%s %dx%d, seed %d", b.f.kind, b.m, b.n, b.f.seed))
	if err := b.jmpi("jmpi", b.f.methodFlags); err != nil {
		return err
	}
	if err := b.rivals(); err != nil {
		return err
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
		matrix, s.comm.Size(), len(s.devices), s.choice.Cores, s.threads())
	d := s.devices[0].Describe()
	fmt.Fprintf(w, "%% %s; %s; %s\n", d.Name, d.Library, s.comm.Library())
}

// prepare generates the matrix, on rank 0, in a folder that all ranks see.
func (b *bench) prepare() error {
	var err error
	if b.comm.Rank() == 0 {
		b.folder, err = process.make(func() (string, error) { return os.MkdirTemp(b.f.folder, ".jmpi-bench-*") })
		if err == nil {
			var a *gen.Matrix
			a, err = gen.New(b.f.kind, gen.Options{Rows: int64(b.m), Cols: int64(b.n), Seed: b.f.seed, Cond: b.f.cond})
			if err == nil {
				err = writeMatrix(b.input(), a)
			}
		}
	}
	kind := comm.BadInput
	if errors.Is(err, gen.ErrOptions) {
		kind = comm.BadUse
	}
	if e := b.agree(kind, err); e != nil {
		return errors.Join(e, b.discard())
	}
	all, err := b.comm.Allgather([]byte(b.folder))
	if err != nil {
		return b.failed(err)
	}
	if b.comm.Rank() != 0 {
		b.folder, _ = process.make(func() (string, error) { return string(all[0]), nil }) // rank 0 has done it
	}
	b.file, err = matio.Open(b.input())
	if e := b.agree(comm.BadInput, err); e != nil {
		return errors.Join(e, b.discard())
	}
	return nil
}

// discard deletes the folder, on rank 0.
func (b *bench) discard() error {
	if b.comm.Rank() != 0 {
		return process.discard(b.folder, nothing)
	}
	return process.discard(b.folder, func() error { return os.RemoveAll(b.folder) })
}

func (b *bench) input() string { return filepath.Join(b.folder, "a.npy") }

// jmpi times our own solver, checks its last result, and prints the row, by the name what, and the phases.
// The first call sets the time that all rows are compared with.
func (b *bench) jmpi(what string, f methodFlags) error {
	p := problem{file: b.file, vectors: "both", signs: b.signs}
	task := b.task(p, f)
	var seconds []float64
	solve := func(use func(*dist.Decomposition) error) error {
		solution, err := dist.Decompose(context.Background(), b.comm, b.devices, task)
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
			if err := b.report(what, p, s, f, median(seconds[warmUp:])); err != nil || b.gpus != nil {
				return err
			}
			return b.phases(s)
		})
		if err != nil {
			return err
		}
	}
	if b.gpus == nil {
		return nil
	}
	// What is queued on a GPU is timed phase by phase only if each is waited for, in a run of its own.
	task.Profile = true
	return solve(b.phases)
}

// warmUps is the number of runs that are not timed: on GPUs the first one, as for the drivers of cuSOLVER.
func (s *session) warmUps() int {
	if s.gpus != nil {
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

// report writes the result for the check, and prints the row.
func (b *bench) report(what string, p problem, solution *dist.Decomposition, f methodFlags,
	seconds float64) error {
	dir := filepath.Join(b.folder, what)
	folder, err := b.target(b.input(), p, svdFlags{output: dir})
	if err != nil {
		return err
	}
	if err := b.write(p, solution, folder, svdFlags{methodFlags: f}); err != nil {
		return err
	}
	if seconds, err = b.slowest(seconds); err != nil {
		return err
	}
	if b.ours == 0 {
		b.ours = seconds
	}
	t := solution.Traffic()
	for _, x := range []*float64{&t.Read, &t.Upload, &t.Download} {
		if *x, err = b.slowest(*x); err != nil {
			return err
		}
	}
	return b.row(row{what: what, ranks: b.comm.Size(), devices: len(solution.Devices), seconds: seconds,
		sweeps: fmt.Sprint(len(solution.Sweeps)), read: t.Read, upload: t.Upload, download: t.Download}, dir)
}

// row is a line of the table.
type row struct {
	what           string
	ranks, devices int
	seconds        float64
	sweeps         string
	// seconds of what comes before and after, 0 for what there is not
	read, upload, download float64
}

// beside writes the time of something that comes before or after.
func beside(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", seconds)
}

// row checks the result in a folder and prints its row, on rank 0.
func (b *bench) row(r row, dir string) error {
	var err error
	if b.comm.Rank() == 0 {
		var report residual.Report
		if report, err = residual.Check(b.file, dir, residual.Options{}); err == nil {
			value := map[string]float64{}
			for _, c := range report.Rows {
				value[c.Name] = c.Value
			}
			m, n := float64(b.m), float64(b.n)
			fmt.Fprintf(b.out, "%-12s %d %d %d %d %.3f %.1f %s %.3g %.3g %.3g %.2f %s %s %s\n", r.what, b.m, b.n,
				r.ranks, r.devices, r.seconds, (14*m*n*n+8*n*n*n)/r.seconds/1e9, r.sweeps, value["residual"],
				value["orthU"], value["orthV"], r.seconds/b.ours, beside(r.read), beside(r.upload),
				beside(r.download))
		}
	}
	return b.agree(comm.BadResource, err)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
