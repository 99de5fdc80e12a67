package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jmpi/internal/gen"
	"jmpi/internal/residual"
)

// What users of such programs have run into (docs/user-reports.md): not finite, degenerate, shapes.

const eps = 0x1p-52

// example is a matrix with its right singular values.
type example struct {
	name  string
	a     matrix
	sigma []float64 // nil: not known
	tol   float64   // of the relative error
	check func(t *testing.T, o outcome)
}

// runExamples decomposes the matrices on so many ranks and judges each in a subtest.
func runExamples(t *testing.T, ranks int, examples []example) []outcome {
	t.Helper()
	dir := t.TempDir()
	var runs []svdRun
	for i, e := range examples {
		input := filepath.Join(dir, fmt.Sprintf("%d.npy", i))
		e.a.write(t, input)
		runs = append(runs, svdRun{input, filepath.Join(dir, fmt.Sprintf("%d.svd", i)), "both"})
	}
	outcomes := runOn(t, ranks, runs)
	for i, e := range examples {
		t.Run(fmt.Sprintf("%s on %d", e.name, ranks), func(t *testing.T) {
			outcomes[i].right(t)
			if e.sigma != nil {
				outcomes[i].sigma(t, e.sigma, e.tol)
			}
			if e.check != nil {
				e.check(t, outcomes[i])
			}
		})
	}
	return outcomes
}

// Not finite: refused while reading, with file, row and column, whatever the format, the place and
// the vectors asked for.
func TestReportsNotFinite(t *testing.T) {
	formats := []struct {
		extension string
		encode    func(a matrix) []byte
	}{
		{"npy", func(a matrix) []byte {
			return npyFile("<f8", false, a.m, a.n, a.encode(8, binary.LittleEndian, true))
		}},
		{"npy", func(a matrix) []byte {
			return npyFile(">f4", true, a.m, a.n, a.encode(4, binary.BigEndian, false))
		}},
		{"npy", func(a matrix) []byte {
			return npyFile("<f2", true, a.m, a.n, a.encode(2, binary.LittleEndian, false))
		}},
		{"mtx", func(a matrix) []byte {
			text := fmt.Appendf(nil, "%%%%MatrixMarket matrix array real general\n%d %d\n", a.m, a.n)
			for _, x := range a.x {
				text = fmt.Appendln(text, x)
			}
			return text
		}},
		{"mtx", func(a matrix) []byte {
			text := fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", a.m, a.n, len(a.x))
			for k, x := range a.x {
				text = fmt.Appendln(text, k%a.m+1, k/a.m+1, x)
			}
			return text
		}},
		{"colmajor.f64", func(a matrix) []byte { return a.encode(8, binary.LittleEndian, false) }},
		{"rowmajor.f64", func(a matrix) []byte { return a.encode(8, binary.LittleEndian, true) }},
	}
	for _, ranks := range []int{1, 4} {
		dir := t.TempDir()
		var runs []svdRun
		var want [][]string
		for i, format := range formats {
			for j, shape := range [][2]int{{3, 3}, {4, 20}, {20, 4}} {
				for k, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					a := build(shape[0], shape[1], func(i, j int) float64 { return float64(1 + i + 2*j) })
					row, column := (shape[0]+k)/2, shape[1]-1-k
					a.x[row+column*a.m] = bad
					name := fmt.Sprintf("%d-%d-%d.%dx%d.%s", i, j, k, a.m, a.n, format.extension)
					path := filepath.Join(dir, name)
					if err := os.WriteFile(path, format.encode(a), 0o666); err != nil {
						t.Fatal(err)
					}
					runs = append(runs, svdRun{path, path + ".svd", []string{"both", "none"}[(i+j+k)%2]})
					text := []string{"NaN", "Inf", "-Inf"}[k]
					want = append(want, []string{path, fmt.Sprintf(": %s at row %d, column %d\n", text, row+1, column+1)})
				}
			}
		}
		for i, o := range runOn(t, ranks, runs) {
			t.Run(fmt.Sprintf("%s on %d", filepath.Base(o.Input), ranks), func(t *testing.T) {
				o.refused(t, exitInput, want[i]...)
			})
		}
	}
}

