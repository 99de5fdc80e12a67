package kerneltest

import (
	"fmt"
	"math"
	"testing"

	"jmpi/kernels"
)

// Cosines tests the largest cosine that Cholesky tells of each problem, whatever else becomes of it and
// wherever the largest one is; and that it is the same in every batch.
func Cosines(t *testing.T, b kernels.Backend) {
	for _, element := range b.Limits().Elements() {
		for _, k := range []int{1, 2, 3, 7, 16, 17, 31, 32, 33, 64, 95, 128, 150, 281} {
			t.Run(fmt.Sprint(element, " ", k), func(t *testing.T) { cosinesOf(t, b, element, k) })
		}
	}
}

// cosinesOf is Cosines for Gram matrices of order k.
func cosinesOf(t *testing.T, b kernels.Backend, element kernels.Element, k int) {
	cases := cosineCases(element, k)
	var hs []matrix
	for _, c := range cases {
		hs = append(hs, round(c.h, element))
	}
	tallies := choleskyTallies(t, b, element, hs, nil)
	u := roundoff
	if element == kernels.Float32 {
		u = roundoff32
	}
	for i, c := range cases {
		want, got := largestCosine(hs[i], element), tallies[i].Cosine
		if !(math.Abs(got-want) <= 8*u*want && got <= 1) {
			t.Errorf("%s: the largest cosine is %g, want %g", c.name, got, want)
		}
		if c.cosine >= 0 && math.Abs(want-c.cosine) > 8*u*c.cosine {
			t.Errorf("%s: the test expects %g, not %g", c.name, want, c.cosine)
		}
		alone := choleskyTallies(t, b, element, hs[i:i+1], nil)
		if alone[0] != tallies[i] {
			t.Errorf("%s: alone %+v, in a batch %+v", c.name, alone[0], tallies[i])
		}
	}
}

// cosineCase is a Gram matrix with its largest cosine, −1 if it is not known beforehand.
type cosineCase struct {
	name   string
	h      matrix
	cosine float64
}

// cosineCases are Gram matrices of order k of orthogonal columns, of others, and of some that are not to be
// trusted.
func cosineCases(element kernels.Element, k int) (cases []cosineCase) {
	add := func(name string, cosine float64, h matrix) {
		cases = append(cases, cosineCase{name, h, cosine})
	}
	most := func(c float64) float64 { // of a matrix with more than one column
		if k == 1 {
			return 0
		}
		return c
	}
	even := func(c float64) matrix {
		if element == kernels.Float64 && k > 1 {
			return cosines(k, c)
		}
		h := identity(k)
		for i := range h.a {
			if h.a[i] == 0 {
				h.a[i] = c
			}
		}
		return h
	}
	set := func(h matrix, i, j int, x float64) matrix {
		h.set(i, j, x)
		h.set(j, i, x)
		return h
	}
	// pair has one cosine of −1/4, which is the first or not the first that is large.
	pair := func(i, j int, others float64) matrix {
		h := even(others)
		return set(h, i, j, -0.25*math.Sqrt(h.at(i, i))*math.Sqrt(h.at(j, j)))
	}
	add("orthogonal", 0, even(0))
	add("all the same", most(1e-5), even(1e-5))
	add("all tiny", most(1e-25), even(1e-25))
	for i := 0; i < k; i += max(1, k/5) {
		for j := i + 1; j < k; j += max(1, k/5) {
			name := fmt.Sprintf("pair %d %d", i, j)
			add(name, 0.25, pair(i, j, 0))
			add(name+", others active", 0.25, pair(i, j, 1e-3))
		}
	}
	rnd := newRand(k)
	add("random", -1, random(rnd, 2*k+3, k).gram())
	if k == 1 {
		return append(cases, cosineCase{"zero", newMatrix(1, 1), 0}, cosineCase{"NaN", nan(1, 1), 0})
	}
	double := random(rnd, 2*k+3, k)
	copy(double.column(k-1), double.column(0))
	add("duplicate column", 1, double.gram())
	zero := random(rnd, 2*k+3, k)
	clear(zero.column(k / 2))
	add("zero column", -1, zero.gram())
	for _, x := range []float64{math.NaN(), math.Inf(1), 0x1p-901} {
		last := set(pair(0, 1, 1e-3), k-1, k-1, x)
		if k == 2 {
			add(fmt.Sprint("column with ", x), 0, last)
			continue
		}
		add(fmt.Sprint("column with ", x), 0.25, last)
	}
	add("NaN beside the diagonal", -1, set(even(1e-3), 0, k-1, math.NaN()))
	add("infinite beside the diagonal", 1, set(even(1e-3), k-2, k-1, math.Inf(-1)))
	return cases
}

// choleskyTallies runs Cholesky on Gram matrices, in one batch. across: see kernels.Batch.
func choleskyTallies(t *testing.T, b kernels.Backend, element kernels.Element, hs []matrix,
	across []int) []kernels.Tally {
	t.Helper()
	if element == kernels.Float32 {
		norms := make([][]float64, len(hs))
		for i, h := range hs {
			norms[i] = make([]float64, h.n)
		}
		s := newSingleFactors(t, b, hs, norms)
		s.Across = across
		return choleskyTally(t, b, &s.Batch)
	}
	s := newFactors(t, b, hs)
	s.Across = across
	return choleskyTally(t, b, &s.Batch)
}

func choleskyTally(t *testing.T, b kernels.Backend, s *kernels.Batch) []kernels.Tally {
	t.Helper()
	for i := range s.Tally {
		s.Tally[i] = kernels.Tally{Rotations: 3, Cosine: 2}
	}
	must(t, b.Cholesky(s))
	must(t, b.Sync())
	return s.Tally
}

// largestCosine returns the largest cosine by the definition of kernels.Pivots.
func largestCosine(h matrix, element kernels.Element) (most float64) {
	least, largest := 0x1p-900, math.MaxFloat64
	if element == kernels.Float32 {
		least, largest = 0x1p-60, math.MaxFloat32
	}
	trusted := func(j int) bool { return h.at(j, j) >= least && h.at(j, j) <= largest }
	for j := range h.n {
		for i := range j {
			if c := math.Abs(h.at(i, j)) / (math.Sqrt(h.at(i, i)) * math.Sqrt(h.at(j, j))); trusted(i) && trusted(j) &&
				c > most {
				most = c
			}
		}
	}
	return min(most, 1)
}
