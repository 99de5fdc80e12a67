package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"jmpi/dist"
	"jmpi/dist/jacobi"
	"jmpi/dist/measure"
	"jmpi/internal/gen"
	"jmpi/internal/rates"
	"jmpi/kernels"
)

// timeFlags say how the time is computed.
type timeFlags struct {
	rates  string
	kind   string
	cond   float64
	gflops float64
}

func (f *timeFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.rates, "rates", "", "file of rates, or a GPU that is known, as H200: gives the time")
	flags.StringVar(&f.kind, "kind", "gauss",
		"kind of the matrix, as of gen: the sweeps that it needs; for the time")
	decimalVar(flags, &f.cond, "cond", 0, "condition number or grading of the kind, 0: any that was measured")
	decimalVar(flags, &f.gflops, "gflops", 0,
		"GFLOP/s of a device: gives the time of a sweep's arithmetic, without --shape nothing")
}

func (f *timeFlags) check(shape string) error {
	if err := oneOf("kind", f.kind, gen.Kinds()...); err != nil {
		return err
	}
	switch {
	case !(f.gflops >= 0 && f.gflops <= math.MaxFloat64):
		return usagef("--gflops %g: must be positive", f.gflops)
	case !(f.cond >= 0 && f.cond <= math.MaxFloat64):
		return usagef("--cond %g: must be at least 1, or 0 for any that was measured", f.cond)
	case f.gflops > 0 && shape == "":
		return usagef("--gflops needs --shape: the time depends on both")
	case f.rates != "" && shape == "":
		return usagef("--rates needs --shape, or neither devices nor nodes: the time depends on both")
	}
	return nil
}

// findRates returns the rates that the flags name, nil if they name none.
func (f *timeFlags) findRates() (*rates.Rates, error) {
	if f.rates == "" {
		return nil, nil
	}
	known, err := rates.Known()
	if err != nil {
		return nil, exit(exitFailure, err)
	}
	for _, r := range known {
		if strings.EqualFold(r.Device, f.rates) || strings.HasSuffix(strings.ToLower(r.Device),
			" "+strings.ToLower(f.rates)) {
			return r, nil
		}
	}
	r, err := readRates(f.rates)
	if errors.Is(err, fs.ErrNotExist) {
		var names []string
		for _, r := range known {
			names = append(names, r.Device)
		}
		err = fmt.Errorf("%s: there is no such file, nor such a GPU among those that are known: %s", f.rates,
			strings.Join(names, ", "))
	}
	return r, exit(exitInput, err)
}

// firstKnown returns the first rates of GPUs that the program has.
func firstKnown() (*rates.Rates, error) {
	known, err := rates.Known()
	if err != nil || len(known) == 0 {
		return nil, exit(exitFailure, err)
	}
	return known[0], nil
}

// resolve replaces the strategy auto by the one that a run takes, if it preconditions a matrix of the kind as
// it did where that was measured, on so many devices.
func (f *planFlags) resolve(known *rates.Rates, devices int) {
	sorted := f.precond != dist.AutoPreconditioner && f.precond != dist.NoPreconditioner
	if f.precond == dist.AutoPreconditioner && known != nil {
		for _, c := range known.Courses {
			sorted = sorted || c.Kind == f.kind && c.Precondition != "none"
		}
	}
	c := jacobi.Config{Settings: jacobi.Settings{Strategy: f.strategy}}
	if sorted {
		c.Norms = jacobi.Falling
	}
	f.strategy = c.PivotStrategy(devices)
}

// forecast is the time of a decomposition, or why there is none.
type forecast struct {
	*rates.Forecast
	rates *rates.Rates
	why   string
	// of --precision float64, where that is faster than what a run chooses; 0 where it is not
	float64 float64
}

