package strategy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sortedSteps returns the text of the table with each p-step sorted: equal for step-equivalent tables.
func sortedSteps(steps [][]Pair) string {
	var b strings.Builder
	for _, step := range steps {
		step = slices.Clone(step)
		slices.SortFunc(step, rowCyclic.compare)
		fmt.Fprintln(&b, step)
	}
	return b.String()
}

// R_6 and C_6, which Fig. 3.1 of [Nov15] shows in part.
func TestOrderSix(t *testing.T) {
	for name, want := range map[string]string{
		"rowcyc":     "1-2 3-4 5-6\n1-3 2-5 4-6\n1-4 2-6 3-5\n1-5 2-4 3-6\n1-6 2-3 4-5\n",
		"colcyc":     "1-2 3-4 5-6\n1-3 2-5 4-6\n2-3 4-5 1-6\n1-4 3-5 2-6\n2-4 1-5 3-6\n",
		"rev-rowcyc": "4-5 2-3 1-6\n3-6 2-4 1-5\n3-5 2-6 1-4\n4-6 2-5 1-3\n5-6 3-4 1-2\n",
	} {
		if got := mustNew(t, name, 6).String(); got != want {
			t.Errorf("%s 6 is\n%swant\n%s", name, got, want)
		}
	}
}

// [Nov15, Lemma 3.2]: the first p-step is (1,2), (3,4), …; a reverse ends with it, turned.
func TestFirstStep(t *testing.T) {
	for n := 2; n <= 64; n += 2 {
		var first []Pair
		for k := 0; k < n; k += 2 {
			first = append(first, Pair{k, k + 1})
		}
		last := slices.Clone(first)
		slices.Reverse(last)
		for _, name := range []string{"rowcyc", "colcyc", "rowcyc-expanded", "colcyc-expanded"} {
			if got := mustNew(t, name, n).Steps[0]; !slices.Equal(got, first) {
				t.Errorf("%s %d begins with %v", name, n, got)
			}
			if got := mustNew(t, "rev-"+name, n).Steps[n-2]; !slices.Equal(got, last) {
				t.Errorf("rev-%s %d ends with %v", name, n, got)
			}
		}
	}
}

// literal is Alg. 3.1 as it is printed: every maximal independent set with t pairs in
// lexicographic order, no look-ahead.
func literal(pairs []Pair, n int) ([][]Pair, bool) {
	if len(pairs) == 0 {
		return nil, true
	}
	var result [][]Pair
	var nextLex func(from int, step []Pair) bool
	nextLex = func(from int, step []Pair) bool {
		if len(step) == n/2 {
			rest := slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return slices.Contains(step, p) })
			steps, ok := literal(rest, n)
			if ok {
				result = append([][]Pair{slices.Clone(step)}, steps...)
			}
			return ok
		}
		for i := from; i < len(pairs); i++ {
			collides := slices.ContainsFunc(step, func(p Pair) bool {
				return p.P == pairs[i].P || p.P == pairs[i].Q || p.Q == pairs[i].P || p.Q == pairs[i].Q
			})
			if !collides && nextLex(i+1, append(step, pairs[i])) {
				return true
			}
		}
		return false
	}
	return result, nextLex(0, nil)
}

func TestSearchEqualsLiteralAlgorithm(t *testing.T) {
	for n := 2; n <= 10; n += 2 {
		for _, s := range []sequence{rowCyclic, columnCyclic} {
			want, ok := literal(s.pairs(n), n)
			if !ok {
				t.Fatalf("the literal algorithm fails at n = %d", n)
			}
			got, err := search(s, n)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, slices.Equal[[]Pair]) {
				t.Errorf("sequence %d, n = %d: %v, want %v", s, n, got, want)
			}
		}
	}
}

// [Nov15, §3] verifies that Alg. 3.2 gives the result of Alg. 3.1 for n ≤ 18. It holds up to n = 24
// for ℛ, not at 26.
func TestExpansionOfClosest(t *testing.T) {
	for n := 2; n <= 32; n += 2 {
		for _, name := range []string{"rowcyc", "colcyc"} {
			e, err := mustNew(t, name, n).Expand()
			if err != nil {
				t.Fatal(err)
			}
			equal := e.String() == mustNew(t, name, 2*n).String()
			if want := name == "colcyc" || n != 26; equal != want {
				t.Errorf("%s %d expanded equals %s %d: %v, want %v", name, n, name, 2*n, equal, want)
			}
		}
	}
}

