package kerneltest

import (
	"math"
	"testing"

	"jmpi/kernels"
)

// AllDense runs the test bodies of kernels.Dense on the device, each as a subtest.
func AllDense(t *testing.T, b kernels.Backend) {
	for _, body := range []struct {
		name string
		run  func(*testing.T, kernels.Backend)
	}{
		{"Convert", Convert}, {"Zero", Zero}, {"Transpose", Transpose}, {"Elements", Elements}, {"Put", Put},
		{"GatherRows", GatherRows},
		{"MoveColumns", MoveColumns}, {"Scale", Scale}, {"Divide", Divide}, {"Ldexp", Ldexp},
		{"Add", Add}, {"Lengths", Lengths}, {"Maxima", Maxima}, {"Leads", Leads},
		{"Angles", Angles}, {"Departures", Departures},
		{"Gemm", Gemm}, {"TurnColumns", TurnColumns}, {"Syrk", Syrk}, {"Potrf", Potrf}, {"Trsm", Trsm},
		{"FactorPanel", FactorPanel}, {"Reflect", Reflect}, {"ReflectMany", ReflectMany},
		{"Columns", Columns}, {"Join", Join}, {"OneSign", OneSign},
		{"FactorPivoted", FactorPivoted}, {"SortedRows", SortedRows}, {"PivotsEnd", PivotsEnd},
		{"PivotedRange", PivotedRange},
		{"Noise", Noise}, {"DenseRefusals", DenseRefusals},
	} {
		t.Run(body.name, func(t *testing.T) { body.run(t, b) })
	}
}

var elements = []kernels.Element{kernels.Float64, kernels.Float32}

// unit returns the unit roundoff of a type.
func unit(e kernels.Element) float64 {
	if e == kernels.Float32 {
		return 0x1p-24
	}
	return roundoff
}

// round rounds all elements to the type.
func round(a matrix, e kernels.Element) matrix {
	a = a.clone()
	if e == kernels.Float32 {
		for i, x := range a.a {
			a.a[i] = float64(float32(x))
		}
	}
	return a
}

// window is a matrix that is a part of a larger one on the device, whose other elements are NaN: at least one
// row and one column on each side, and an odd number of elements before it.
type window struct {
	kernels.Panel
	outer kernels.Panel
	t     *testing.T
	b     kernels.Memory
}

// place puts a on the device, in memory of its own that is freed with the test.
func place(t *testing.T, b kernels.Memory, a matrix, e kernels.Element) window {
	t.Helper()
	w := window{outer: kernels.Panel{M: a.m + 4 + a.m%2, N: a.n + 2, Ld: a.m + 4 + a.m%2, Type: e}, t: t, b: b}
	data, err := b.Alloc(w.outer.Bytes())
	must(t, err)
	t.Cleanup(func() { must(t, b.Free(data)) })
	w.outer.Data = data
	w.Panel = w.outer.Columns(1, 1+a.n).Rows(1, 1+a.m)
	host := nan(w.outer.M, w.outer.N)
	for j := range a.n {
		copy(host.column(1 + j)[1:], a.column(j))
	}
	words := w.words()
	must(t, b.Write(words, pack(host.a, e), words.M))
	return w
}

// words returns the outer panel as one of float64, of which each has two elements of type float32.
func (w window) words() kernels.Panel {
	p := w.outer
	if p.Type == kernels.Float32 {
		p.M, p.Ld, p.Type = p.M/2, p.Ld/2, kernels.Float64
	}
	return p
}

// pack returns the memory of numbers of the type; unpack reads it.
func pack(x []float64, e kernels.Element) []float64 {
	if e == kernels.Float64 {
		return x
	}
	words := make([]float64, len(x)/2)
	for i := range words {
		low, high := math.Float32bits(float32(x[2*i])), math.Float32bits(float32(x[2*i+1]))
		words[i] = math.Float64frombits(uint64(high)<<32 | uint64(low))
	}
	return words
}

func unpack(words []float64, e kernels.Element) (x []float64) {
	if e == kernels.Float64 {
		return words
	}
	for _, w := range words {
		bits := math.Float64bits(w)
		x = append(x, float64(math.Float32frombits(uint32(bits))), float64(math.Float32frombits(uint32(bits>>32))))
	}
	return x
}

// read reads the matrix back and checks that nothing around it was written.
func (w window) read() matrix {
	w.t.Helper()
	must(w.t, w.b.Sync())
	words := w.words()
	host := make([]float64, words.M*words.N)
	must(w.t, w.b.Read(host, words.M, words))
	outer := matrix{w.outer.M, w.outer.N, unpack(host, w.Type)}
	a := newMatrix(w.M, w.N)
	for j := range outer.n {
		for i, x := range outer.column(j) {
			if i > 0 && i <= w.M && j > 0 && j <= w.N {
				a.set(i-1, j-1, x)
			} else if x == x {
				w.t.Fatalf("%d×%d: (%d,%d), outside of the matrix, was overwritten by %g", w.M, w.N, i-1, j-1, x)
			}
		}
	}
	return a
}

// panels returns those of some windows.
func panels(w []window) (p []kernels.Panel) {
	for i := range w {
		p = append(p, w[i].Panel)
	}
	return p
}

// near tests |got − want| ≤ tol·bound element by element.
func near(t *testing.T, what string, got, want, bound matrix, tol float64) {
	t.Helper()
	for j := range want.n {
		for i := range want.m {
			if e := math.Abs(got.at(i, j) - want.at(i, j)); !(e <= tol*bound.at(i, j)) {
				t.Fatalf("%s: element (%d,%d) is %g, want %g, off by %.1f times the bound", what, i, j, got.at(i, j),
					want.at(i, j), e/(tol*bound.at(i, j)))
			}
		}
	}
}

// sameNumbers compares numbers bit by bit.
func sameNumbers(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !same(got[i], want[i]) {
			t.Fatalf("%s: number %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}