// Zero, duplicate, repeated, deficient: S is 0 where it must be, exactly 1 for the identity, and U
// is completed.
func TestReportsDegenerate(t *testing.T) {
	for _, ranks := range []int{1, 4} {
		runExamples(t, ranks, degenerate(t))
	}
}

func degenerate(t *testing.T) []example {
	pick := func(yes bool, x float64) float64 {
		if yes {
			return x
		}
		return 0
	}
	zeros := func(k int, x ...float64) []float64 { return append(x, make([]float64, k-len(x))...) }
	one := func(m, n int) example {
		a := build(m, n, func(i, j int) float64 { return pick(i == 4 && j == 7, -7) })
		return example{fmt.Sprintf("one entry of %d×%d", m, n), a, zeros(min(m, n), 7), 0,
			func(t *testing.T, o outcome) {
				near(t, "u", o.u.x[:m], build(m, 1, func(i, _ int) float64 { return pick(i == 4, 1) }).x, 0)
				near(t, "v", o.v.x[:n], build(n, 1, func(j, _ int) float64 { return pick(j == 7, -1) }).x, 0)
			}}
	}
	return []example{
		{"2×2 of zeros", byRows(2, 0, 0, 0, 0), zeros(2), 0, nil},
		{"7×4 of zeros", build(7, 4, func(i, j int) float64 { return 0 }), zeros(4), 0, nil},
		{"4×7 of zeros", build(4, 7, func(i, j int) float64 { return 0 }), zeros(4), 0, nil},
		one(9, 12), one(12, 9), one(5, 8), one(8, 8),
		{"[[1,2],[2,4]]", byRows(2, 1, 2, 2, 4), zeros(2, 5), eps, nil},
		{"[[-896,-896],[-19,-19]]", byRows(2, -896, -896, -19, -19), zeros(2, math.Sqrt2*math.Hypot(896, 19)), eps,
			nil},
		{"4×4, equal columns", build(4, 4, func(i, j int) float64 { return float64(i + 1) }),
			zeros(4, 2*math.Sqrt(30)), 2 * eps, nil},
		{"4×4, two pairs of equal columns", byRows(4, 3, 0, 3, 0, 0, 1, 0, 1, 4, 0, 4, 0, 0, 0, 0, 0),
			zeros(4, 5*math.Sqrt2, math.Sqrt2), 2 * eps, nil},
		{"9×3, equal rows", build(9, 3, func(i, j int) float64 { return []float64{2, 3, 6}[j] }), zeros(3, 21),
			2 * eps, nil},
		{"3×9, equal columns", build(3, 9, func(i, j int) float64 { return []float64{2, 3, 6}[i] }), zeros(3, 21),
			2 * eps, nil},
		{"7×5 of rank 1", build(7, 5, func(i, j int) float64 { return float64((i + 1) * (2*j - 3)) }),
			zeros(5, math.Sqrt(140*45)), 4 * eps, nil},
		{"identity of order 33", build(33, 33, func(i, j int) float64 { return pick(i == j, 1) }),
			slices.Repeat([]float64{1}, 33), 0, nil},
		{"identity of 40×17", build(40, 17, func(i, j int) float64 { return pick(i == j, 1) }),
			slices.Repeat([]float64{1}, 17), 0, nil},
		{"permutation times 2 and 3", build(24, 24,
			func(i, j int) float64 { return pick(i == (j+5)%24, float64(2+j%2)) }),
			slices.Concat(slices.Repeat([]float64{3}, 12), slices.Repeat([]float64{2}, 12)), 0, nil},
		{"Hadamard", build(16, 16, func(i, j int) float64 { return float64(1 - 2*(bits.OnesCount(uint(i&j))%2)) }),
			slices.Repeat([]float64{4}, 16), 0, nil},
		{"reflector", build(16, 16, func(i, j int) float64 { return pick(i == j, 1) - 0.125 }),
			slices.Repeat([]float64{1}, 16), 2 * eps, nil},
		{"40×30 of rank 6", generated(t, "lowrank", gen.Options{Rows: 40, Cols: 30, Seed: 1, Rank: 6}), nil, 0,
			func(t *testing.T, o outcome) {
				if o.s[5] < 1e-3*o.s[0] || o.s[6] > 40*eps*o.s[0] {
					t.Errorf("S = %v", o.s)
				}
			}},
	}
}

