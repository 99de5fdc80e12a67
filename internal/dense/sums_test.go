package dense

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/kernels"
)

// exactNorm returns ‖x‖₂, rounded once.
func exactNorm(x []float64) float64 {
	sum := new(big.Float).SetPrec(300)
	for _, e := range x {
		b := new(big.Float).SetPrec(300).SetFloat64(e)
		sum.Add(sum, b.Mul(b, b))
	}
	norm, _ := sum.Sqrt(sum).Float64()
	return norm
}

// The columns of a matrix of rank 1 are as a reflector's vector, so that all terms of its products with them
// have one sign, and for equal elements one size: summed one after the other they would be off by 30 ε. What
// is left of the columns are the errors. How large they are depends on how many partial sums the kernels of
// BLAS have: 12 ε with the wide ones, 17 with those for SSE3.
func TestSumsOfOneSign(t *testing.T) {
	const n = 12
	for _, m := range []int{40, 64, 256, 512, 1000, 3000} {
		random := rand.New(rand.NewPCG(uint64(m), 1))
		for _, c := range []struct {
			name    string
			element func() float64
			limit   float64
		}{
			{"uniform", random.Float64, 5},
			{"equal", func() float64 { return 1. / 3 }, 20},
			{"signs", func() float64 { return float64(2*random.IntN(2)-1) / 3 }, 20},
		} {
			a := make([]float64, m*n)
			for i := range m {
				a[i] = c.element()
			}
			for j := 1; j < n; j++ {
				f := 1 + random.Float64()
				for i := range m {
					a[i+j*m] = f * a[i]
				}
			}
			check := func(what string, j int, top, rest float64) {
				norm := exactNorm(a[j*m : (j+1)*m])
				if d := max(math.Abs(math.Abs(top)-norm), rest) / (norm * eps); !(d <= c.limit) {
					t.Errorf("%s, %d rows, %s: column %d is off by %.1f ε", c.name, m, what, j, d)
				}
			}
			for what, factor := range map[string]func(n int, a []float64) Panel{
				"pivoted": func(n int, a []float64) Panel {
					return FactorPivoted(m, n, a, 0, Noise{}, kernels.Dropping{})
				},
				"in their order": func(n int, a []float64) Panel { return Factor(m, n, a) },
			} {
				p := factor(n, slices.Clone(a))
				for j, column := range p.Pivots {
					r := p.R[j*p.Count : j*p.Count+j+1]
					check(fmt.Sprintf("factored %s", what), column, r[0], Norm(r[1:]))
				}
				p = factor(1, slices.Clone(a[:m]))
				x := slices.Clone(a)
				p.Apply(true, n, x, m)
				for j := range n {
					check(fmt.Sprintf("reflected, factored %s", what), j, x[j*m], Norm(x[j*m+1:(j+1)*m]))
				}
			}
		}
	}
}
