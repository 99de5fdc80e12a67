package dist

import (
	"slices"
	"strings"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/dist/jacobi"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// lowFrom lets the first sweeps be in float32 from this order on.
func lowFrom(t *testing.T, n int) {
	before := lowOrder
	lowOrder = func(kernels.Limits) int { return n }
	t.Cleanup(func() { lowOrder = before })
}

// What holds for sweeps in float64 holds where the first ones are in float32.
func TestFloat32First(t *testing.T) {
	lowFrom(t, 2)
	t.Run("Anything", TestDecomposeAnything)
	t.Run("Scaled", TestScaledAnything)
	if testing.Short() {
		t.Skip("the rest takes minutes with the race detector")
	}
	t.Run("Graded", func(t *testing.T) { testGraded(t, onCPUs, 128, 2, 1e-13) })
}

// Sweeps in float32 end when few pivots were active and had no large cosine, or when they are of little use.
func TestLowEnough(t *testing.T) {
	for _, c := range []struct {
		columns        int
		active, cosine float64
		want           bool
	}{
		{500, 0.08, 0.02, true},
		{500, 0.08, 0.53, false}, // of it 0.32 may be left, which is too large for passes
		{500, 0.2, 0.02, false},
		{500, 0.08, 0, true}, // not known
		{10000, 0.08, 0.02, false},
		{10000, 0.008, 0.02, true},
		{10000, 0.008, 0.53, false},
	} {
		sweeps := []jacobi.SweepInfo{{Active: 1}, {Active: c.active, Cosine: c.cosine}}
		if got := lowEnough(c.columns)(sweeps); got != c.want {
			t.Errorf("%d columns, %g active, cosine %g: %t", c.columns, c.active, c.cosine, got)
		}
	}
	slow := slices.Repeat([]jacobi.SweepInfo{{Active: 0.5, Cosine: 0.6}}, slowSweep)
	if lowEnough(500)(slow[1:]) || !lowEnough(500)(slow) {
		t.Errorf("sweeps that leave as much as those before end after %d", slowSweep)
	}
}

// testLowKinds is a test of all kinds of devices: every kind of test matrix comes to an end, by products
// where float32 is not of no use, and S has the same bits whatever is wanted.
func testLowKinds(t *testing.T, run runTask, n, ranks int) {
	for _, kind := range gen.Kinds() {
		if strings.HasPrefix(kind, "spectrum") {
			continue
		}
		for _, m := range []int{n, n + 50} {
			if m > n && (kind == "hilbert" || kind == "kahan") {
				continue // these are square
			}
			a := disttest.Generate(t, kind, gen.Options{Rows: int64(m), Cols: int64(n), Seed: 7})
			task := both(m, n)
			task.Block = 0
			one, err := run(t, a, ranks, task)
			if err != nil {
				t.Fatal(err)
			}
			one.verify(t, a, 2)
			t.Logf("%s %d×%d on %d: %s (%s), %d sweeps, refined in %d steps", kind, m, n, ranks, one.Precision.Used,
				one.Precision.Why, len(one.Sweeps), len(one.Refined))
			if one.Precision.Used != "float32, refined" {
				t.Errorf("%s: %+v", kind, one.Precision)
			}
			for _, wanted := range []Wanted{{}, {Left: true}, {Right: true}} {
				task.Wanted = wanted
				if o, err := run(t, a, ranks, task); err != nil || !slices.Equal(o.s, one.s) {
					t.Errorf("%s %d×%d: other singular values for %+v: %v", kind, m, n, wanted, err)
				}
			}
		}
	}
}

func TestFloat32FirstOfAllKinds(t *testing.T) {
	lowFrom(t, 2)
	n := 150
	if testing.Short() {
		n = 60
	}
	testLowKinds(t, onCPUs, n, 1)
	testLowKinds(t, onCPUs, n-50, 2)
}

// The bits do not depend on how the devices are split into ranks.
func TestFloat32FirstBits(t *testing.T) {
	lowFrom(t, 2)
	const n = 90
	for _, kind := range []string{"gauss", "graded-rows", "lowrank"} {
		a := disttest.Generate(t, kind, gen.Options{Rows: n, Cols: n, Seed: 8})
		two := find(t, a, 1, 2, both(n, n))
		two.verify(t, a, 2)
		find(t, a, 2, 1, both(n, n)).sameBits(t, two, kind+" on two ranks")
		four := find(t, a, 2, 2, both(n, n))
		four.sameBits(t, two, kind+" on four devices")
		find(t, a, 4, 1, both(n, n)).sameBits(t, four, kind+" on four ranks")
	}
}

// The method of the paper is taken where it is asked for, and where float32 is of no use.
func TestFloat64WhereAsked(t *testing.T) {
	lowFrom(t, 2)
	const n = 40
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	for _, c := range []struct {
		change func(*Task)
		why    string
	}{
		{func(k *Task) { k.Precision = Float64 }, "asked for"},
		{func(k *Task) { k.V = Accumulate }, "asked for"},
		{func(k *Task) { k.V = FromLeft }, "asked for"},
		{func(k *Task) { k.Signs = append(slices.Repeat([]float64{1}, n-1), -1) }, "hyperbolic"},
		{func(*Task) { lowFrom(t, n+1) }, "small"},
		{func(*Task) { lowFrom(t, 0) }, "as fast"},
	} {
		task := both(n, n)
		c.change(&task)
		o := find(t, a, 1, 1, task)
		o.verify(t, a, 4)
		if o.Precision.Used != "float64" || !strings.Contains(o.Precision.Why, c.why) || o.Refined != nil {
			t.Errorf("%s: %+v, %d steps", c.why, o.Precision, len(o.Refined))
		}
		for _, s := range o.Sweeps {
			if s.Precision != "float64" {
				t.Errorf("%s: a sweep in %s", c.why, s.Precision)
			}
		}
	}
}

// Singular values that are nearly equal are left to float64 from the start, so that no time is lost; others
// are not.
func TestFloat64WhereNearlyEqual(t *testing.T) {
	lowFrom(t, 2)
	const n = 150
	for _, c := range []struct {
		cond float64
		want string
	}{{1, "float64"}, {1.0001, "float64"}, {1.5, "float32, refined"}} {
		a := disttest.Generate(t, "geometric", gen.Options{Rows: n, Cols: n, Seed: 2, Cond: c.cond})
		o := find(t, a, 2, 1, both(n, n))
		o.verify(t, a, 2)
		if o.Precision.Used != c.want {
			t.Errorf("σ from 1 to %g: %+v", c.cond, o.Precision)
		}
	}
}

// Where products do not come to an end, sweeps in float64 do.
func TestFloat64Finishes(t *testing.T) {
	lowFrom(t, 2)
	before := lowSweeps
	lowSweeps = 3 // too few for products
	t.Cleanup(func() { lowSweeps = before })
	const n = 100
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	task := both(n, n)
	for _, grid := range [][2]int{{1, 1}, {1, 2}, {2, 1}} {
		o := find(t, a, grid[0], grid[1], task)
		o.verify(t, a, 2)
		if !strings.Contains(o.Precision.Why, "sweeps in float64 finished it") {
			t.Errorf("%v: %+v", grid, o.Precision)
		}
		for _, wanted := range []Wanted{{}, {Left: true}, {Right: true}} {
			some := task
			some.Wanted = wanted
			if x := find(t, a, grid[0], grid[1], some); !slices.Equal(x.s, o.s) ||
				!strings.Contains(x.Precision.Why, "sweeps in float64 finished it") {
				t.Errorf("%v: other singular values for %+v: %+v", grid, wanted, x.Precision)
			}
		}
		var precisions []string
		for _, s := range o.Sweeps {
			precisions = append(precisions, s.Precision)
		}
		if first, last := precisions[0], precisions[len(precisions)-1]; first != "float32" || last != "float64" {
			t.Error(precisions)
		}
	}
}

// Where rows and columns differ by more than float32 can serve, the sweeps are in float64 from the start.
func TestExtremeGrading(t *testing.T) {
	lowFrom(t, 2)
	const n = 160
	for _, c := range []struct {
		kind string
		cond float64
		used string
	}{
		{"graded-both", 1e12, "float32, refined"}, {"graded-both", 1e16, "float64"},
		{"graded-both", 1e20, "float64"}, {"graded-cols", 1e20, "float32, refined"},
		{"graded-rows", 1e40, "float64"},
	} {
		a := disttest.Generate(t, c.kind, gen.Options{Rows: n, Cols: n, Seed: 7, Cond: c.cond})
		one, err := onCPUs(t, a, 2, both(n, n))
		if err != nil {
			t.Fatal(err)
		}
		one.verify(t, a, 2)
		if one.Precision.Used != c.used || len(one.Sweeps) > 6 {
			t.Errorf("%s, %g: %+v, %d sweeps, want %s", c.kind, c.cond, one.Precision, len(one.Sweeps), c.used)
		}
	}
}
