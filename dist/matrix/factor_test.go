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
		for _, grid := range [][3]int{{1, 1, 1}, {3, 1, 1}, {1, 2, 1}, {2, 2, 1}, {5, 1, 1}, {3, 1, 0}, {2, 2, 0}} {
			ranks, devices, direct := grid[0], grid[1], grid[2] == 1
			qr := make([]float64, m*n) // Q·R, with the columns of A in their places
			var wg sync.WaitGroup
			for _, comm := range comm.NewLocal(ranks) {
				wg.Go(func() {
					s := of(t, sending(t, comm, devices, direct), m, n, a)
					q, place, err := Factor(s, order)
					if err == nil {
						for j := range n {
							if order != nil && j < min(m, n) && place[order[j]] != j {
								t.Errorf("column %d is number %d of R, want %d", order[j], place[order[j]], j)
							}
						}
						err = s.EachBlock(func(j0, j1 int, x []float64) error {
							for j := j0; j < j1; j++ {
								for i := place[j] + 1; i < m; i++ {
									if e := x[i+(j-j0)*m]; e != 0 {
										t.Errorf("R has %g at row %d of its column %d", e, i, place[j])
									}
								}
							}
							return nil
						})
					}
					if err == nil {
						err = q.Apply(s)
					}
					if err != nil {
						t.Error(err)
						comm.Abort(1)
						return
					}
					s.copyTo(t, qr)
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
				rt.Fatalf("other bits on %d ranks with %d devices", ranks, devices)
			}
		}
	})
}
