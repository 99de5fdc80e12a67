package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"jmpi/internal/gen"
	"jmpi/internal/matio"
	"jmpi/kernels"
	"jmpi/node"
)

// Scale: 2^k·A has 2^k·S, exactly, and the same U and V, from 1e291 to 1e-300; 3·A, which cures no
// wrong value, 3·S.
func TestReportsScale(t *testing.T) {
	exponents := []int{0, 967, 1, -57, -120, -996} // no entry becomes subnormal
	var examples []example
	for _, shape := range [][2]int{{30, 20}, {20, 30}} {
		a := gauss(t, shape[0], shape[1])
		for _, e := range exponents {
			examples = append(examples, example{fmt.Sprintf("2^%d·%d×%d", e, a.m, a.n), a.scaled(e), nil, 0, nil})
		}
		triple := build(a.m, a.n, func(i, j int) float64 { return 3 * a.at(i, j) })
		examples = append(examples, example{fmt.Sprintf("3·%d×%d", a.m, a.n), triple, nil, 0, nil})
	}
	for _, ranks := range []int{1, 4} {
		for outcomes := range slices.Chunk(runExamples(t, ranks, examples), len(exponents)+1) {
			s := matrix{len(outcomes[0].s), 1, outcomes[0].s}
			for i, e := range exponents {
				outcomes[i].s = matrix{s.m, 1, outcomes[i].s}.scaled(-e).x
				outcomes[i].sameAs(t, outcomes[0], fmt.Sprintf("2^%d on %d ranks", e, ranks))
			}
			outcomes[len(exponents)].sigma(t, build(s.m, 1, func(i, _ int) float64 { return 3 * s.x[i] }).x, 1e-13)
		}
	}
}