func TestExpandedIsAnotherStrategy(t *testing.T) {
	closest, expanded := mustNew(t, "rowcyc", 52), mustNew(t, "rowcyc-expanded", 52)
	for i := range 45 {
		if !slices.Equal(closest.Steps[i], expanded.Steps[i]) {
			t.Errorf("p-step %d differs", i+1)
		}
	}
	if c, e := closest.Steps[45], expanded.Steps[45]; !slices.Contains(c, Pair{12, 22}) ||
		!slices.Contains(e, Pair{12, 24}) {
		t.Errorf("p-step 46 is\n%v\n%v", c, e)
	}
	if mustNew(t, "colcyc", 52).String() != mustNew(t, "colcyc-expanded", 52).String() {
		t.Error("colcyc 52 and colcyc-expanded 52 differ")
	}
}

// The example of [Nov15, §3]: order 240 is order 30 expanded three times.
func TestOrder240(t *testing.T) {
	table := mustNew(t, "rowcyc", 30)
	for range 3 {
		var err error
		if table, err = table.Expand(); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustNew(t, "rowcyc-expanded", 240); got.String() != table.String() {
		t.Error("rowcyc-expanded 240 is not rowcyc 30 expanded three times")
	}
}

// The expansion of a reverse is the reverse of the expansion.
func TestExpandCommutesWithReverse(t *testing.T) {
	for _, name := range []string{"rowcyc", "colcyc", "brentluk", "mmstep"} {
		table := mustNew(t, name, 10)
		a, err := table.Reverse().Expand()
		if err != nil {
			t.Fatal(err)
		}
		b, err := table.Expand()
		if err != nil {
			t.Fatal(err)
		}
		if b = b.Reverse(); a.Name != b.Name || a.String() != b.String() {
			t.Errorf("%s: %s and %s differ", name, a.Name, b.Name)
		}
	}
}

// [Nov15, §3] for m = 2^k: no backtracking, closest = expanded, ℛ step-equivalent to 𝒞; and the
// closed form: p-step j meets i and i⊕j.
func TestPowersOfTwo(t *testing.T) {
	for n := 2; n <= 64; n *= 2 {
		row, column := mustNew(t, "rowcyc", n), mustNew(t, "colcyc", n)
		for s, table := range map[sequence]*Table{rowCyclic: row, columnCyclic: column} {
			found, err := search(s, n)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(found, table.Steps, slices.Equal[[]Pair]) {
				t.Errorf("%s %d: the closed form is not what Alg. 3.1 finds", table.Name, n)
			}
			if mustNew(t, table.Name+"-expanded", n).String() != table.String() {
				t.Errorf("%s %d: closest and expanded differ", table.Name, n)
			}
			for j, step := range table.Steps {
				for _, p := range step {
					if p.P^p.Q != j+1 {
						t.Errorf("%s %d, p-step %d has %v", table.Name, n, j+1, p)
					}
				}
			}
		}
		if sortedSteps(row.Steps) != sortedSteps(column.Steps) {
			t.Errorf("rowcyc %d and colcyc %d are not step-equivalent", n, n)
		}
	}
}

// For 2^k, BR is the reverse of ℛ after the relabelling i → i⊕⌊i/2⌋ (the Gray code).
func TestBlockRecursiveIsRelabelledReverse(t *testing.T) {
	gray := func(i int) int { return i ^ i>>1 }
	for n := 1; n <= 128; n *= 2 {
		relabelled := mustNew(t, "rev-rowcyc", n).Steps
		for _, step := range relabelled {
			for i, p := range step {
				u, v := gray(p.P), gray(p.Q)
				step[i] = Pair{min(u, v), max(u, v)}
			}
		}
		if sortedSteps(relabelled) != sortedSteps(mustNew(t, "br", n).Steps) {
			t.Errorf("n = %d: br is not the relabelled reverse of rowcyc", n)
		}
	}
}

// One step of the hypercube walk: between two p-steps of a division the partner of each index that stays
// changes by one bit, so that every walking block-column moves to a neighbouring node.
func TestBlockRecursiveWalksTheHypercube(t *testing.T) {
	const n = 32
	steps := mustNew(t, "br", n).Steps
	for h, first := n/2, 0; h >= 1; h, first = h/2, first+h {
		for k := 1; k < h; k++ {
			before, after := steps[first+k-1][0], steps[first+k][0]
			link := (before.P ^ before.Q) ^ (after.P ^ after.Q)
			if link == 0 || link&(link-1) != 0 {
				t.Errorf("division %d, p-step %d moves along %b", h, k, link)
			}
		}
	}
}
