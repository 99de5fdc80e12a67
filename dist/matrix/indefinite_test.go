package matrix

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// M = G·diag(signs)·Gᵀ, with the columns of sign +1 first, and the same bits on every number of ranks.
func TestFactorIndefinite(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{1, 2, 3, 17, 70, 150} {
		m := make([]float64, n*n)
		for j := range n {
			for i := range j + 1 {
				x := r.NormFloat64() * math.Ldexp(1, -(i+j)/4)
				m[i+j*n], m[j+i*n] = x, x
			}
			if n > 2 && j%3 == 0 { // pivots of order 2
				m[j+j*n] = 0
			}
		}
		var first []float64
		for _, ranks := range []int{1, 3} {
			g, signs := make([]float64, n*n), make([][]float64, ranks)
			var wg sync.WaitGroup
			for _, comm := range comm.NewLocal(ranks) {
				wg.Go(func() {
					f, s, err := FactorIndefinite(of(t, on(t, comm, 1), n, n, m), 2)
					if err != nil {
						t.Error(err)
						comm.Abort(1)
						return
					}
					signs[comm.Rank()] = s
					f.copyTo(t, g)
				})
			}
			wg.Wait()
			if first == nil {
				first = g
			} else if !slices.Equal(first, g) {
				t.Errorf("order %d: other bits on %d ranks", n, ranks)
			}
			if !slices.IsSortedFunc(signs[0], func(x, y float64) int { return -cmp.Compare(x, y) }) {
				t.Errorf("order %d: signs %v", n, signs[0])
			}
			for j := range n {
				for i := range n {
					x, size := -m[i+j*n], 0.0
					for k, s := range signs[0] {
						x += g[i+k*n] * s * g[j+k*n]
						size += math.Abs(g[i+k*n] * g[j+k*n])
					}
					if !(math.Abs(x) <= 8*float64(n)*kernels.Epsilon*size) {
						t.Fatalf("order %d: element (%d,%d) is off by %g of %g", n, i, j, x, size)
					}
				}
			}
		}
	}
	for _, comm := range comm.NewLocal(1) {
		_, _, err := FactorIndefinite(of(t, on(t, comm, 1), 4, 4, make([]float64, 16)), 1)
		if !errors.Is(err, ErrSingular) {
			t.Errorf("a zero matrix: %v", err)
		}
	}
}
