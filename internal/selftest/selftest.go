package selftest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"jmpi/kernels"
	"jmpi/strategy"
)

// Result is the verdict on one primitive.
type Result struct {
	Primitive string
	// largest error, as a fraction of its bound (package comment); bit for bit: the number of differences
	Worst float64
	Err   error // the primitive failed
}

// Passed reports whether no error is above its bound. NaN is.
func (r Result) Passed() bool { return r.Err == nil && r.Worst <= 1 && !(r.exact() && r.Worst > 0) }

// exact reports whether the primitive is compared bit for bit.
func (r Result) exact() bool {
	switch r.Primitive {
	case "memory", "identity", "rotations", "copy", "elements":
		return true
	}
	return false
}

// String is "PASSED", with the error, or "FAILED", with the reason.
func (r Result) String() string {
	verdict := "PASSED"
	if !r.Passed() {
		verdict = "FAILED"
	}
	switch {
	case r.Err != nil:
		return fmt.Sprintf("%s (%v)", verdict, r.Err)
	case r.exact():
		return fmt.Sprintf("%s (%g differences)", verdict, r.Worst)
	}
	return fmt.Sprintf("%s (%.2g of the bound)", verdict, r.Worst)
}

// worst is the largest of errors as fractions of their bounds; NaN stays.
type worst float64

func (w *worst) add(err, bound float64) {
	if err == 0 {
		return
	}
	if x := worst(err / bound); *w == *w && !(x <= *w) {
		*w = x
	}
}

// test is a primitive and its comparison.
type test struct {
	primitive string
	compare   func(device, reference kernels.Backend) (float64, error)
}

func (t test) run(device, reference kernels.Backend) Result {
	w, err := t.compare(device, reference)
	return Result{t.primitive, w, err}
}

// tests are all primitives of one device.
var tests = []test{
	{"memory", memoryTest}, {"identity", identityTest}, {"norms", normsTest}, {"gram", gramTest},
	{"cholesky", choleskyTest},
	{"qr", qrTest}, {"rotations", rotationsTest}, {"jacobi-sigma", jacobiSigmaTest}, {"jacobi-t", jacobiTTest},
	{"multiply", multiplyTest}, {"elements", elementsTest}, {"gemm", gemmTest}, {"panel", panelTest},
}

// Run compares all primitives of a device with those of a reference, which must be right. It takes
// less than a second.
func Run(device, reference kernels.Backend) []Result {
	var results []Result
	for _, t := range tests {
		results = append(results, t.run(device, reference))
	}
	return results
}

// Copy compares what a device copies from another one with what is there.
func Copy(to, from kernels.Backend) Result {
	return test{"copy", copyTest}.run(to, from)
}

// pivotProblems returns pivots of several shapes with factors, transformations and counters to be filled:
// random, graded, with a zero column, with two equal columns.
func pivotProblems() problems {
	r := rand.New(rand.NewPCG(1, 1))
	var x problems
	for i, s := range []struct{ m, p, q int }{{523, 32, 32}, {523, 32, 31}, {300, 17, 16}, {1031, 48, 48},
		{64, 1, 1}} {
		k := s.p + s.q
		g := gauss(r, s.m, k)
		switch i {
		case 1:
			for j := range k {
				g.scale(j, math.Pow(10, -100*float64(j)/float64(k)))
			}
		case 2:
			g.scale(k/2, 0)
		case 3:
			copy(g.column(k-1), g.column(0))
		}
		x.g, x.p = append(x.g, g), append(x.p, s.p)
		x.v = append(x.v, gauss(r, k+5, k))
		x.r, x.t, x.tally = append(x.r, zeros(k, k)), append(x.t, identity(k)), append(x.tally, kernels.Tally{})
	}
	return x
}

// schedule returns the round-robin strategy of an even order for the pointwise method.
func schedule(order int) (*kernels.Schedule, error) {
	table, err := strategy.New("roundrobin", order)
	if err != nil {
		return nil, err
	}
	s := &kernels.Schedule{Order: order}
	for _, step := range table.Steps {
		for _, pair := range step {
			s.Pairs = append(s.Pairs, int32(pair.P), int32(pair.Q))
		}
	}
	return s, nil
}

// errTallies is the error of counters that differ.
var errTallies = errors.New("the counters differ from the reference's")