// Shapes: the same values for any number of ranks, also where some have no columns.
func TestReportsShapes(t *testing.T) {
	var examples []example
	for _, shape := range [][2]int{{0, 5}, {5, 0}, {0, 0}} {
		m, n := shape[0], shape[1]
		examples = append(examples, example{fmt.Sprintf("%d×%d", m, n), build(m, n, nil), []float64{}, 0,
			func(t *testing.T, o outcome) {
				if o.u.m != m || o.v.m != n || o.u.n != 0 || o.v.n != 0 {
					t.Errorf("U %d×%d, V %d×%d", o.u.m, o.u.n, o.v.m, o.v.n)
				}
			}})
	}
	examples = append(examples,
		example{"1×1", byRows(1, -3), []float64{3}, 0, nil},
		example{"1×7", byRows(7, 1, 3, 1, 3, 1, 1, 2), []float64{math.Sqrt(26)}, eps, nil},
		example{"7×1", byRows(1, 1, 3, 1, 3, 1, 1, 2), []float64{math.Sqrt(26)}, eps, nil},
		example{"3×3", byRows(3, 2, -2, 1, 2, 1, -2, 1, 2, 2), []float64{3, 3, 3}, 2 * eps, nil},
	)
	for _, shape := range [][2]int{{3, 8}, {8, 3}, {2, 2}, {5, 4}, {31, 29}, {37, 53}, {97, 97}, {11, 128}} {
		a := gauss(t, shape[0], shape[1])
		examples = append(examples, example{fmt.Sprintf("%d×%d", a.m, a.n), a, a.values(t), 1e-12, nil})
	}
	for _, ranks := range []int{1, 2, 3, 4} {
		runExamples(t, ranks, examples)
	}
}

// A residual of exactly 0 passes; a decomposition of another matrix fails however orthogonal its factors are.
func TestReportsResidual(t *testing.T) {
	identity := build(20, 20, func(i, j int) float64 { return float64(1 - min(1, (i-j)*(i-j))) })
	o := runExamples(t, 2, []example{{"identity", identity, slices.Repeat([]float64{1}, 20), 0, nil}})[0]
	if r := o.check(t, o.Input); r.Rows[0].Name != "residual" || r.Rows[0].Value != 0 ||
		r.Rows[0].Verdict != residual.Passed {
		t.Errorf("identity: %v", r.Rows)
	}
	other := filepath.Join(t.TempDir(), "a.npy")
	identity.x[3] = 1.9e-3
	identity.write(t, other)
	code, text := output(t, "check", other, o.Dir)
	if code != exitCheckFailed || !strings.Contains(text, "orthU = 0  PASSED\northV = 0  PASSED\n") ||
		strings.Count(text, "FAILED") != 2 {
		t.Errorf("another matrix: exit code %d, %s", code, text)
	}
}

// Tall: 100,000×50.
func TestReportsTall(t *testing.T) {
	const n = 50
	a := gauss(t, 100_000, n)
	for _, o := range runExamples(t, 4, []example{{"100000×50", a, nil, 0, nil}}) {
		// The singular values of a Gaussian matrix lie about √m, by little more than √n.
		if low, high := math.Sqrt(100_000)-1.5*math.Sqrt(n), math.Sqrt(100_000)+1.5*math.Sqrt(n); o.s[n-1] < low ||
			o.s[0] > high {
			t.Errorf("S from %g to %g, want within %g and %g", o.s[0], o.s[n-1], low, high)
		}
	}
}
