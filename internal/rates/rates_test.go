package rates

import (
	"fmt"
	"math"
	"strings"
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

// Where no vectors are wanted V is not carried, and a look takes the place of the last pass.
func TestForecastValues(t *testing.T) {
	const n = 1024.
	p := problem(n)
	p.Ladder, p.Vectors = true, false
	r := even()
	var last *[]Refined
	for i, c := range r.Courses {
		if c.N == n && c.Precision == Ladder {
			last = &r.Courses[i].Refined
		}
	}
	*last = append((*last)[:3:3], Refined{What: "pass", Order: 2}, Refined{What: "check"},
		Refined{What: "verify"})
	f := forecast(t, r, p)
	products := 2*2. + 2 + 1 + 1 + 1 + 2 + 2 + 1 // corrections, X·V, H, E², E⁴, E⁸, G, the look
	if got := f.part("refine") / (n * n * n * 1e-9); got < products || got > products+8*40/n {
		t.Errorf("refining takes %g n³ operations, want %g and some bytes", got, products)
	}
	if x := f.part("vectors") + f.Download; x != 0 {
		t.Errorf("vectors take %g s", x)
	}
}

// The busiest device counts: blocks are dealt out, and where a triangle is formed all wait for the blocks
// that pass by. Against counting one by one.
func TestBusiest(t *testing.T) {
	for _, c := range []struct {
		m          Machine
		n          int
		triangular bool
		want       float64
	}{
		{Machine{Devices: 1, Tile: 64, Passing: 256}, 100, true, 1},
		{Machine{Devices: 4}, 1000, true, 0.25},
		{Machine{Devices: 2, Tile: 64, Passing: 256}, 1024, false, 0.5},
		{Machine{Devices: 3, Tile: 128, Passing: 256}, 2048, false, 6. / 16},
		// of 4 blocks the rows pass by one by one: 4, 3, 2 and 1 blocks, of which 2, 2, 1, 1 are of one device
		{Machine{Devices: 2, Tile: 256, Passing: 256}, 1024, true, 0.6},
		// two at a time: 1 and 2, 2 and 2, then 1 and 2 rows of blocks
		{Machine{Devices: 2, Tile: 128, Passing: 256}, 512, true, 0.6},
	} {
		near(t, fmt.Sprintf("%+v, n = %d", c.m, c.n), c.m.busiest(c.n, c.triangular), c.want)
	}
	one, p := forecast(t, even(), problem(2048)), problem(2048)
	p.Machine = Machine{Devices: 3, OnNode: 3, Phases: 5, Tile: 128, Passing: 256}
	three := forecast(t, even(), p)
	if got := three.part("vectors") - three.Waiting; !(got > one.part("vectors")*6/16/1.01) {
		t.Errorf("the busiest of 3 devices takes %g s, one %g s", got, one.part("vectors"))
	}
}

// Of a QR factorization GPUs share the products alone. Hosts wait for messages, which GPUs hide.
func TestForecastOfPanels(t *testing.T) {
	const n = 2048
	p := problem(n)
	p.Machine = Machine{Devices: 2, OnNode: 2, Phases: 3}
	vectors := func(r *Rates) float64 {
		f := forecast(t, r, p)
		return f.part("vectors")
	}
	r := even()
	before := vectors(r)
	r.AddDense(Factor, Point{1e9, 5}) // of these four on panels
	work := FactorWork(n, n)
	near(t, "panels", vectors(r)-before, 4*math.Cbrt(work*work*1e9)*1e-9)
	r = even()
	r.Kind, r.Links["host"] = "cpu", Link{Latency: 1e-5, BytesPerSecond: 1e10}
	delete(r.Links, "peer")
	if f := forecast(t, r, p); !(f.Waiting > 8*n*n*(6+2)/1e10/2) {
		t.Errorf("hosts wait %g s", f.Waiting)
	}
}

// What a pass does in float32 has its own rate; rates without it have that of products in float64.
func TestForecastOfFloat32(t *testing.T) {
	p := problem(1024)
	p.Ladder = true
	of := func(rough float64, single float64) float64 {
		r := even()
		if rough > 0 {
			r.AddDense(Rough, Point{1e9, rough})
		}
		for i := range r.Courses {
			for k := range r.Courses[i].Refined {
				if s := &r.Courses[i].Refined[k]; s.What == "pass" {
					s.Single = single
				}
			}
		}
		return forecast(t, r, p).part("refine")
	}
	const cube = 1024. * 1024 * 1024
	near(t, "without a rate", of(0, 0.5), of(0, 0))
	near(t, "half of 8·n³ operations in half the time", of(0, 0)-of(0.5, 0.5), 2*cube*1e-9)
	near(t, "all of them", of(0, 0)-of(0.5, 1), 4*cube*1e-9)
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
	r.Made = "a test"
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
	for _, bad := range []string{"", "{}", `{"speed": 1}`, "[]", string(text) + "{}",
		strings.Replace(string(text), `"order": 128`, `"order": 0`, 1),
		strings.Replace(string(text), `"latency": 0.000001`, `"latency": -1`, 1),
		strings.Replace(string(text), `"n": 1024`, `"n": 0`, 1),
		strings.Replace(string(text), `"corrections": 2`, `"corrections": 1000000000000`, 1),
		strings.Replace(string(text), "1e+09:1", "1e+09:Inf", 1),
	} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q is a file of rates", bad)
		}
	}
	if few, err := Parse([]byte(strings.Replace(string(text), `"product"`, `"poduct"`, 1))); err != nil {
		t.Error(err)
	} else if _, err := few.Forecast(problem(2048)); err == nil || !strings.Contains(err.Error(), Product) {
		t.Errorf("without a rate of products there is a time: %v", err)
	}
	more := &Rates{Device: "even", Kind: "cuda", Threads: 1, Made: "another test"}
	more.AddDense(Product, Point{1.00001e9, 3}) // files have four digits
	more.AddCourse(Course{Kind: "gauss", N: 1024, Precision: "float64", Double: Shares{1}})
	if err := more.Merge(r); err != nil {
		t.Fatal(err)
	}
	if len(more.Dense[Product]) != 1 || len(more.Courses) != 4 || more.Dense[Product].Seconds(1e9) != 3 ||
		more.Dense[Gram].Seconds(1e9) != 1 {
		t.Errorf("merged: %+v", more)
	}
	if more.Made != r.Made {
		t.Errorf("rates of %q are said to be made by %q", r.Made, more.Made)
	}
	for _, other := range []*Rates{{Device: "odd", Threads: 1}, {Device: "even", Threads: 2},
		{Device: "even", Threads: 1, Together: 2}} {
		if err := other.Merge(r); err == nil {
			t.Errorf("rates of different devices are one: %+v", other)
		}
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
