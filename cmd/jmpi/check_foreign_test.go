package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"jmpi/internal/gen"
	"jmpi/internal/matio"
)

// subject is a matrix whose results are judged, with a signature or nil.
type subject struct {
	name  string
	a     matrix
	signs []float64
}

// source makes random matrices.
type source struct{ *rand.Rand }

func (s source) gauss(m, n int) matrix {
	return build(m, n, func(_, _ int) float64 { return s.NormFloat64() })
}

func (s source) integers(m, n int) matrix {
	return build(m, n, func(_, _ int) float64 { return float64(s.IntN(7) - 3) })
}

func (s source) signs(n int) []float64 {
	signs := make([]float64, n)
	for i := range signs {
		signs[i] = []float64{1, -1}[s.IntN(2)]
	}
	return signs
}

// graded returns a with its rows or columns scaled from 1 to 1e-20, in random order.
func (s source) graded(a matrix, rows bool) matrix {
	count := a.n
	if rows {
		count = a.m
	}
	order := s.Perm(count)
	return build(a.m, a.n, func(i, j int) float64 {
		if rows {
			j, i = i, j
			return a.at(j, i) * math.Pow(1e-20, float64(order[j])/float64(count))
		}
		return a.at(i, j) * math.Pow(1e-20, float64(order[j])/float64(count))
	})
}

// lowRank returns a matrix of integers of rank 4 or less.
func (s source) lowRank(m, n int) matrix {
	x, y := s.integers(m, 4), s.integers(4, n)
	return build(m, n, func(i, j int) (sum float64) {
		for l := range 4 {
			sum += x.at(i, l) * y.at(l, j)
		}
		return sum
	})
}

// near returns [B, B+δR], whose V is of the norm 1/δ if the signs of the halves differ.
func (s source) near(m, n int, delta float64) matrix {
	b, r := s.gauss(m, n/2), s.gauss(m, n/2)
	return build(m, n/2*2, func(i, j int) float64 {
		if j < n/2 {
			return b.at(i, j)
		}
		return b.at(i, j-n/2) + delta*r.at(i, j-n/2)
	})
}

// subjects returns matrices of many kinds; the random ones differ from seed to seed.
func subjects(seed uint64) (all []subject) {
	s := source{rand.New(rand.NewPCG(seed, 1))}
	add := func(name string, a matrix, signs []float64) {
		if signs != nil {
			name = "hyperbolic " + name
		}
		all = append(all, subject{fmt.Sprintf("%s %d×%d", name, a.m, a.n), a, signs})
	}
	for _, shape := range [][2]int{{30, 30}, {60, 7}, {7, 60}, {35, 23}, {23, 35}} {
		m, n := shape[0], shape[1]
		add("gauss", s.gauss(m, n), nil)
		add("2^990", s.gauss(m, n).scaled(990), nil)
		add("2^-990", s.gauss(m, n).scaled(-990), nil)
		add("graded rows", s.graded(s.gauss(m, n), true), nil)
		add("graded columns", s.graded(s.gauss(m, n), false), nil)
		add("low rank", s.lowRank(m, n), nil)
		if m < n {
			continue
		}
		add("gauss", s.gauss(m, n), s.signs(n))
		add("2^300", s.gauss(m, n).scaled(300), s.signs(n))
		add("graded columns", s.graded(s.gauss(m, n), false), s.signs(n))
		add("low rank", s.lowRank(m, n), s.signs(n))
		halves := slices.Concat(slices.Repeat([]float64{1}, n/2), slices.Repeat([]float64{-1}, n/2))
		add("near 0.01", s.near(m, n, 0.01), halves)
		add("all −1", s.integers(m, n), slices.Repeat([]float64{-1}, n))
	}
	add("column", s.gauss(300, 1), nil)
	add("row", s.gauss(1, 300), nil)
	add("one entry", s.gauss(1, 1), nil)
	add("ones", build(37, 20, func(_, _ int) float64 { return 1 }), nil)
	add("hilbert", build(20, 20, func(i, j int) float64 { return 1 / float64(i+j+1) }), nil)
	add("identity", build(20, 20, func(i, j int) float64 { return map[bool]float64{true: 1}[i == j] }), nil)
	add("zero", build(9, 6, func(_, _ int) float64 { return 0 }), nil)
	return all
}

