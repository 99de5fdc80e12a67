package rates

import (
	"math"
	"testing"
)

// even are rates of a device that does an operation, or a byte, in a nanosecond, whatever it is.
func even() *Rates {
	r := &Rates{Device: "even", Kind: "cuda", Threads: 1, Links: map[string]Link{
		"peer": {Latency: 1e-6, BytesPerSecond: 1e12, Source: "a test"},
		slow:   {Latency: 1e-5, BytesPerSecond: 1e9, Source: "a test"},
	}, Transfer: map[string]Curve{"upload": {{1e9, 1}}, "download": {{1e9, 2}}}}
	for _, what := range []string{Product, Gram, Correct, Factor, Form, Apply, Pivoted, Measure, Transpose,
		Select,
		Angles, Norms, Add, Times} {
		r.AddDense(what, Point{1e9, 1})
	}
	for _, element := range []string{"float32", "float64"} {
		for _, part := range []string{"shorten", "inner", "postmultiply"} {
			r.AddBatch(part, element, 128, Point{1e9, 1})
		}
	}
	for _, n := range []int{1024, 4096} {
		active := Shares{1, 1, 0.5, 0}
		if n == 4096 {
			active = append(Shares{1, 1}, active...)
		}
		r.AddCourse(Course{Kind: "gauss", N: n, Precision: "float64", Precondition: "none", V: "solve",
			Double: active})
		r.AddCourse(Course{Kind: "gauss", N: n, Precision: Ladder, Precondition: "none", V: "refined",
			Single: active,
			Refined: []Refined{{What: "orthonormalize", Corrections: 2}, {What: "multiply"}, {What: "pass", Order: 8},
				{What: "look"}, {What: "verify"}}})
	}
	return r
}

// problem is a square one on one device.
func problem(n int) Problem {
	b := Blocks{Columns: n / 64, Pieces: 4}
	return Problem{M: n, N: n, Kind: "gauss", Vectors: true, Single: b, Double: b,
		Machine: Machine{Devices: 1, OnNode: 1, Phases: 1}}
}

func forecast(t *testing.T, r *Rates, p Problem) *Forecast {
	t.Helper()
	f, err := r.Forecast(p)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, part := range f.Parts {
		sum += part.Seconds
	}
	near(t, "the sum of the parts", f.Seconds, sum)
	return f
}

// part returns the seconds of a phase.
func (f *Forecast) part(name string) float64 {
	for _, p := range f.Parts {
		if p.Name == name {
			return p.Seconds
		}
	}
	return 0
}

// Operations are counted as the method does them.
func TestForecastCounts(t *testing.T) {
	const n, k, steps, problems = 1024., 128., 15, 8
	f := forecast(t, even(), problem(n))
	near(t, "shorten", f.part("shorten"), 4*steps*problems*(n*k*k+k*k*k/3)*1e-9)
	near(t, "inner", f.part("inner"), 2.5*steps*problems*6*k*k*k*1e-9)
	near(t, "postmultiply", f.part("postmultiply"), 2.5*steps*problems*2*n*k*k*1e-9)
	near(t, "precondition", f.part("precondition"), 8*n*n*1e-9)
	near(t, "vectors", f.part("vectors"), (2*n*n*n+2*FactorWork(n, n)+16*n*n)*1e-9)
	near(t, "the upload", f.Upload, 8*n*n*1e-9)
	near(t, "the download", f.Download, 32*n*n*1e-9)
	if f.Waiting != 0 || f.Sweeps != 4 || f.Beyond {
		t.Errorf("one device: %+v", f)
	}
	p := problem(n)
	p.Ladder = true
	f = forecast(t, even(), p)
	products := 2*2. + 2 + 1 + 1 + 1 + 2 + 2*2 + 1 // corrections, X·V, H, E², E⁴, E⁸, G and V, the last look
	if got := f.part("refine") / (n * n * n * 1e-9); got < products || got > products+8*40/n {
		t.Errorf("refining takes %g n³ operations, want %g and some bytes", got, products)
	}
}