// B·D with D = 1 … 2^-986 in random order: every σ is right to the accuracy that B, which is
// well-conditioned, allows. Where each dₖ is 2^-34 times the one before, σₖ is dₖ·|rₖₖ| of B = QR,
// up to a relative 2^-60.
func TestReportsGraded(t *testing.T) {
	const n = 30
	b := gauss(t, n, n)
	var qr mat.QR
	var r mat.Dense
	qr.Factorize(mat.NewDense(n, n, b.x).T())
	qr.RTo(&r)
	want := make([]float64, n)
	for k := range want {
		want[k] = math.Ldexp(math.Abs(r.At(k, k)), -34*k)
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	columns := build(n, n, func(i, j int) float64 { return math.Ldexp(b.at(i, order[j]), -34*order[j]) })
	rows := build(n, n, func(i, j int) float64 { return columns.at(j, i) })
	var examples []example
	for _, e := range []int{0, 980} {
		sigma := build(n, 1, func(i, _ int) float64 { return math.Ldexp(want[i], e) }).x
		examples = append(examples, example{fmt.Sprintf("columns, 2^%d", e), columns.scaled(e), sigma, 1e-12, nil},
			example{fmt.Sprintf("rows, 2^%d", e), rows.scaled(e), sigma, 1e-12, nil})
	}
	for _, ranks := range []int{1, 4} {
		runExamples(t, ranks, examples)
	}
}

// The ends of the range: subnormal numbers are as good as others, also beside 1, and a σ beyond the range
// is refused with what to do.
func TestReportsEndsOfTheRange(t *testing.T) {
	const tiny = 0x1p-1074
	for _, ranks := range []int{1, 4} {
		runExamples(t, ranks, []example{
			{"subnormal", byRows(2, tiny, 2*tiny, 2*tiny, 4*tiny), []float64{5 * tiny, 0}, 0, nil},
			{"subnormal diagonal", byRows(3, 0, tiny, 0, 7*tiny, 0, 0, 0, 0, 3*tiny),
				[]float64{7 * tiny, 3 * tiny, tiny}, 0, nil},
			{"subnormal beside 1", byRows(3, 0, 5*tiny, 0, 1, 0, 0, 0, 0, 0x1p-1022),
				[]float64{1, 0x1p-1022, 5 * tiny}, 0, nil},
			{"subnormal column", byRows(2, 3, 4*tiny, 4, -3*tiny), []float64{5, 5 * tiny}, 0, nil},
			{"largest", byRows(2, math.MaxFloat64, 0, 0, -math.MaxFloat64),
				[]float64{math.MaxFloat64, math.MaxFloat64}, 0, nil},
		})
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.npy")
	build(4, 4, func(i, j int) float64 { return 1e308 }).write(t, path)
	for _, o := range runOn(t, 2, []svdRun{{path, filepath.Join(dir, "a.svd"), "both"}}) {
		o.refused(t, exitInput, "exceeds the range of float64; divide the matrix by 2^")
	}
}

// The same S, and U and V where they are, whatever vectors are asked for: the smallest σ too.
func TestReportsVectors(t *testing.T) {
	dir := t.TempDir()
	vectors := []string{"both", "u", "v", "none"}
	for _, ranks := range []int{1, 4} {
		var runs []svdRun
		for _, shape := range [][2]int64{{40, 30}, {30, 40}, {36, 36}} {
			path := filepath.Join(dir, fmt.Sprintf("%dx%d.npy", shape[0], shape[1]))
			generated(t, "graded-both", gen.Options{Rows: shape[0], Cols: shape[1], Seed: 2, Cond: 1e12}).write(t,
				path)
			for _, which := range vectors {
				runs = append(runs, svdRun{path, fmt.Sprintf("%s.%d.%s", path, ranks, which), which})
			}
		}
		for outcomes := range slices.Chunk(runOn(t, ranks, runs), len(vectors)) {
			if s := outcomes[0].s; s[len(s)-1] > 1e-18*s[0] || s[len(s)-1] == 0 {
				t.Errorf("S from %g to %g shows nothing", s[0], s[len(s)-1])
			}
			for i, o := range outcomes {
				o.right(t)
				o.sameAs(t, outcomes[0], fmt.Sprintf("%s on %d ranks, --vectors %s", filepath.Base(o.Input), ranks,
					vectors[i]))
				if wantU, wantV := i < 2, i%2 == 0; o.u.n > 0 != wantU || o.v.n > 0 != wantV {
					t.Errorf("--vectors %s: U %d×%d, V %d×%d", vectors[i], o.u.m, o.u.n, o.v.m, o.v.n)
				}
			}
		}
	}
}

// Sizes beyond 32 bits, counted without taking the memory: of layouts, devices, messages and files.
func TestReportsSizes(t *testing.T) {
	limits := kernels.Limits{PointwiseOrder: 128, Width: 64, Align: 8}
	for _, n := range []int{50_000, 200_000} {
		if p := (kernels.Panel{M: n, N: n, Ld: n}); p.Bytes() != int64(n)*int64(n)*8 ||
			p.Columns(n-1, n).Data != kernels.Address((n-1)*n*8) {
			t.Errorf("a panel of order %d: %d bytes, last column at %d", n, p.Bytes(), p.Columns(n-1, n).Data)
		}
		for _, devices := range []int{1, 2, 8, 64} {
			l := node.NewLayout(n, devices, limits.Width, 0)
			macro, end := l.Macro(2*devices - 1)
			if l.Start(l.Columns) != n || end != n || n-macro != n/(2*devices) && n-macro != n/(2*devices)+1 {
				t.Errorf("%d columns on %d devices: the last macro block-column is [%d,%d)", n, devices, macro, end)
			}
			held := map[bool]float64{true: 2, false: 3}[devices == 1]
			panels := held * 8 * 2 * float64(n) * float64(n) / float64(2*devices)
			demand := node.Demand(node.Config{M: n, Layout: l, Vectors: true, Strategy: "rev-rowcyc", Sweeps: 1,
				Exchanges: devices > 1}, limits)
			if x := float64(demand) / panels; x < 1 || x > 1.05 {
				t.Errorf("%d×%d on %d devices: %d bytes each, %g times its block-columns", n, n, devices, demand, x)
			}
			p := executePlanJSON(t, "--shape", fmt.Sprintf("%dx%d", n, n), "--devices", fmt.Sprint(devices),
				"--sweeps", "1", "--precision", "float64")
			if x := float64(*p.MemoryPerDevice) / panels; x < 1 || x > 1.05 {
				t.Errorf("plan of %d×%d on %d devices: memory %d, %g times its block-columns", n, n, devices,
					*p.MemoryPerDevice, x)
			}
			phases := float64(2*devices - 1)
			if devices == 1 {
				phases = 0
			}
			if sent := phases * 8 * 2 * float64(n) * float64(n) /
				float64(2*devices); math.Abs(float64(*p.BytesPerDevice)-sent) > 0.01*sent {
				t.Errorf("plan of %d×%d on %d devices: %d bytes sent, want %g", n, n, devices, *p.BytesPerDevice, sent)
			}
		}
	}
	const n = 50_000
	path := filepath.Join(t.TempDir(), "a.npy")
	w, err := matio.CreateNpy(path, n, n) // 20 GB without blocks on the disk
	if err != nil {
		t.Fatal(err)
	}
	last := build(n, 1, func(i, _ int) float64 { return float64(i) })
	if err := w.WriteColumns(n-1, last.x, n, 1); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := matio.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	column, row := make([]float64, n), make([]float64, n)
	if err := file.ReadColumns(n-1, n, column, n); err != nil || !slices.Equal(column, last.x) {
		t.Errorf("column %d of order %d is read wrong, error %v", n, n, err)
	}
	if err := file.ReadRows(n-1, n, row, 1); err != nil || row[n-1] != n-1 || slices.Max(row[:n-1]) != 0 {
		t.Errorf("row %d of order %d is read wrong, error %v", n, n, err)
	}
}
