package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/residual"
	"jmpi/internal/rivals"
)

// report judges the result, and prints the row.
func (b *bench) report(what string, p problem, solution *dist.Decomposition, f methodFlags,
	seconds float64) error {
	judge := b.sampled(solution)
	switch {
	case p.vectors == "none":
		judge = b.compared(solution)
	case b.f.checks == fullChecks:
		dir := filepath.Join(b.folder, what)
		folder, err := b.target(b.input(), p, svdFlags{outputFlags: outputFlags{output: dir}})
		if err != nil {
			return err
		}
		if err := b.write(p, solution, folder, svdFlags{methodFlags: f}); err != nil {
			return err
		}
		judge = b.checked(dir)
	}
	seconds, err := b.slowest(seconds)
	if err != nil {
		return err
	}
	if b.ours == 0 {
		b.ours, b.sigma = seconds, solution.Sigma
	}
	t := solution.Traffic()
	for _, x := range []*float64{&t.Read, &t.Upload, &t.Download} {
		if *x, err = b.slowest(*x); err != nil {
			return err
		}
	}
	return b.row(row{what: what, ranks: b.comm.Size(), devices: len(solution.Devices), seconds: seconds,
		sweeps: fmt.Sprint(len(solution.Sweeps)), stopped: !solution.Converged, read: t.Read,
		upload: t.Upload, download: t.Download}, judge)
}

// judge returns the rows of a check by their names. It is called on all ranks, and collective where it must
// be.
type judge func() (map[string]float64, error)

// checked judges the result in a folder, on rank 0.
func (b *bench) checked(dir string) judge {
	return func() (map[string]float64, error) {
		if b.comm.Rank() != 0 {
			return nil, nil
		}
		report, err := residual.Check(b.file, dir, residual.Options{})
		value := map[string]float64{}
		for _, c := range report.Rows {
			value[c.Name] = c.Value
		}
		return value, err
	}
}

// compared judges singular values alone: they must have the bits of those that came with all vectors.
func (b *bench) compared(solution *dist.Decomposition) judge {
	return func() (map[string]float64, error) {
		if !slices.Equal(solution.Sigma, b.sigma) {
			return nil, errors.New("the singular values are others than with all vectors")
		}
		return nil, nil
	}
}

// sampled judges what lies on the devices, by random vectors.
func (b *bench) sampled(solution *dist.Decomposition) judge {
	return func() (map[string]float64, error) {
		if b.f.checks == noChecks {
			return nil, nil
		}
		f := residual.Factors{M: b.m, N: b.n, Sigma: solution.Sigma, Sum: b.summed}
		var mutex sync.Mutex
		keep := func(blocks *[]residual.Block) func(dist.Part) error {
			return func(p dist.Part) error {
				x := residual.Block{Row: p.Row, Column: p.Column, M: p.M, N: p.N, Ld: p.M,
					Data: make([]float64, p.M*p.N)}
				for j := range p.N {
					copy(x.Data[j*p.M:][:p.M], p.Data[j*p.Ld:])
				}
				mutex.Lock()
				defer mutex.Unlock()
				*blocks = append(*blocks, x)
				return nil
			}
		}
		if err := solution.Vectors(keep(&f.U), keep(&f.V)); err != nil {
			return nil, err
		}
		size, rank := b.comm.Size(), b.comm.Rank()
		j0, j1 := b.n*rank/size, b.n*(rank+1)/size
		f.A = []residual.Block{{Column: j0, M: b.m, N: j1 - j0, Ld: b.m, Data: b.numbers[j0*b.m:]}}
		for _, blocks := range [][]residual.Block{f.U, f.V} { // they came in any order
			slices.SortFunc(blocks, func(x, y residual.Block) int {
				return (x.Column-y.Column)*b.m + x.Row - y.Row
			})
		}
		return f.Sample()
	}
}

// sampledRival judges the result of a rival, on rank 0.
func (b *bench) sampledRival(r rivals.Result) judge {
	return func() (map[string]float64, error) {
		if b.comm.Rank() != 0 || b.f.checks == noChecks {
			return nil, nil
		}
		whole := func(m, n int, x []float64) []residual.Block {
			return []residual.Block{{M: m, N: n, Ld: m, Data: x}}
		}
		return residual.Factors{M: b.m, N: b.n, Sigma: r.Sigma, A: whole(b.m, b.n, b.numbers),
			U: whole(b.m, b.n, r.U), V: whole(b.n, b.n, r.V)}.Sample()
	}
}

// summed adds up the numbers of all ranks, in their order.
func (b *bench) summed(x []float64) error {
	if b.comm.Size() == 1 {
		return nil
	}
	all, err := comm.AllOf(b.comm, x)
	if err != nil {
		return err
	}
	clear(x)
	for _, part := range all {
		for i, e := range part {
			x[i] += e
		}
	}
	return nil
}

// row is a line of the table.
type row struct {
	what           string
	ranks, devices int
	seconds        float64
	sweeps         string
	stopped        bool // by --max-sweeps, not converged
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

// row judges a result and prints its row, on rank 0.
func (b *bench) row(r row, judge judge) error {
	value, err := judge()
	if err := b.agree(comm.BadResource, err); err != nil || b.comm.Rank() != 0 {
		return err
	}
	figures, note := "- - -", ""
	if value != nil {
		figures = fmt.Sprintf("%.3g %.3g %.3g", value["residual"], value["orthU"], value["orthV"])
	}
	switch b.f.checks {
	case sampleChecks:
		note = " % sampled"
	case noChecks:
		note = " % not checked"
	}
	if r.stopped {
		note += " % not converged"
	}
	m, n := float64(b.m), float64(b.n)
	fmt.Fprintf(b.out, "%-12s %d %d %d %d %.3f %.1f %s %s %.2f %s %s %s%s\n", r.what, b.m, b.n, r.ranks,
		r.devices,
		r.seconds, (14*m*n*n+8*n*n*n)/r.seconds/1e9, r.sweeps, figures, r.seconds/b.ours, beside(r.read),
		beside(r.upload), beside(r.download), note)
	return nil
}
