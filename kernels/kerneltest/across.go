package kerneltest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"jmpi/kernels"
)

// Across tests batches where only pairs of a column of P with one of Q are to be made orthogonal
// (kernels.Batch.Across), of both element types: which problems are inactive, and sweeps.
func Across(t *testing.T, b kernels.Backend) {
	for _, element := range b.Limits().Elements() {
		t.Run(fmt.Sprint(element), func(t *testing.T) {
			acrossScreen(t, b, element)
			acrossSweep(t, b, element)
		})
	}
	acrossRefusals(t, b)
}

// sides are the widths of P and of Q.
var sides = [][2]int{{1, 1}, {2, 1}, {1, 2}, {0, 3}, {3, 0}, {8, 8}, {8, 7}, {7, 8}, {15, 16}, {16, 16},
	{16, 17}, {23, 24}, {32, 32}, {32, 31}, {31, 32}, {47, 47}, {47, 46}, {46, 47}, {64, 64}, {63, 64}, {64, 63},
	{33, 32}}

// acrossScreen tests that a large cosine between two columns of one side leaves a problem inactive, and one
// between the sides does not; that it is told in either case; and that others are factored as without.
func acrossScreen(t *testing.T, b kernels.Backend, element kernels.Element) {
	for _, s := range append(sides, [2]int{140, 141}) {
		left, k := s[0], s[0]+s[1]
		var hs []matrix
		var across []int
		var inactive []bool
		for _, p := range [][2]int{{0, 1}, {0, left - 1}, {left - 1, left}, {0, left}, {0, k - 1}, {left, left + 1},
			{left, k - 1}, {k - 2, k - 1}} {
			if p[0] < 0 || p[0] >= p[1] || p[1] >= k {
				continue
			}
			h := identity(k)
			h.set(p[0], p[1], -0.5)
			h.set(p[1], p[0], -0.5)
			hs, across = append(hs, h), append(across, left)
			inactive = append(inactive, p[1] < left || p[0] >= left)
		}
		tallies := choleskyTallies(t, b, element, hs, across)
		for i, tally := range tallies {
			want := kernels.Tally{}
			if inactive[i] {
				want.Inactive = 1
			}
			if counters(tally) != want || math.Abs(tally.Cosine-0.5) > 8*roundoff32 {
				t.Errorf("%d and %d columns, case %d: tally %+v, want %+v and the cosine 0.5", left, k-left, i, tally,
					want)
			}
		}
	}
}

// acrossSweep tests a sweep on problems of all widths in one batch against the same sweep in plain Go.
func acrossSweep(t *testing.T, b kernels.Backend, element kernels.Element) {
	rnd := newRand(55)
	for _, most := range []int{4, 16, 32, 48, 64} { // columns of either side
		if 2*most > b.Limits().PointwiseOrder {
			continue
		}
		for _, schedule := range []*kernels.Schedule{halves(most), halves(2 * most)} {
			if schedule.Order > b.Limits().PointwiseOrder {
				continue
			}
			var factors []matrix
			var across []int
			for _, s := range sides {
				if max(s[0], s[1]) <= most {
					factors, across = append(factors, randomUpper(rnd, s[0]+s[1])), append(across, s[0])
				}
			}
			acrossFactors(t, b, element, factors, across, schedule, 1)
			acrossFactors(t, b, element, factors, across, schedule, 2)
		}
	}
}

// acrossFactors is acrossSweep for some factors, with one sweep or more. It does not change these.
func acrossFactors(t *testing.T, b kernels.Backend, element kernels.Element, given []matrix, across []int,
	schedule *kernels.Schedule, sweeps int) {
	t.Helper()
	factors := slices.Clone(given)
	o := kernels.JacobiOptions{Schedule: schedule, MaxSweeps: sweeps}
	bound := 1e-12
	var read func(i int) matrix
	var tally []kernels.Tally
	if element == kernels.Float32 {
		bound = 5e-3
		var norms [][]float64
		for i, x := range factors {
			unit, d := normed(x)
			factors[i], norms = unit, append(norms, d)
		}
		s := newSingleFactors(t, b, factors, norms)
		s.Across = across
		must(t, b.Jacobi(&s.Batch, o))
		must(t, b.Sync())
		tally, read = s.Tally, func(i int) matrix {
			r := s.r[i].read()
			for j, d := range s.f[i].read().a {
				r.scaleColumn(j, d)
			}
			return r
		}
		for i := range factors {
			factors[i] = factors[i].clone()
			for j, d := range norms[i] {
				factors[i].scaleColumn(j, d)
			}
		}
	} else {
		s := newFactors(t, b, factors)
		s.Across = across
		must(t, b.Jacobi(&s.Batch, o))
		must(t, b.Sync())
		tally, read = s.Tally, func(i int) matrix { return s.r[i].download() }
	}
	for i, x := range factors {
		want := x.clone()
		var told kernels.Tally
		for range sweeps {
			sweep := oneSweep(want, identity(x.n), placed(schedule, across[i], x.n), x.n)
			told.Add(sweep)
			told.Changed |= sweep.Changed
		}
		name := fmt.Sprintf("%s, %d and %d columns by a schedule of order %d, %d sweeps", element, across[i],
			x.n-across[i], schedule.Order, sweeps)
		if element == kernels.Float64 && sweeps == 1 && tally[i] != told {
			t.Errorf("%s: tally %+v, want %+v", name, tally[i], told)
		}
		most := told.Rotations
		if element == kernels.Float32 { // what rounding leaves of a cosine may be turned again
			most *= int64(sweeps)
		}
		if n := tally[i].Rotations; n > most || n < told.Rotations*9/10 {
			t.Errorf("%s: %d rotations, want about %d", name, n, told.Rotations)
		}
		got := read(i)
		for j := range want.a {
			if e := math.Abs(got.a[j] - want.a[j]); !(e <= bound*(1+math.Abs(want.a[j]))) {
				t.Fatalf("%s: element %d of R·T is %g, want %g", name, j, got.a[j], want.a[j])
			}
		}
	}
}

// halves returns the schedule of all pairs across, for so many columns or fewer on either side.
func halves(most int) *kernels.Schedule {
	order := 2
	for order < 2*most {
		order *= 2
	}
	s := ReverseRowCyclic(order)
	s.Pairs = s.Pairs[:order*order/2]
	return s
}

// placed returns the pairs of a schedule as columns of a factor of order k, `left` of which are those of P.
func placed(s *kernels.Schedule, left, k int) *kernels.Schedule {
	x := &kernels.Schedule{Order: s.Order}
	for i := 0; i < len(s.Pairs); i += 2 {
		p, q := int(s.Pairs[i]), int(s.Pairs[i+1])-s.Order/2+left
		if p < left && q < k {
			x.Pairs = append(x.Pairs, int32(p), int32(q))
		}
	}
	return x
}

// acrossRefusals tests that widths that do not fit are refused.
func acrossRefusals(t *testing.T, b kernels.Backend) {
	for _, across := range [][]int{{}, {-1}, {6}, {4}, {1}} { // of a factor of order 5, by a schedule of order 6
		s := newFactors(t, b, []matrix{identity(5)})
		s.Across = across
		err := b.Jacobi(&s.Batch, kernels.JacobiOptions{Schedule: RoundRobin(6), MaxSweeps: 1})
		if !errors.Is(err, kernels.ErrShape) {
			t.Errorf("Across %v: %v, want ErrShape", across, err)
		}
	}
}
