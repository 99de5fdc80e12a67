package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/dist/measure"
	"jmpi/internal/rates"
)

// note keeps what a decomposition did, for the file of rates.
func (b *bench) note(d *dist.Decomposition, seconds float64) {
	if b.f.rates == "" || b.m != b.n || d.Rank.Value > 0 && d.Rank.Value < b.n {
		return // the model knows square matrices of full rank
	}
	c := rates.Course{Kind: b.f.kind, Cond: b.f.cond, N: b.n, Precision: d.Precision.Used,
		Precondition: d.Precondition.Used, V: d.V.Used, Seconds: seconds, Spent: map[string]float64{}}
	if devices := b.comm.Size() * len(b.Devices); devices > 1 {
		c.Devices = devices
	}
	for name, spent := range d.Host {
		c.Spent[name] = brief(spent)
	}
	for _, s := range d.Sweeps {
		c.Spent["sweeps"] = brief(c.Spent["sweeps"] + s.Seconds)
		if s.Precision == "float32" {
			c.Single = append(c.Single, s.Active)
		} else {
			c.Double = append(c.Double, s.Active)
		}
	}
	for _, s := range d.Refined {
		c.Refined = append(c.Refined, rates.Refined{What: s.What, Order: s.Order, Corrections: len(s.Departure),
			Second: s.Second, Single: s.Single, Seconds: brief(s.Seconds)})
	}
	b.courses = append(b.courses, c)
}

// brief rounds seconds to tenths of microseconds.
func brief(seconds float64) float64 { return math.Round(seconds*1e7) / 1e7 }

// largestRates is the largest order that rates are measured on. Beyond it they hardly grow.
const largestRates = 8192

// storeRates measures the rates of the devices, and writes the file.
func (b *bench) storeRates() error {
	d := b.Devices[0].Describe()
	r := &rates.Rates{Device: d.Name, Kind: d.Kind, Threads: d.Threads,
		Made: fmt.Sprintf("jmpi %s, %s", version(), printable(strings.Join(os.Args[1:], " ")))}
	if b.Devices[0].Limits().HostMemory {
		r.Together = b.comm.Size()
	}
	for _, c := range b.courses {
		r.AddCourse(c)
	}
	settings := b.f.settings()
	settings.Strategy = "rev-rowcyc"
	there, err := b.measured(r)
	if err := b.agree(comm.BadResource, err); err != nil {
		return err
	}
	reach := []int64{there}
	if err := b.comm.AllreduceMax(reach); err != nil {
		return b.failed(err)
	}
	// All ranks measure, so that each finds the memory as busy as in a run.
	if order := min(b.n, largestRates); reach[0] < int64(1)<<(bits.Len(uint(order))-1) {
		err = measure.Device(context.Background(), b.Devices[0], order, settings, r)
	}
	if err := b.agree(comm.BadResource, err); err != nil {
		return err
	}
	if err := b.slowestOf(r.Times()); err != nil {
		return err
	}
	transport, err := exchange.ChooseTransport(b.comm, b.Devices, b.direct)
	if err != nil {
		return b.failed(err)
	}
	if r.Links, err = measure.Links(b.comm, b.Devices, transport); err != nil {
		return b.failed(err)
	}
	if b.comm.Rank() == 0 {
		if err = writeRates(b.f.rates, r); err == nil {
			fmt.Fprintf(b.out, "%% rates of %s: %s\n", d.Name, b.f.rates)
		}
	}
	return b.agree(comm.BadResource, err)
}

// slowestOf gives all ranks the times of the slowest one, for which the others wait in a run.
func (b *bench) slowestOf(times []*float64) error {
	x := make([]int64, len(times))
	for i, t := range times {
		x[i] = int64(*t * 1e9)
	}
	if err := b.comm.AllreduceMax(x); err != nil {
		return b.failed(err)
	}
	for i, t := range times {
		*t = float64(x[i]) / 1e9
	}
	return nil
}

// measured tells, on rank 0, up to which order the file has rates that are kept: those of a file to which
// decompositions of another kind or precision are added, or of a lower order. It is an error if they cannot
// be.
func (b *bench) measured(r *rates.Rates) (order int64, err error) {
	if b.comm.Rank() != 0 {
		return 0, nil
	}
	old, err := readRates(b.f.rates)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	few := *r
	if err == nil {
		err = few.Merge(old)
	}
	if err != nil || slices.ContainsFunc(r.Courses, old.Has) && min(b.n, largestRates) >= old.Order() {
		return 0, err
	}
	return int64(old.Order()), nil
}

// merge adds what is in the file, if there is one.
func merge(path string, r *rates.Rates) error {
	old, err := readRates(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = r.Merge(old)
	}
	return err
}

// writeRates writes a file of rates, or adds to the one that is there.
func writeRates(path string, r *rates.Rates) error {
	if err := merge(path, r); err != nil {
		return err
	}
	text, err := r.Write()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}

// readRates reads a file of rates.
func readRates(path string) (*rates.Rates, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r, err := rates.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
