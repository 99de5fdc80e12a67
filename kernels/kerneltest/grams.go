package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"jmpi/kernels"
)

// Grams tests what is known of the products of the columns of P, and of Q, for the element types of which a
// device keeps it (kernels.GramLimits): Gram gives the right products whether they are known or not, and
// takes them where pivots are of the usual width; what a pivot leaves agrees with its columns, or is not
// known.
func Grams(t *testing.T, b kernels.Backend) {
	for _, e := range []kernels.Element{kernels.Float64, kernels.Float32} {
		if b.Limits().Grams.Of(e) == kernels.KeepNever {
			continue
		}
		for n, x := range []gramCase{
			{300, 64, 64, true}, {4100, 64, 64, true}, {4097, 40, 50, true}, {4111, 63, 64, true},
			{4096, 20, 64, true}, {700, 33, 64, true}, {64, 33, 32, false}, {300, 17, 30, false}, {70, 1, 6, false},
			{40, 9, 0, false}, {400, 65, 64, false},
		} {
			if k := x.p + x.q; k > b.Limits().PointwiseOrder {
				continue
			}
			x.taken = x.taken && (e == kernels.Float32 || x.m >= 4096)
			for i, grading := range gradings {
				if i > 0 && e == kernels.Float32 { // whose columns are as long as 1
					break
				}
				t.Run(fmt.Sprint(e, "/", shapeName(x.m, x.p, x.q), "/", grading.name), func(t *testing.T) {
					newGrams(t, b, e, newRand(300+n), x, grading.scale).check(x)
				})
			}
		}
	}
}

// gramCase is the shape of pivots. taken says that what is known is taken by Gram. In float64 there must be
// many rows too.
type gramCase struct {
	m, p, q int
	taken   bool
}

// grams is a batch of three pivots. The last column of the second one becomes short.
type grams struct {
	*singles
	t     *testing.T
	b     kernels.Backend
	known [][2]window
}

// short is the length of a column that becomes short, in parts of what it was. Its direction has larger
// errors.
const short = 1e-3

func newGrams(t *testing.T, b kernels.Backend, e kernels.Element, rnd *rand.Rand, x gramCase,
	scale func(j, n int) float64) *grams {
	t.Helper()
	var g []pivot
	var norms [][]float64
	for i := range 3 {
		a := random(rnd, x.m, x.p+x.q)
		for r := range a.m {
			if i == 1 && x.q > 1 {
				a.set(r, a.n-1, a.at(r, 0)+short*a.at(r, a.n-1))
			}
			for j := range a.n {
				a.set(r, j, a.at(r, j)*scale(j, a.n))
			}
		}
		unit, d := normed(a)
		if e == kernels.Float64 {
			unit = a
		}
		g, norms = append(g, split(unit, x.p)), append(norms, d)
	}
	s := &grams{singles: newSingles(t, b, g, norms, nil), t: t, b: b}
	if e == kernels.Float64 {
		s.singles = newDoubles(t, b, g)
	}
	for range g {
		w := [2]window{place(t, b, newMatrix(x.p, x.p), e), place(t, b, newMatrix(x.q, x.q), e)}
		s.known = append(s.known, w)
		s.Grams = append(s.Grams, kernels.Pivot{P: w[0].Panel, Q: w[1].Panel})
	}
	return s
}

// check takes the batch through its pivots.
func (s *grams) check(x gramCase) {
	s.t.Helper()
	s.right("nothing is known", false)
	s.right("all is known", false)
	if x.taken {
		for i := range s.known {
			must(s.t, s.b.Copy(s.known[i][0].Panel, place(s.t, s.b, ones(x.p).plus(6), s.Type).Panel))
		}
		s.right("formed anew", true)
		s.takes(x)
		s.right("formed anew again", true)
	}
	for range 3 {
		step(s.t, s.b, &s.Batch, kernels.JacobiOptions{Schedule: schedules(x.p + x.q)[0], MaxSweeps: 1})
		if s.Tally[0].Changed == 0 {
			s.t.Error("nothing was rotated")
		}
		for i, sides := range s.known {
			for side, k := range sides {
				if k := k.read(); x.taken && i != 1 && !tiny(k) && k.a[0] == 0 {
					s.t.Errorf("problem %d, side %d: nothing is known after a pivot", i, side)
				}
			}
		}
		s.right("after a pivot", false)
	}
}

// right compares R, and what is known, with the products of the columns of G.
func (s *grams) right(what string, afresh bool) {
	s.t.Helper()
	tolerance := 1e-12 // of a pivot that turns columns by large angles
	if s.Type == kernels.Float32 {
		tolerance = 2e-5
	}
	s.Afresh = afresh
	batch := s.Batch // another one, whose products are formed
	batch.R = append([]kernels.Panel(nil), s.R...)
	must(s.t, s.b.Gram(&batch))
	must(s.t, s.b.Sync())
	s.Afresh = false
	for i := range s.G {
		a := pivot{s.p[i].read(), s.q[i].read()}
		got, want := s.r[i].read(), a.join().gram()
		bound := tolerance
		if i == 1 {
			bound /= short
		}
		near(s.t, what+": R", got, want, lengths(want), bound)
		equal(s.t, got, got.transpose())
		for side, part := range []matrix{a.p, a.q} {
			if k := s.known[i][side].read(); len(k.a) > 0 && k.a[0] != 0 {
				want := part.gram()
				near(s.t, what+": known", k, want, lengths(want), bound)
			}
		}
	}
}

// takes tests that Gram takes what is known beside the diagonal, right or wrong.
func (s *grams) takes(x gramCase) {
	s.t.Helper()
	var want []float64
	for i := range s.known {
		k := s.known[i][1].read()
		want = append(want, 0.75*math.Sqrt(k.at(1, 1)*k.at(2, 2)))
		k.set(1, 2, want[i])
		k.set(2, 1, want[i])
		must(s.t, s.b.Copy(s.known[i][1].Panel, place(s.t, s.b, k, s.Type).Panel))
	}
	must(s.t, s.b.Gram(&s.Batch))
	must(s.t, s.b.Sync())
	for i := range s.known {
		w := round(matrix{1, 1, want[i : i+1]}, s.Type).a[0]
		if got := s.r[i].read().at(x.p+2, x.p+1); got != w {
			s.t.Errorf("problem %d: what is known was not taken: %g, want %g", i, got, w)
		}
	}
}

// tiny tells whether a Gram matrix has diagonal elements that Cholesky does not take.
func tiny(h matrix) bool {
	for j := range h.n {
		if h.at(j, j) < 0x1p-900 {
			return true
		}
	}
	return false
}

// lengths returns the products of the lengths of columns, of a Gram matrix.
func lengths(h matrix) matrix {
	l := newMatrix(h.n, h.n)
	for j := range h.n {
		for i := range h.n {
			l.set(i, j, math.Sqrt(h.at(i, i))*math.Sqrt(h.at(j, j)))
		}
	}
	return l
}
