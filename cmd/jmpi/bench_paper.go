package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/internal/gen"
	"jmpi/internal/paper"
	"jmpi/internal/results"
	"jmpi/strategy"
)

const paperHelp = `--paper makes the tables and figures of Novaković (SISC 2015), section 6, at the
orders --sizes: the factors of matrices with each spectrum are decomposed (hyperbolic SVD for 1 and
3), without preconditioning and with accumulated V, by each of --strategies, full block, and by
rev-rowcyc, block-oriented too. The rows are
  spectrum n what variant seconds sweeps rotations ratio error
with the rotations of all sweeps, the time over that of rev-rowcyc, full block, and the largest
relative error of the eigenvalues (6.1); Tables 6.1 to 6.3 follow. Drivers of LAPACK (--vs; dgesvj
unless told otherwise) run on spectrum 2, as in Table 6.1. With -o the rows are written to rows.csv,
and Figures 6.1 and 6.2 are drawn, in a folder that must not exist or be empty.`

// paperFlags are the flags of bench --paper.
type paperFlags struct {
	paper      bool
	sizes      []int
	strategies []string
	output     string
}

func (f *paperFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.paper, "paper", false, "the tables and figures of the paper instead of one matrix")
	flags.IntSliceVar(&f.sizes, "sizes", []int{128, 256, 512, 1024}, "with --paper: orders of the matrices")
	flags.StringSliceVar(&f.strategies, "strategies",
		[]string{paper.Base, "rev-colcyc", "rowcyc", "colcyc", "brentluk", "mmstep", "roundrobin"},
		"with --paper: pivot strategies; "+paper.Base+" is run in any case")
	flags.StringVarP(&f.output, "output", "o", "", "with --paper: folder for the rows and figures")
}

// conflict refuses flags, given on the command line, that mean nothing with or without --paper.
func (f *paperFlags) conflict(given []string) error {
	without, hint := []string{"sizes", "strategies", "output"}, "is for bench --paper only"
	if f.paper {
		without, hint = []string{"kind", "shape", "cond", "folder", "strategy", "variant", "precondition", "v",
			"precision", "signature"},
			"means nothing with --paper, which has its own"
	}
	for _, name := range without {
		if slices.Contains(given, name) {
			return usagef("--%s %s", name, hint)
		}
	}
	return nil
}

func (f *benchFlags) checkPaper() error {
	if !f.paper {
		return nil
	}
	for _, name := range f.vs {
		if !slices.Contains(lapackDrivers, name) {
			return usagef("--vs %s: with --paper choose of %s", name, strings.Join(lapackDrivers, ","))
		}
	}
	for _, name := range f.strategies {
		if err := oneOf("strategies", name, strategy.Names()...); err != nil {
			return err
		}
	}
	for _, n := range f.sizes {
		if n < 1 {
			return usagef("--sizes %d: an order must be at least 1", n)
		}
	}
	if err := checkFolderName(f.output); err != nil {
		return err
	}
	if len(f.sizes) == 0 {
		return usagef("--sizes: give at least one order, as 512")
	}
	return nil
}

// paperBench is one run of bench --paper.
type paperBench struct {
	*session
	f    benchFlags
	rows []paper.Row // on rank 0
	out  *printer
}

func runPaper(f benchFlags) error {
	s, err := newSession(f.sessionFlags)
	if err != nil {
		return err
	}
	s.quiet()
	b := &paperBench{session: s, f: f, out: s.printer()}
	return s.end(b.run())
}

func (b *paperBench) run() error {
	if err := b.agree(comm.BadInput, b.checkFolder()); err != nil {
		return err
	}
	b.circumstances(b.out, fmt.Sprintf("[Nov15, §6], seed %d, medians of %d runs", b.f.seed, b.f.repeat))
	fmt.Fprintf(b.out, "%% %s\n", paper.Header)
	for spectrum := 1; spectrum <= paper.Spectra; spectrum++ {
		for _, n := range b.f.sizes {
			if err := b.matrix(spectrum, n); err != nil {
				return err
			}
		}
	}
	return b.agree(comm.BadResource, b.summarize())
}

