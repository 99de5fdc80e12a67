package jacobi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
	"jmpi/node"
	"jmpi/strategy"
)

// Ordinary and awkward shapes, on any number of ranks and devices, by all schemes and variants.
func TestSolve(t *testing.T) {
	shapes := [][2]int{{1, 1}, {2, 1}, {2, 2}, {3, 3}, {7, 5}, {40, 40}, {61, 37}, {96, 96}}
	for _, shape := range shapes {
		m, n := shape[0], shape[1]
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n), Seed: 1})
		for _, grid := range [][2]int{{1, 1}, {2, 1}, {1, 3}, {4, 1}, {2, 2}, {5, 1}} {
			for _, nested := range []bool{false, true} {
				for _, full := range []bool{false, true} {
					name := fmt.Sprintf("%d×%d on %d×%d nested=%v full=%v", m, n, grid[0], grid[1], nested, full)
					t.Run(name, func(t *testing.T) {
						c := Config{Problem: Problem{M: m, N: n, Vectors: true},
							Settings: Settings{Scheme: schemeOf(nested), Variant: variantOf(full), Block: 5}}
						decompose(t, a, grid[0], grid[1], c).verify(t, a, 3)
					})
				}
			}
		}
	}
}

// Three levels: narrow block-columns cut again inside the factors.
func TestSolveThreeLevels(t *testing.T) {
	a := disttest.Generate(t, "gauss", gen.Options{Rows: 128, Cols: 128, Seed: 2})
	for _, nested := range []bool{false, true} {
		for _, full := range []bool{false, true} {
			c := Config{Problem: Problem{M: 128, N: 128, Vectors: true},
				Settings: Settings{Scheme: schemeOf(nested), Variant: variantOf(full), Block: 16, InnerBlock: 4}}
			decompose(t, a, 2, 1, c).verify(t, a, 2)
		}
	}
}

// degenerate returns n×n matrices that one-sided Jacobi programs stumble over.
func degenerate(n int) map[string][]float64 {
	matrices := map[string][]float64{}
	for name, f := range map[string]func(i, j int) float64{
		"zero":          func(i, j int) float64 { return 0 },
		"one entry":     func(i, j int) float64 { return map[bool]float64{true: 3}[i == 4 && j == 7] },
		"identity":      func(i, j int) float64 { return map[bool]float64{true: 1}[i == j] },
		"all equal":     func(i, j int) float64 { return 2 },
		"rank one":      func(i, j int) float64 { return float64(i+1) * float64(j+1) },
		"equal columns": func(i, j int) float64 { return math.Sin(float64(i*i + 7*i*(j%5) + j%5)) },
		"zero columns": func(i, j int) float64 {
			return map[bool]float64{true: math.Sin(float64(i*i + 3*i*j))}[j%3 == 0]
		},
		"huge":         func(i, j int) float64 { return 0x1p1000 * math.Sin(float64(i*i+3*i*j+j)) },
		"tiny":         func(i, j int) float64 { return 0x1p-1000 * math.Sin(float64(i*i+3*i*j+j)) },
		"many equal σ": func(i, j int) float64 { return map[bool]float64{true: 1 + float64(i%2)}[i == (j+5)%n] },
		"graded 1…1e-300": func(i, j int) float64 {
			return math.Sin(float64(i*i+3*i*j+j)) * math.Pow(10, -300*float64(j)/float64(n-1))
		},
	} {
		a := make([]float64, n*n)
		for j := range n {
			for i := range n {
				a[j*n+i] = f(i, j)
			}
		}
		matrices[name] = a
	}
	return matrices
}

// rescaled returns the matrix multiplied by a power of two so that nothing overflows, and σ multiplied by it.
func rescaled(a, sigma []float64) []float64 {
	a, largest := slices.Clone(a), 0.0
	for _, x := range a {
		largest = max(largest, math.Abs(x))
	}
	if largest > 0 {
		_, e := math.Frexp(largest)
		dense.Ldexp(a, -e)
		dense.Ldexp(sigma, -e)
	}
	return a
}

