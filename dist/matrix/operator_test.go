package matrix

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

// Products with a few vectors have the same bits on every number of ranks.
func TestOperators(t *testing.T) {
	const m, n, count = 130, 200, 3
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 8})
	r := rand.New(rand.NewPCG(2, 2))
	for _, transposed := range []bool{false, true} {
		long, out := n, m
		if transposed {
			long, out = m, n
		}
		x := make([]float64, long*count)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		var first []float64
		for _, ranks := range []int{1, 2, 4} {
			got := make([][]float64, ranks)
			var wg sync.WaitGroup
			for _, comm := range comm.NewLocal(ranks) {
				wg.Go(func() {
					y, err := of(t, on(t, comm, 1), m, n, a).Times(transposed, x, count)
					if err != nil {
						t.Error(err)
					}
					got[comm.Rank()] = y
				})
			}
			wg.Wait()
			for rank, y := range got {
				if first == nil {
					first = y
				}
				if !slices.Equal(y, first) {
					t.Errorf("transposed %t: other bits on rank %d of %d", transposed, rank, ranks)
				}
			}
		}
		for k := range count {
			for i := range out {
				want := 0.0
				for l := range long {
					e := a[i+l*m]
					if transposed {
						e = a[l+i*m]
					}
					want += e * x[k*long+l]
				}
				if e := math.Abs(first[k*out+i] - want); !(e < 1e-12) {
					t.Fatalf("transposed %t: element %d of product %d is off by %g", transposed, i, k, e)
				}
			}
		}
	}
}