// foreign returns matrices of the shape of s that do not have its results: another one, also scaled to the
// same norm, and s with its largest entry changed by a factor of 2, by a relative 1e-9, and in its sign.
func (s subject) foreign(other subject) map[string]matrix {
	at, size := 0, 0.0
	for i, x := range s.a.x {
		if math.Abs(x) > size {
			at, size = i, math.Abs(x)
		}
	}
	change := func(x float64) matrix {
		a := s.a.scaled(0)
		a.x[at] = x
		return a
	}
	if size == 0 {
		return map[string]matrix{"an entry that is not 0": change(1e-300)}
	}
	x := s.a.x[at]
	all := map[string]matrix{"a larger entry": change(2 * x), "an entry": change(x * (1 + 1e-9))}
	if !s.diagonal() {
		all["a sign"] = change(-s.a.x[at])
	}
	if !slices.Equal(s.a.x, other.a.x) {
		all["another"] = other.a
		if min(s.a.m, s.a.n) > 1 { // else the norm is all that S tells
			all["another of this norm"] = other.a.timesNorm(s.a)
		}
	}
	return all
}

// diagonal tells whether no entry has another beside it, in a row or a column: signs change the vectors only.
func (s subject) diagonal() bool {
	count := 0
	for _, x := range s.a.x {
		if x != 0 {
			count++
		}
	}
	return s.a.m == 1 || s.a.n == 1 || count <= min(s.a.m, s.a.n)
}

// timesNorm returns a, scaled to the norm of b.
func (a matrix) timesNorm(b matrix) matrix {
	norm := func(x matrix) float64 {
		size := 0.0
		for _, v := range x.x {
			size = math.Hypot(size, v)
		}
		return size
	}
	factor := norm(b) / norm(a)
	return build(a.m, a.n, func(i, j int) float64 { return a.at(i, j) * factor })
}

// The check passes the results of a matrix, whatever vectors there are, and fails them for every other.
func TestCheckForeign(t *testing.T) {
	dir := t.TempDir()
	all, others := subjects(1), subjects(2)
	var runs []svdRun
	for i, s := range all {
		input := filepath.Join(dir, fmt.Sprintf("%d.npy", i))
		s.a.write(t, input)
		if s.signs != nil {
			if err := matio.WriteVector(gen.Sidecar(input, "signature"), s.signs); err != nil {
				t.Fatal(err)
			}
		}
		for _, vectors := range []string{"both", "u", "v", "none"} {
			runs = append(runs, svdRun{input, filepath.Join(dir, fmt.Sprintf("%d.%s", i, vectors)), vectors})
		}
	}
	right, wrong := 0, 0
	for i, o := range runOn(t, 1, runs) {
		s := all[i/4]
		if o.code != exitDone || o.stderr != "" {
			t.Errorf("%s: exit code %d, %s", s.name, o.code, o.stderr)
			continue
		}
		if r := o.check(t, o.Input); !r.Passed() {
			t.Errorf("%s, vectors %s: its own check fails: %v", s.name, o.Vectors, r.Rows)
		}
		right++
		for what, a := range s.foreign(others[i/4]) {
			path := filepath.Join(dir, "foreign.npy")
			a.write(t, path)
			if r := o.check(t, path); r.Passed() {
				t.Errorf("%s, vectors %s: passes for %s: %v", s.name, o.Vectors, what, r.Rows)
			}
			wrong++
		}
	}
	t.Logf("%d right ones, %d foreign ones", right, wrong)
}
