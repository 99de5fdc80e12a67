package matrix

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

func TestFactor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.IntRange(1, 200).Draw(rt, "m")
		n := rapid.IntRange(1, 200).Draw(rt, "n")
		pivot := rapid.Bool().Draw(rt, "pivot")
		a := disttest.Generate(t, "gauss", gen.Options{Rows: int64(m), Cols: int64(n),
			Seed: rapid.Uint64Range(0, 9).Draw(rt, "seed")})
		order := rand.New(rand.NewPCG(uint64(m), uint64(n))).Perm(n)
		if pivot {
			order = nil
		}
		var first []float64
		for _, ranks := range []int{1, 3} {
			qr := make([]float64, m*n) // Q·R, with the columns of A in their places
			var wg sync.WaitGroup
			for _, comm := range comm.NewLocal(ranks) {
				wg.Go(func() {
					s := of(comm, 2, m, n, a)
					q, place, err := Factor(s, order)
					if err == nil {
						for j := range n {
							if order != nil && j < min(m, n) && place[order[j]] != j {
								t.Errorf("column %d is number %d of R, want %d", order[j], place[order[j]], j)
							}
						}
						s.Columns(func(j int, x []float64) {
							for i := place[j] + 1; i < m; i++ {
								if x[i] != 0 {
									t.Errorf("R has %g at row %d of its column %d", x[i], i, place[j])
								}
							}
						})
						err = q.Apply(s)
					}
					if err != nil {
						t.Error(err)
						comm.Abort(1)
						return
					}
					s.Columns(func(j int, x []float64) { copy(qr[j*m:], x) })
				})
			}
			wg.Wait()
			for i := range a {
				if d := math.Abs(qr[i] - a[i]); !(d < 1e-12) {
					rt.Fatalf("Q·R is off by %g", d)
				}
			}
			if first == nil {
				first = qr
			} else if !slices.Equal(first, qr) {
				rt.Fatal("other bits on other ranks")
			}
		}
	})
}