// Zero and equal columns, rank one, the identity, huge and tiny entries.
func TestSolveDegenerate(t *testing.T) {
	const n = 24
	for name, a := range degenerate(n) {
		for _, grid := range [][2]int{{1, 1}, {2, 1}, {3, 1}} {
			for _, full := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s on %d×%d full=%v", name, grid[0], grid[1], full), func(t *testing.T) {
					o := decompose(t, a, grid[0], grid[1],
						Config{Problem: Problem{M: n, N: n, Vectors: true},
							Settings: Settings{Variant: variantOf(full), Block: 3}})
					o.verify(t, rescaled(a, o.s), 5)
				})
			}
		}
	}
}

// Diagonal matrices with few other entries: most pairs need no rotation, and the columns are in the wrong
// order. No sweep may end the method before every pair has met.
func TestSolveNearlyDiagonal(t *testing.T) {
	toy := []float64{1, 0, 0, 0, 2, 0, 0.5, 0, 3}
	decompose(t, toy, 1, 1, Config{Problem: Problem{M: 3, N: 3, Vectors: true},
		Settings: Settings{Variant: Full}}).verify(t, toy, 5)
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{3, 5, 20, 50, 64, 65} {
		for range 12 {
			a := make([]float64, n*n)
			for j := range n {
				a[j*n+j] = 1 + rnd.Float64()
			}
			a[rnd.IntN(n*n)] += 0.3
			for _, devices := range []int{1, 4} {
				o := decompose(t, a, devices, 1, Config{Problem: Problem{M: n, N: n, Vectors: true},
					Settings: Settings{Variant: Full}})
				o.verify(t, a, 5)
			}
		}
	}
}

// One fine ordering gives the same bits of S, U and V however the devices are split into ranks, for
// 1, 2 and 4 devices, and from run to run; the trace shows that they execute the same pairs.
func TestBitIdentical(t *testing.T) {
	for _, x := range []struct {
		n       int // also one that 16 block-columns do not divide
		variant Variant
	}{{96, Full}, {96, Block}, {101, Block}} {
		a := disttest.Generate(t, "gauss", gen.Options{Rows: 120, Cols: int64(x.n), Seed: 3})
		c := Config{Problem: Problem{M: 120, N: x.n, Vectors: true},
			Settings: Settings{Variant: x.variant, Block: 6}}
		want := decompose(t, a, 1, 1, c)
		for _, grid := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {1, 4}, {2, 2}, {4, 1}} {
			got := decompose(t, a, grid[0], grid[1], c)
			if !reflect.DeepEqual(got.s, want.s) || !reflect.DeepEqual(got.u, want.u) ||
				!reflect.DeepEqual(got.v, want.v) {
				t.Errorf("n = %d, %v, %d ranks × %d devices: other bits than one device", x.n, x.variant, grid[0],
					grid[1])
			}
		}
	}
}

// S has the same bits whether or not V is carried.
func TestVectorsDoNotChangeSigma(t *testing.T) {
	a := disttest.Generate(t, "gauss", gen.Options{Rows: 50, Cols: 50, Seed: 4})
	with := decompose(t, a, 2, 1, Config{Problem: Problem{M: 50, N: 50, Vectors: true},
		Settings: Settings{Block: 4, Variant: Block}})
	without := decompose(t, a, 2, 1, Config{Problem: Problem{M: 50, N: 50},
		Settings: Settings{Block: 4, Variant: Block}})
	if !reflect.DeepEqual(with.s, without.s) {
		t.Error("S differs")
	}
}

// Multiplying A by 2^k multiplies S by 2^k and changes nothing else.
func TestScaleInvariance(t *testing.T) {
	a := disttest.Generate(t, "gauss", gen.Options{Rows: 30, Cols: 20, Seed: 5})
	c := Config{Problem: Problem{M: 30, N: 20, Vectors: true}, Settings: Settings{Variant: Full, Block: 3}}
	want := decompose(t, a, 1, 2, c)
	for _, k := range []int{-900, -1, 3, 900} {
		b := append([]float64(nil), a...)
		dense.Ldexp(b, k)
		got := decompose(t, b, 1, 2, c)
		dense.Ldexp(got.s, -k)
		if !reflect.DeepEqual(got.s, want.s) || !reflect.DeepEqual(got.u, want.u) ||
			!reflect.DeepEqual(got.v, want.v) {
			t.Errorf("scaling by 2^%d changes the decomposition", k)
		}
	}
}