// matrix decomposes one matrix in all ways, and prints the rows.
func (b *paperBench) matrix(spectrum, n int) error {
	a, err := b.generate(spectrum, n)
	if err != nil {
		return err
	}
	rows, err := b.solveAll(a)
	if err != nil {
		return err
	}
	if spectrum == paper.TableSpectrum {
		for _, driver := range b.f.vs {
			if rows, err = b.rival(driver, a, rows); err != nil {
				return err
			}
		}
	}
	paper.Compare(rows)
	b.rows = append(b.rows, rows...)
	return b.agree(comm.BadResource, paper.WriteText(b.out, rows))
}

// variants are the rows of one matrix, to be filled in: every strategy full block, and reverse R in
// both variants.
func (b *paperBench) variants(a factor) []paper.Row {
	rows := []paper.Row{
		{Spectrum: a.spectrum, N: a.n, What: paper.Base, Variant: paper.Full},
		{Spectrum: a.spectrum, N: a.n, What: paper.Base, Variant: paper.Block},
	}
	for _, name := range b.f.strategies {
		if name != paper.Base {
			rows = append(rows, paper.Row{Spectrum: a.spectrum, N: a.n, What: name, Variant: paper.Full})
		}
	}
	return rows
}

// solveAll decomposes a in all variants in turn, as often as is asked, so that what else the
// machine does meets all of them.
func (b *paperBench) solveAll(a factor) ([]paper.Row, error) {
	rows := b.variants(a)
	seconds := make([][]float64, len(rows))
	for run := range b.warmUps() + b.f.repeat {
		for i := range rows {
			s, err := b.solve(a, &rows[i])
			if err != nil {
				return nil, err
			}
			if run >= b.warmUps() {
				seconds[i] = append(seconds[i], s)
			}
		}
	}
	for i := range rows {
		rows[i].Seconds = median(seconds[i])
	}
	return rows, nil
}

// solve decomposes a as the row says, fills in its counts and error, and returns the time of the
// slowest rank.
func (b *paperBench) solve(a factor, row *paper.Row) (float64, error) {
	method := b.f.methodFlags
	method.strategy = row.What
	if err := method.variant.Set(row.Variant); err != nil {
		return 0, fmt.Errorf("variant %q: %w", row.Variant, err)
	}
	c := jacobi.Config{
		Problem: jacobi.Problem{M: a.n, N: a.n, Positive: a.positive, Vectors: true,
			Start: jacobi.Start{Load: a.load}},
		Settings: method.settings(), Hooks: jacobi.Hooks{Log: b.log},
	}
	c.GPUDirect = b.direct
	solution, err := jacobi.Solve(context.Background(), b.comm, b.Devices, c)
	if err != nil {
		return 0, b.failed(err)
	}
	defer solution.Free()
	row.Sweeps, row.Converged, row.Rotations = len(solution.Sweeps), solution.Converged, 0
	for _, sweep := range solution.Sweeps {
		row.Rotations += sweep.Rotations
	}
	row.Error = paper.RelativeError(solution.Sigma, a.lambda, a.positive)
	return b.slowest(solution.Seconds)
}

// rival runs a driver of LAPACK on rank 0 and appends its row. Its own failure is a line, not an error.
func (b *paperBench) rival(driver string, a factor, rows []paper.Row) ([]paper.Row, error) {
	row := paper.Row{Spectrum: a.spectrum, N: a.n, What: driver, Variant: paper.None, Converged: true}
	var seconds []float64
	for range b.f.repeat {
		var err error
		if b.comm.Rank() == 0 {
			result, e := runLAPACK(driver, a.n, a.n, a.g)
			if err = e; err == nil {
				seconds = append(seconds, result.Seconds)
				row.Error = paper.RelativeError(result.Sigma, a.lambda, a.positive)
			}
		}
		if e := comm.Agree(b.comm, comm.BadResource, err); e != nil {
			fmt.Fprintf(b.out, "%d %5d %-12s %% %v\n", a.spectrum, a.n, driver, e)
			return rows, nil
		}
	}
	if b.comm.Rank() == 0 {
		row.Seconds = median(seconds)
	}
	return append(rows, row), nil
}

