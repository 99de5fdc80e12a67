package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"jmpi/dist"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// tuneFlags are the flags of bench tune.
type tuneFlags struct {
	sessionFlags
	sizes, blocks, inner []int
	repeat               int
}

func newBenchTuneCommand() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "time widths of block-columns, and print the table that the program has of them",
		Long: `Time the SVD of Gaussian matrices with several widths of the narrow block-columns (--block) and of
those inside a pivot factor (--inner-block), with the first sweeps in float32 and all in float64.

Lines that begin with % tell the circumstances; the others are the rows
  precision n block inner-block seconds sweeps
Then comes the table of the fastest widths as kernels/cuda/widths.go has it, from which a run takes its
widths by the card and the order of the matrix. A width stays that of the order before if that is as fast
within 2 %.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			s, err := newSession(f.sessionFlags)
			if err != nil {
				return err
			}
			s.quiet()
			return s.end(s.tune(f))
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&f.sizes, "sizes", []int{512, 1024, 2048, 4096, 8192}, "orders of the matrices")
	flags.IntSliceVar(&f.blocks, "blocks", []int{32, 64, 128}, "widths of the narrow block-columns")
	flags.IntSliceVar(&f.inner, "inner-blocks", []int{0},
		"widths of the block-columns inside a pivot factor, 0: as few levels as possible")
	flags.IntVar(&f.repeat, "repeat", 3, "runs of each, of which the median counts")
	f.register(flags)
	return cmd
}

func (f *tuneFlags) check() error {
	for _, list := range []struct {
		name  string
		least int
		x     []int
	}{{"sizes", 2, f.sizes}, {"blocks", 1, f.blocks}, {"inner-blocks", 0, f.inner}} {
		if len(list.x) == 0 || slices.Min(list.x) < list.least {
			return usagef("--%s: give one number or more, each %d at least", list.name, list.least)
		}
	}
	if f.repeat < 1 {
		return usagef("--repeat %d: must be at least 1", f.repeat)
	}
	return f.sessionFlags.check()
}

// tuned is what one width takes.
type tuned struct {
	block, inner int
	seconds      float64
	sweeps       int
}

// tune times all widths and prints the table.
func (s *session) tune(f tuneFlags) error {
	out := s.printer()
	s.circumstances(out, "gauss")
	limits := s.Devices[0].Limits()
	slices.Sort(f.sizes)
	var table []kernels.Preference
	for _, element := range slices.Backward(limits.Elements()) {
		var before tuned
		for _, n := range f.sizes {
			a, err := gaussian(n)
			if err != nil {
				return err
			}
			var all []tuned
			for _, block := range f.blocks {
				for _, inner := range f.inner {
					t := tuned{block: block, inner: inner}
					if err := s.timeWidth(&t, a, n, element, f.repeat); err != nil {
						return err
					}
					fmt.Fprintf(out, "%v %d %d %d %.4f %d\n", element, n, block, inner, t.seconds, t.sweeps)
					all = append(all, t)
				}
			}
			best := fastest(all, before)
			if best.block != before.block || best.inner != before.inner {
				table = append(table, kernels.Preference{Type: element, Order: n, Width: best.block, Inner: best.inner})
			}
			before = best
		}
	}
	fmt.Fprintf(out, "\t%q: {\n", s.Devices[0].Describe().Name)
	for _, p := range table {
		name := "kernels.Float64"
		if p.Type == kernels.Float32 {
			name = "kernels.Float32"
		}
		inner := ""
		if p.Inner > 0 {
			inner = fmt.Sprintf(", Inner: %d", p.Inner)
		}
		fmt.Fprintf(out, "\t\t{Type: %s, Order: %d, Width: %d%s},\n", name, p.Order, p.Width, inner)
	}
	fmt.Fprintf(out, "\t},\n")
	return out.err
}

// fastest returns the fastest width, or that of the order before if it is nearly as fast.
func fastest(all []tuned, before tuned) tuned {
	best := slices.MinFunc(all, func(a, b tuned) int { return int(math.Copysign(1, a.seconds-b.seconds)) })
	for _, t := range all {
		if t.block == before.block && t.inner == before.inner && t.seconds <= 1.02*best.seconds {
			return t
		}
	}
	return best
}

// gaussian returns a Gaussian matrix of order n.
func gaussian(n int) ([]float64, error) {
	a, err := gen.New("gauss", gen.Options{Rows: int64(n), Cols: int64(n), Seed: 1})
	if err != nil {
		return nil, err
	}
	x := make([]float64, n*n)
	return x, a.Columns(0, int64(n), x, n)
}

// timeWidth times decompositions with one width, after one to warm up. It is collective.
func (s *session) timeWidth(t *tuned, a []float64, n int, element kernels.Element, repeat int) error {
	b := bench{session: s, m: n, n: n, benchMatrix: benchMatrix{numbers: a}}
	f := methodFlags{strategy: "auto", block: t.block, innerBlock: t.inner, maxSweeps: 30,
		precision: dist.Float64}
	if element == kernels.Float32 {
		f.precision = dist.Float32
	}
	task := dist.Task{M: n, N: n, Load: b.load, Wanted: dist.Wanted{Left: true, Right: true},
		Precision: f.precision, Settings: f.settings(), Host: dist.ThisHost(s.choice.Threads)}
	task.Log, task.GPUDirect = s.log, s.direct
	var seconds []float64
	for range repeat + 1 {
		d, err := dist.Decompose(context.Background(), s.comm, s.Devices, task)
		if err != nil {
			return s.failed(err)
		}
		seconds, t.sweeps = append(seconds, d.Seconds), len(d.Sweeps)
		d.Free()
	}
	var err error
	t.seconds, err = s.slowest(median(seconds[1:]))
	return err
}
