package jacobi

import (
	"math"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// The largest cosine of the first sweep is that of the matrix where there is one pivot. It falls to what ends
// the method, in the end quadratically, and is the same on every rank.
func TestLargestCosine(t *testing.T) { largestCosine(t, decompose) }

func largestCosine(t *testing.T,
	decompose func(t *testing.T, a []float64, ranks, devices int, c Config) outcome) {
	const m, n = 90, 40
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 5})
	want := 0.0
	for k := range n {
		for l := range k {
			u, v := a[k*m:(k+1)*m], a[l*m:(l+1)*m]
			want = max(want, math.Abs(disttest.Dot(0, u, v))/(kernels.Norm2(u)*kernels.Norm2(v)))
		}
	}
	for _, c := range []struct {
		name     string
		positive int
		single   bool
		first    float64 // how exact the first one is
		last     float64 // the largest that ends the method
	}{{"float64", 0, false, 1e-14, 0x1p-26}, {"hyperbolic", n / 3, false, 1e-14, 0x1p-26},
		{"float32", 0, true, 3e-6, 2 * cosine}} {
		x := Config{Problem: Problem{M: m, N: n, Positive: c.positive}, Settings: Settings{Variant: Block}}
		if c.single {
			x = single(m, n, false, x.Settings)
		}
		x.Block = n / 2
		one := decompose(t, a, 1, 1, x).sweeps
		if got := one[0].Cosine; !(math.Abs(got-want) <= c.first) {
			t.Errorf("%s: the largest cosine is %g, want %g", c.name, got, want)
		}
		x.Block = 5
		sweeps := decompose(t, a, 2, 2, x).sweeps
		for i, s := range sweeps[1:] {
			before := sweeps[i].Cosine
			if !(s.Cosine > 0 && s.Cosine <= 1) || before < 0.01 && s.Cosine > max(before/2, c.last) {
				t.Errorf("%s: the largest cosine of sweep %d is %g, and that before it %g", c.name, i+2, s.Cosine, before)
			}
		}
		if end := sweeps[len(sweeps)-1].Cosine; !(sweeps[0].Cosine > 0.1 && end <= c.last) {
			t.Errorf("%s: the largest cosine falls from %g to %g", c.name, sweeps[0].Cosine, end)
		}
	}
}
