package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"jmpi/kernels"
)

// Screen tests which Gram matrices Cholesky calls those of orthogonal columns: by the bound, for columns of
// both signs and of very different size, and never if a column is zero or tiny, or anything is not finite.
func Screen(t *testing.T, b kernels.Backend) {
	for _, k := range []int{2, 7, 16, 33, 64, 95, 150} {
		mixed := kernels.ScreenTolerance(k, k/2)
		bound := kernels.ScreenTolerance(k, k)
		spoiled := func(i, j int, x float64) matrix {
			h := cosines(k, 0)
			h.set(i, j, x)
			h.set(j, i, x)
			return h
		}
		pair := func(i, j int) matrix {
			h := cosines(k, 0.99*bound)
			x := 1.01 * bound * math.Sqrt(h.at(i, i)) * math.Sqrt(h.at(j, j))
			h.set(i, j, -x)
			h.set(j, i, -x)
			return h
		}
		active, inactive, broken := kernels.Tally{}, kernels.Tally{Inactive: 1}, kernels.Tally{Broken: 1}
		cases := []struct {
			name     string
			h        matrix
			positive int
			want     kernels.Tally
		}{
			{"orthogonal", cosines(k, 0), k, inactive},
			{"below the bound", cosines(k, 0.99*bound), k, inactive},
			{"above the bound", cosines(k, 1.01*bound), k, active},
			{"first pair above", pair(0, 1), k, active},
			{"last pair above", pair(k-2, k-1), k, active},
			{"pair across above", pair(0, k-1), k, active},
			{"both signs, orthogonal", cosines(k, 0), k / 2, inactive},
			{"both signs, below their bound", cosines(k, 0.99*mixed), k / 2, inactive},
			{"both signs, above their bound", cosines(k, 1.01*mixed), k / 2, active},
			{"negative, above their bound", cosines(k, 1.01*mixed), 0, active},
			{"positive, above that of both", cosines(k, 1.01*mixed), k, inactive},
			{"least column", spoiled(k-1, k-1, 0x1p-900), k, inactive},
			{"tiny column", spoiled(k-1, k-1, 0x1p-901), k, broken},
			{"zero column", spoiled(0, 0, 0), k, broken},
			{"NaN", spoiled(k/2, k/2, math.NaN()), k, broken},
			{"NaN beside the diagonal", spoiled(0, k-1, math.NaN()), k, broken},
			{"infinite", spoiled(0, 0, math.Inf(1)), k, broken},
			{"infinite beside the diagonal", spoiled(k-2, k-1, math.Inf(-1)), k, broken},
		}
		var hs []matrix
		var positive []int
		for _, c := range cases {
			hs, positive = append(hs, c.h), append(positive, c.positive)
		}
		s := newFactors(t, b, hs)
		s.Positive = positive
		must(t, b.Cholesky(&s.Batch))
		must(t, b.Sync())
		for i, c := range cases {
			if counters(s.Tally[i]) != c.want {
				t.Errorf("k = %d, %s: tally %+v, want %+v", k, c.name, s.Tally[i], c.want)
			}
			switch c.want {
			case inactive:
				equal(t, s.r[i].download(), c.h)
			case active:
				isFactor(t, c.name, s.r[i].download(), c.h, 2*float64(k+1)*roundoff)
			}
		}
	}
}

// cosines returns the Gram matrix of k columns of norms from 1e-130 to 1e130 whose angles have the cosine c,
// or −c.
func cosines(k int, c float64) matrix {
	norm := func(i int) float64 { return math.Pow(10, 130-260*float64(i)/float64(k-1)) }
	h := newMatrix(k, k)
	for j := range k {
		for i := range j {
			x := math.Copysign(c, float64(1-2*((i+j)%2))) * norm(i) * norm(j)
			h.set(i, j, x)
			h.set(j, i, x)
		}
		h.set(j, j, norm(j)*norm(j))
	}
	return h
}

// Inactive tests that all primitives leave the problems with orthogonal columns alone, and the others of the
// batch not.
func Inactive(t *testing.T, b kernels.Backend) {
	for _, k := range []int{1, 2, 9, 40, 64} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			rnd := newRand(k)
			m := 2*k + 1
			orthogonal := newMatrix(m, k)
			for j := range k {
				orthogonal.set(2*j+1, j, rnd.NormFloat64())
			}
			var g, v []pivot
			for i := range 5 {
				a := orthogonal
				if i%2 == 0 {
					a = random(rnd, m, k+1)
				}
				g = append(g, split(a, k/2))
				v = append(v, split(random(rnd, k, a.n), k/2))
			}
			s := newBatch(t, b, g, v)
			must(t, b.Gram(&s.Batch))
			must(t, b.Cholesky(&s.Batch))
			must(t, b.QR(&s.Batch))
			must(t, b.Jacobi(&s.Batch, kernels.JacobiOptions{Schedule: RoundRobin(k + 2 - k%2), MaxSweeps: 30}))
			must(t, b.Multiply(&s.Batch))
			must(t, b.Sync())
			for i := range g {
				if i%2 == 0 {
					if s.Tally[i].Inactive != 0 || s.Tally[i].Changed == 0 {
						t.Errorf("problem %d: tally %+v", i, s.Tally[i])
					}
					continue
				}
				if want := (kernels.Tally{Inactive: 1}); counters(s.Tally[i]) != want {
					t.Errorf("problem %d: tally %+v, want %+v", i, s.Tally[i], want)
				}
				for _, x := range []struct {
					got  panel
					want matrix
				}{{s.p[i], g[i].p}, {s.q[i], g[i].q}, {s.vp[i], v[i].p}, {s.vq[i], v[i].q}} {
					equal(t, x.got.download(), x.want)
				}
			}
		})
	}
}