// time computes the time.
func (p *planned) time(known *rates.Rates) (*forecast, error) {
	if known == nil {
		return &forecast{why: "no rates of these devices: on one of them type jmpi bench --shape 2048x2048 " +
			"--rates FILE, then add --rates FILE here"}, nil
	}
	f := p.flags
	if f.scheme == jacobi.Nested {
		return &forecast{rates: known, why: "the model is of the flat scheme"}, nil
	}
	rows, cols, err := parseShape(f.shape)
	if err != nil {
		return nil, err
	}
	limits, err := f.limits()
	if err != nil {
		return nil, err
	}
	t, devices, sweeps := f.task(rows, cols), p.network.Devices(), float64(p.traffic.Sweeps)
	slabs := t.M >= dist.TallRatio*t.N && f.precond != dist.NoPreconditioner
	blocks := func(element kernels.Element) rates.Blocks {
		c := jacobi.Config{Problem: jacobi.Problem{M: t.M, N: t.N, Precision: element}, Settings: t.Settings}
		l := c.Node(devices, limits).Layout
		return rates.Blocks{Columns: l.Columns, Pieces: jacobi.Pieces(c.M, l, limits)}
	}
	v, precondition := "", ""
	if f.v != dist.AutoRight {
		v = f.v.String()
	}
	if f.precond != dist.AutoPreconditioner {
		precondition = f.precond.String()
	}
	tile, passing := measure.Blocks(limits, t.N)
	problem := rates.Problem{
		V: v, Precondition: precondition,
		M: t.M, N: t.N, Kind: f.kind, Cond: f.cond, Ladder: t.Low(limits), Vectors: t.Left || t.Right, Slabs: slabs,
		Single: blocks(kernels.Float32), Double: blocks(kernels.Float64),
		Machine: rates.Machine{Devices: devices, OnNode: p.network.Largest(),
			Phases: float64(p.traffic.Phases) / sweeps, SlowPhases: float64(p.traffic.SlowPhases) / sweeps,
			Tile: tile, Passing: passing},
	}
	made, err := known.Forecast(problem)
	if err != nil {
		return &forecast{rates: known, why: err.Error()}, nil
	}
	x := &forecast{Forecast: made, rates: known}
	if problem.Ladder && f.precision == dist.AutoPrecision {
		problem.Ladder = false
		if other, err := known.Forecast(problem); err == nil && other.Seconds < made.Seconds {
			x.float64 = other.Seconds
		}
	}
	return x, nil
}

// write prints the time.
func (f *forecast) write(w *strings.Builder) {
	if f.Forecast == nil {
		fmt.Fprintf(w, "seconds                unknown: %s\n", f.why)
		return
	}
	like := fmt.Sprintf("%s of order %d", f.Like.Kind, f.Like.N)
	if f.Beyond {
		like += ", beyond which nothing was measured"
	}
	device := f.rates.Device
	if f.rates.Together > 1 {
		device += fmt.Sprintf(", %d ranks at a time", f.rates.Together)
	}
	fmt.Fprintf(w, "rates                  %s; %.3g sweeps, as %s\n", device, f.Sweeps, like)
	fmt.Fprintf(w, "seconds                %.3g, of these waiting for messages %.3g (%.1f %%)\n", f.Seconds,
		f.Waiting,
		100*f.share())
	for _, part := range f.Parts {
		fmt.Fprintf(w, "  %-20s %.3g\n", part.Name, part.Seconds)
	}
	if f.float64 > 0 {
		fmt.Fprintf(w, "--precision float64    %.3g seconds, which is less\n", f.float64)
	}
	for _, link := range slices.Sorted(maps.Keys(f.Sent)) {
		source := "no rate is known: its time counts as 0"
		if l, ok := f.rates.Links[link]; ok {
			source = fmt.Sprintf("%.3g GB/s, %s", l.BytesPerSecond/1e9, l.Source)
		}
		fmt.Fprintf(w, "sent a device, %-7s %s; %s\n", link, byteText(int64(f.Sent[link])), source)
	}
	if f.Upload > 0 {
		fmt.Fprintf(w, "copies besides         %.3g s to the devices, %.3g s back\n", f.Upload, f.Download)
	}
}

// share is the part of the time that is waiting.
func (f *forecast) share() float64 {
	if f.Seconds == 0 {
		return 0
	}
	return f.Waiting / f.Seconds
}

// timeJSON is the time in plan --json.
type timeJSON struct {
	Rates         string             `json:"rates"`
	Seconds       float64            `json:"seconds"`
	Sweeps        float64            `json:"sweeps"`
	Communication float64            `json:"communication_share"`
	Phases        []rates.Part       `json:"phases"`
	Sent          map[string]float64 `json:"bytes_by_link"` // sent by a device, in all
	Upload        float64            `json:"upload_seconds"`
	Download      float64            `json:"download_seconds"`
}

// json is nil where there is no time.
func (f *forecast) json() *timeJSON {
	if f == nil || f.Forecast == nil {
		return nil
	}
	return &timeJSON{Rates: f.rates.Device, Seconds: f.Seconds, Sweeps: f.Sweeps, Communication: f.share(),
		Phases: f.Parts, Sent: f.Sent, Upload: f.Upload, Download: f.Download}
}
