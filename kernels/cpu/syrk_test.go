package cpu

import (
	"math"
	"math/big"
	"testing"

	"jmpi/kernels"
)

// A sum of equal squares has an error of a few units in the last place, however many they are and whatever
// kernels OpenBLAS takes.
func TestSyrkOfEqualNumbers(t *testing.T) {
	d := mustOpen(t, 2, "avx512")
	for _, m := range []int{512, 734, 1101, 5000, 20000} {
		for _, n := range []int{1, 2, 5} {
			a, c := fill(t, d, m, n), fill(t, d, n, n)
			x := 1 / math.Sqrt(float64(m))
			for j := range n {
				for i := range m {
					column(a, j)[i] = x
				}
			}
			must(t, d.Syrk([]kernels.Panel{a}, []kernels.Panel{c}))
			exact := new(big.Float).SetPrec(200).SetInt64(int64(m))
			exact.Mul(exact, big.NewFloat(x)).Mul(exact, big.NewFloat(x))
			for j := range n {
				for i := range n {
					off, _ := new(big.Float).Sub(exact, big.NewFloat(column(c, j)[i])).Float64()
					if !(math.Abs(off) <= 8*kernels.Epsilon) {
						t.Errorf("%d×%d, element %d, %d: off by %.1f ε", m, n, i, j, off/kernels.Epsilon)
					}
				}
			}
		}
	}
}
