package strategy

import (
	"iter"
	"slices"
)

// searchEffort limits Alg. 3.1: the number of edges that it may look at, half a minute or less.
const searchEffort = 10_000_000_000

// search runs Alg. 3.1 of [Nov15] for even n.
func search(s sequence, n int) ([][]Pair, error) {
	g := newRemaining(s, n)
	ranks, ok := g.generate(nil)
	if !ok {
		return nil, ErrSearch
	}
	steps := make([][]Pair, len(ranks))
	for i, step := range ranks {
		for _, r := range step {
			steps[i] = append(steps[i], g.pairs[r])
		}
	}
	return steps, nil
}

// remaining is the graph of Alg. 3.1, seen from the indices: its vertices are the n indices, its edges the
// pivot pairs that are in no p-step yet. An admissible p-step is a perfect matching of it. After j p-steps
// the graph is (n−1−j)-regular.
type remaining struct {
	n      int
	pairs  []Pair  // all pairs in the order of the sequence; the position is the pair's rank
	rank   []int32 // n×n, symmetric: the rank of the pair (u,v), −1 if it is used or u = v
	effort int64   // what is left of searchEffort
}

func newRemaining(s sequence, n int) *remaining {
	g := &remaining{n: n, pairs: s.pairs(n), rank: make([]int32, n*n), effort: searchEffort}
	for i := range g.rank {
		g.rank[i] = -1
	}
	for r := range g.pairs {
		g.set(r, r)
	}
	return g
}

// set stores value as the rank of the pair of rank r.
func (g *remaining) set(r, value int) {
	p := g.pairs[r]
	g.rank[p.P*g.n+p.Q] = int32(value)
	g.rank[p.Q*g.n+p.P] = int32(value)
}

func (g *remaining) used(r int) bool {
	p := g.pairs[r]
	return g.rank[p.P*g.n+p.Q] < 0
}

// generate is gen_strat of Alg. 3.1: it appends p-steps, as ranks, until no pair remains. It reports false if
// these p-steps cannot be completed, or when the effort is spent.
//
// Some p-step must contain the first remaining pair, and p-steps may be permuted. So if no candidate with
// this pair leads to the end, no other one does: only they are tried.
func (g *remaining) generate(steps [][]int) ([][]int, bool) {
	first := 0
	for first < len(g.pairs) && g.used(first) {
		first++
	}
	if first == len(g.pairs) {
		return steps, true
	}
	if g.oddComponent() {
		return nil, false
	}
	for step := range g.candidates(first) {
		for _, r := range step {
			g.set(r, -1)
		}
		if all, ok := g.generate(append(steps, step)); ok {
			return all, true
		}
		for _, r := range step {
			g.set(r, r)
		}
		if g.effort <= 0 {
			break
		}
	}
	return nil, false
}

// candidates is next_lex of Alg. 3.1: it yields the perfect matchings that contain the first remaining
// pair, each in ascending order of ranks, in lexicographic order.
func (g *remaining) candidates(first int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		m := newMatching(g)
		if m.complete() && m.take(first) {
			m.extend([]int{first}, yield)
		}
	}
}

// extend yields the perfect matchings that contain the taken pairs, step, and otherwise pairs of higher rank
// only. A pair is taken only if some perfect matching has it too: so there is no dead end within a p-step. It
// reports whether to go on.
func (m *matching) extend(step []int, yield func([]int) bool) bool {
	if 2*len(step) == m.n {
		return yield(slices.Clone(step))
	}
	for r := step[len(step)-1] + 1; r < len(m.pairs); r++ {
		if !m.open(r) || !m.take(r) {
			continue
		}
		if !m.extend(append(step, r), yield) {
			return false
		}
		if !m.drop(r) {
			break // every perfect matching that is left has this pair, and was yielded
		}
	}
	return true
}

// oddComponent reports whether a connected component of the graph has an odd number of vertices.
// Then the graph has no perfect matching.
func (g *remaining) oddComponent() bool {
	seen := make([]bool, g.n)
	for root := range g.n {
		if seen[root] {
			continue
		}
		seen[root] = true
		component := []int{root}
		for i := 0; i < len(component); i++ {
			g.effort -= int64(g.n)
			row := g.rank[component[i]*g.n:][:g.n]
			for v, r := range row {
				if r >= 0 && !seen[v] {
					seen[v] = true
					component = append(component, v)
				}
			}
		}
		if len(component)%2 != 0 {
			return true
		}
	}
	return false
}
