package strategy

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawGraph draws a graph of even order ≤ 10 from which some pairs are gone.
func drawGraph(rt *rapid.T) *remaining {
	n := 2 * rapid.IntRange(1, 5).Draw(rt, "n/2")
	g := newRemaining(rowCyclic, n)
	for r := range g.pairs {
		if rapid.IntRange(0, 2).Draw(rt, "gone") > 0 {
			g.set(r, -1)
		}
	}
	return g
}

// everyMatching returns all perfect matchings in lexicographic order, by trying all partners of the
// first free vertex.
func everyMatching(g *remaining, step []int, free []int) [][]int {
	if len(free) == 0 {
		return [][]int{slices.Clone(step)}
	}
	var all [][]int
	for i, v := range free[1:] {
		if r := g.rank[free[0]*g.n+v]; r >= 0 {
			rest := slices.Delete(slices.Clone(free[1:]), i, i+1)
			all = append(all, everyMatching(g, append(step, int(r)), rest)...)
		}
	}
	return all
}

func TestCandidatesAreAllPerfectMatchings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := drawGraph(rt)
		vertices := make([]int, g.n)
		for v := range vertices {
			vertices[v] = v
		}
		all := everyMatching(g, nil, vertices)
		if g.oddComponent() && len(all) > 0 {
			rt.Error("a graph with an odd component has a perfect matching")
		}
		if got := newMatching(g).complete(); got != (len(all) > 0) {
			rt.Fatalf("complete returns %v, there are %d perfect matchings", got, len(all))
		}
		for first := range g.pairs {
			if g.used(first) {
				continue
			}
			want := slices.DeleteFunc(slices.Clone(all), func(step []int) bool { return step[0] != first })
			got := slices.Collect(g.candidates(first))
			if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
				rt.Fatalf("candidates from rank %d: %v, want %v", first, got, want)
			}
		}
	})
}