// The executed trace, not the plan: for powers of two every device count executes the pairs of
// reverse R in order (flat); nested, the macro pairs of reverse R of order 2g, and inside each the
// pairs of reverse R again.
func TestTraceIsReverseR(t *testing.T) {
	const n = 64
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 6})
	fine, err := strategy.New("rev-rowcyc", 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, devices := range []int{1, 2, 4} {
		o := decompose(t, a, devices, 1, Config{Problem: Problem{M: n, N: n},
			Settings: Settings{Block: 4, MaxSweeps: 1, Variant: Block}})
		stepOf := map[[2]int]int{}
		for s, pairs := range fine.Steps {
			for _, p := range pairs {
				stepOf[[2]int{p.P, p.Q}] = s
			}
		}
		seen := map[[2]int]int{}
		for d := range devices {
			last := 0
			for _, e := range o.trace[d] {
				if e[0] != 0 {
					continue
				}
				pair := [2]int{e[2], e[3]}
				if stepOf[pair] < last {
					t.Fatalf("flat, %d devices: device %d executed %v of step %d after step %d", devices, d, pair,
						stepOf[pair], last)
				}
				last = stepOf[pair]
				seen[pair]++
			}
		}
		if len(seen) != 16*15/2 {
			t.Errorf("flat, %d devices: %d pairs executed, want %d", devices, len(seen), 16*15/2)
		}
		for pair, count := range seen {
			if count != 1 {
				t.Errorf("flat, %d devices: pair %v executed %d times", devices, pair, count)
			}
		}
		nestedTrace(t, a, n, devices)
	}
}

func nestedTrace(t *testing.T, a []float64, n, devices int) {
	o := decompose(t, a, devices, 1, Config{Problem: Problem{M: n, N: n},
		Settings: Settings{Scheme: Nested, Block: 4, MaxSweeps: 1, Variant: Block}})
	outer, err := strategy.New("rev-rowcyc", 2*devices)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := strategy.New("rev-rowcyc", node.NewLayout(n/devices, 1, 4, 0).Columns)
	if err != nil {
		t.Fatal(err)
	}
	var sequence [][4]int
	for _, pairs := range inner.Steps {
		for _, p := range pairs {
			sequence = append(sequence, [4]int{1, 0, p.P, p.Q})
		}
	}
	for d := range devices {
		trace := o.trace[d]
		for s, pairs := range outer.Steps {
			if len(trace) < 1+len(sequence) {
				t.Fatalf("nested, %d devices: device %d stopped in outer step %d", devices, d, s)
			}
			found := false
			for _, p := range pairs {
				found = found || trace[0] == [4]int{0, 0, p.P, p.Q}
			}
			if !found || !reflect.DeepEqual(trace[1:1+len(sequence)], sequence) {
				t.Fatalf("nested, %d devices: outer step %d executed %v first", devices, s, trace[0])
			}
			trace = trace[1+len(sequence):]
		}
		if len(trace) != 0 {
			t.Errorf("nested, %d devices: %d pairs too many", devices, len(trace))
		}
	}
}

// An error of one rank's data is the error of all, and names the rank.
func TestLoadFailureIsAgreed(t *testing.T) {
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for i, comm := range comm.NewLocal(3) {
		wg.Go(func() {
			be, err := cpu.Open(1)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() {
				if err := be.Close(); err != nil {
					t.Error(err)
				}
			}()
			_, errs[i] = Solve(context.Background(), comm, []kernels.Backend{be},
				Config{Problem: Problem{M: 12, N: 12, Start: Start{Load: func(j0, j1 int, dst []float64) error {
					if comm.Rank() == 1 {
						return fmt.Errorf("NaN at row 3, column 17")
					}
					return nil
				}}}, Settings: Settings{Strategy: "rev-rowcyc", MaxSweeps: 5, Block: 2, Variant: Block}})
		})
	}
	wg.Wait()
	for _, err := range errs {
		f, ok := err.(*comm.Failure)
		if !ok || f.Rank != 1 || f.Kind != comm.BadInput || f.Text != "NaN at row 3, column 17" {
			t.Errorf("got %v", err)
		}
	}
}