// factor is the factor G of a matrix A = G·J·Gᵀ of order n with one of the spectra.
type factor struct {
	spectrum, n int
	g           []float64 // n×n, column-major
	lambda      []float64 // the eigenvalues of A, non-increasing
	positive    int       // of them; the leading columns of G, for which J is +1
}

// load is jacobi.Config.Load.
func (a factor) load(j0, j1 int, dst []float64) error {
	copy(dst, a.g[j0*a.n:j1*a.n])
	return nil
}

// generate makes the factor on rank 0 and hands it to all. It is collective.
func (b *paperBench) generate(spectrum, n int) (factor, error) {
	x := make([]float64, n*(n+1)) // lambda, then g
	var err error
	if b.comm.Rank() == 0 {
		var a *gen.Matrix
		a, err = gen.New(fmt.Sprintf("spectrum%d", spectrum),
			gen.Options{Rows: int64(n), Cols: int64(n), Seed: b.f.seed})
		if err == nil {
			copy(x, a.Lambda)
			err = a.Columns(0, int64(n), x[n:], n)
		}
	}
	if err := b.agree(comm.BadResource, err); err != nil {
		return factor{}, err
	}
	if err := b.broadcast(x); err != nil {
		return factor{}, err
	}
	a := factor{spectrum: spectrum, n: n, lambda: x[:n], g: x[n:]}
	for _, l := range a.lambda {
		if l > 0 {
			a.positive++
		}
	}
	return a, nil
}

// pieceNumbers bounds what is broadcast at once.
const pieceNumbers = 1 << 20

// broadcast copies x of rank 0 to all ranks, in pieces.
func (b *paperBench) broadcast(x []float64) error {
	for piece := range slices.Chunk(x, pieceNumbers) {
		var mine []byte
		if b.comm.Rank() == 0 {
			var err error
			if mine, err = binary.Append(nil, binary.LittleEndian, piece); err != nil {
				return b.failed(err)
			}
		}
		all, err := b.comm.Allgather(mine)
		if err == nil {
			_, err = binary.Decode(all[0], binary.LittleEndian, piece)
		}
		if err != nil {
			return b.failed(err)
		}
	}
	return nil
}

// checkFolder tells, on rank 0, whether the folder for the results can be made.
func (b *paperBench) checkFolder() error {
	if b.f.output == "" || b.comm.Rank() != 0 {
		return nil
	}
	return results.Target{Dir: b.f.output}.Check()
}

// summarize writes the tables, and the files, on rank 0.
func (b *paperBench) summarize() error {
	if b.comm.Rank() != 0 {
		return nil
	}
	if err := paper.WriteTables(b.out, b.rows); err != nil || b.f.output == "" {
		return err
	}
	folder, err := results.NewFolder(results.Target{Dir: b.f.output}, results.Tag())
	if err != nil {
		return err
	}
	hidden, err := process.make(func() (string, error) { return folder.Path(""), folder.Create() })
	if err != nil {
		return err
	}
	err = b.create(folder.Path("rows.csv"), paper.WriteCSV)
	for _, figure := range paper.Figures() {
		err = errors.Join(err, b.create(folder.Path("fig"+figure.Name+".png"), figure.WritePNG))
	}
	if err != nil {
		return errors.Join(err, process.discard(hidden, folder.Discard))
	}
	return process.publish(hidden, fmt.Sprintf("the results in %s are complete", b.f.output), folder.Publish)
}

// create writes a file of the results.
func (b *paperBench) create(path string, write func(io.Writer, []paper.Row) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file, b.rows), file.Close())
}
