package disttest

import (
	"math"
	"testing"

	"jmpi/internal/gen"
	"jmpi/kernels"
)

func Orthogonality(q []float64, m, n int) float64 {
	f := 0.0
	for j := range n {
		for k := range n {
			start := 0.0
			if j == k {
				start = -1
			}
			d := Dot(start, q[j*m:(j+1)*m], q[k*m:(k+1)*m])
			f += d * d
		}
	}
	return math.Sqrt(f) / (float64(n) * kernels.Epsilon)
}

// Dot returns start + xᵀy as if in twice the precision: plain sums of many terms would be worse
// than what they are to judge.
func Dot(start float64, x, y []float64) float64 {
	sum, rest := start, 0.0
	for i, e := range x {
		p := e * y[i]
		s := sum + p
		z := s - sum
		rest += (sum - (s - z)) + (p - z) + math.FMA(e, y[i], -p)
		sum = s
	}
	return sum + rest
}

func Generate(t testing.TB, kind string, o gen.Options) []float64 {
	t.Helper()
	g, err := gen.New(kind, o)
	if err != nil {
		t.Fatal(err)
	}
	a := make([]float64, o.Rows*o.Cols)
	if err := g.Columns(0, o.Cols, a, int(o.Rows)); err != nil {
		t.Fatal(err)
	}
	return a
}