// Beyond what was measured there are more sweeps; between, those of the nearest order.
func TestForecastSweeps(t *testing.T) {
	for n, want := range map[int]float64{1024: 4, 1500: 4, 4096: 6, 8192: 7, 16384: 8} {
		f := forecast(t, even(), problem(n))
		if f.Sweeps != want || f.Beyond != (n > 4096) {
			t.Errorf("order %d: %g sweeps, beyond: %t", n, f.Sweeps, f.Beyond)
		}
	}
	p := problem(1024)
	p.Kind = "hilbert"
	if _, err := even().Forecast(p); err == nil {
		t.Error("a kind that was not measured has a time")
	}
}

// Devices share the work, and messages take time: more of it between nodes.
func TestForecastOfSeveral(t *testing.T) {
	one := forecast(t, even(), problem(4096))
	p := problem(4096)
	p.Machine = Machine{Devices: 8, OnNode: 8, Phases: 15}
	eight := forecast(t, even(), p)
	near(t, "the computing of 8 devices", eight.Seconds-eight.Waiting, one.Seconds/8)
	if !(eight.Waiting > 0 && eight.Sent["peer"] > 0 && eight.Sent[slow] == 0) {
		t.Errorf("8 devices: %+v", eight)
	}
	p.OnNode, p.SlowPhases = 4, 4
	nodes := forecast(t, even(), p)
	if !(nodes.Waiting > 10*eight.Waiting && nodes.Sent[slow] > 0) {
		t.Errorf("2 nodes wait %g s, one %g s", nodes.Waiting, eight.Waiting)
	}
	near(t, "all that is sent", nodes.Sent[slow]+nodes.Sent["peer"], eight.Sent["peer"])
	sweeps := 6 * 15 * 8 * 4096. * 256 // bytes of block-columns
	dense := 2 * 8 * 4096. * 4096      // at least: A and its factors
	if got := eight.Sent["peer"]; got < sweeps+dense || got > sweeps+3*dense {
		t.Errorf("%g bytes are sent, of these %g in sweeps", got, sweeps)
	}
}

func TestFiles(t *testing.T) {
	r := even()
	text, err := r.Write()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the time from a file", forecast(t, back, problem(2048)).Seconds, forecast(t, r,
		problem(2048)).Seconds)
	if again, err := back.Write(); err != nil || string(again) != string(text) {
		t.Errorf("%v: written again the file is\n%s", err, again)
	}
	for _, bad := range []string{"", "{}", `{"speed": 1}`, "[]"} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q is a file of rates", bad)
		}
	}
	more := &Rates{Device: "even", Kind: "cuda", Threads: 1}
	more.AddDense(Product, Point{1.00001e9, 3}) // files have four digits
	more.AddCourse(Course{Kind: "gauss", N: 1024, Precision: "float64", Double: Shares{1}})
	if err := more.Merge(r); err != nil {
		t.Fatal(err)
	}
	if len(more.Dense[Product]) != 1 || len(more.Courses) != 4 || more.Dense[Product].Seconds(1e9) != 3 ||
		more.Dense[Gram].Seconds(1e9) != 1 {
		t.Errorf("merged: %+v", more)
	}
	if err := (&Rates{Device: "odd", Threads: 1}).Merge(r); err == nil {
		t.Error("rates of different devices are one")
	}
}

// The rates that come with the program are complete: they tell the time of every order.
func TestKnown(t *testing.T) {
	known, err := Known()
	if err != nil || len(known) == 0 {
		t.Fatal(err)
	}
	for _, r := range known {
		before := 0.0
		for n := 512; n <= 1<<15; n *= 2 {
			for _, ladder := range []bool{false, true} {
				p := problem(n)
				p.Ladder = ladder
				f := forecast(t, r, p)
				if !(f.Seconds > before/2) || math.IsInf(f.Seconds, 0) {
					t.Errorf("%s, order %d: %g s", r.Device, n, f.Seconds)
				}
				before = f.Seconds
			}
		}
	}
}
