package topology

import (
	"testing"

	"pgregory.net/rapid"

	"jmpi/strategy"
)

// A beam that is wide enough finds what visiting all states finds, with or without symmetry, and both
// paths cost what they claim.
func TestWideBeamIsExact(t *testing.T) {
	expanded := mustTable(t, "rev-rowcyc", 12)
	power := mustTable(t, "rev-colcyc", 8)
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.OneOf(rapid.Just(expanded), rapid.Just(power),
			rapid.Custom(func(t *rapid.T) *strategy.Table { return drawTable(t, 10) })).Draw(t, "table")
		net := drawNetwork(t, table.N/2)
		objective := Objective(rapid.IntRange(0, 2).Draw(t, "objective"))
		sweeps := rapid.IntRange(1, 2).Draw(t, "sweeps")
		tree := newTree(net, pick(net, table.N/2))
		s := newSearch(table, tree, newTariff(tree, net.levels, objective))
		k := rapid.IntRange(0, symmetry(table)).Draw(t, "symmetry")
		if !s.decide(k) {
			t.Skip("no choice has this symmetry")
		}
		starts, all := s.starts(1 << 20)
		if !all {
			t.Fatal("starts were dropped")
		}
		wide, _ := s.beam(starts, sweeps, 1<<20, nil)
		exact := newGraph(s, starts.states, 1<<30).best(sweeps, -1)
		if wide.cost != exact.cost {
			t.Fatalf("beam %v, graph %v", wide.cost, exact.cost)
		}
		for _, p := range []path{wide, exact} {
			plan := s.execute(net, tree.place(p.start), p, sweeps)
			if err := plan.Validate(table); err != nil {
				t.Fatal(err)
			}
			if got := measure(plan, net, objective); got != p.cost {
				t.Fatalf("claims %v, costs %v", p.cost, got)
			}
		}
	})
}

// The symmetry of a table: i → i⊕u for u < 2^k maps each p-step to itself.
func TestSymmetry(t *testing.T) {
	for _, c := range []struct {
		name     string
		order, k int
	}{
		{"rev-rowcyc", 16, 4}, {"br", 16, 4}, {"rowcyc-expanded", 24, 2}, {"rev-rowcyc", 6, 0}, {"brentluk", 8, 0},
		{"rev-colcyc", 12, 1},
	} {
		if got := symmetry(mustTable(t, c.name, c.order)); got != c.k {
			t.Errorf("%s of order %d: k = %d, want %d", c.name, c.order, got, c.k)
		}
	}
}

// For order 2^k the symmetric choice leaves the affine states: subspaces of dimension 3 of GF(2)^5 that
// contain a given vector, 35 for 16 devices in groups of 4, 15 for groups of 8.
func TestAffineStates(t *testing.T) {
	table := mustTable(t, "rev-rowcyc", 32)
	for size, want := range map[int]int{4: 35, 8: 15} {
		net := mustGroups(t, 16, size)
		tree := newTree(net, pick(net, 16))
		s := newSearch(table, tree, newTariff(tree, net.levels, Phases))
		if !s.decide(symmetry(table)) {
			t.Fatal("no symmetric choice")
		}
		g := newGraph(s, s.symmetricStarts(symmetry(table)).states, 1<<30)
		if got := g.starts.len(); got != want {
			t.Errorf("groups of %d: %d states, want %d", size, got, want)
		}
	}
}

// Minimising phases and minimising block-columns are different: 10 devices in 5 nodes.
func TestObjectivesDiffer(t *testing.T) {
	table, net := mustTable(t, "rev-rowcyc-expanded", 20), mustGroups(t, 10, 2)
	phases := mustPlan(t, table, net, Options{Sweeps: 12}).Traffic()
	columns := mustPlan(t, table, net, Options{Sweeps: 12, Objective: Columns}).Traffic()
	if phases.SlowPhases >= columns.SlowPhases || columns.SlowColumns >= phases.SlowColumns {
		t.Errorf("%+v for phases, %+v for columns", phases, columns)
	}
}

// Renaming is constant on the classes of equal states, and only there.
func TestRelabel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		net := drawNetwork(t, rapid.IntRange(1, 6).Draw(t, "devices"))
		used := pick(net, net.Devices())
		tree := newTree(net, used)
		from := rapid.Permutation(used).Draw(t, "map")
		state := tree.stateOf(from)[:len(from)]
		renamed := append([]uint16{}, state...)
		tree.relabel(renamed)
		for a := range state {
			for b := range state {
				if tree.level[state[a]][state[b]] != tree.level[renamed[a]][renamed[b]] {
					t.Fatalf("%v renamed to %v changes the level of %d and %d", state, renamed, a, b)
				}
			}
		}
		again := append([]uint16{}, renamed...)
		tree.relabel(again)
		for i := range again {
			if again[i] != renamed[i] || count(state, int(state[i])) != count(renamed, int(renamed[i])) {
				t.Fatalf("%v renamed to %v, that to %v", state, renamed, again)
			}
		}
	})
}

// Symmetric options respect the symmetry: with one c for the whole transition, i → i⊕u either maps what every
// device keeps to what the device of the shifted pair keeps, or to what it sends.
func TestOptionsAreSymmetric(t *testing.T) {
	fixed := mustTable(t, "rev-rowcyc-expanded", 24)
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.OneOf(rapid.Just(fixed), rapid.Custom(drawDoubled)).Draw(t, "table")
		net, err := FromGroups(table.N/2, 2)
		if err != nil {
			t.Fatal(err)
		}
		tree := newTree(net, pick(net, table.N/2))
		s := newSearch(table, tree, newTariff(tree, net.levels, Phases))
		k := symmetry(table)
		if k == 0 {
			t.Fatal("the table should have a symmetry")
		}
		if !s.decide(k) {
			t.Skip("no choice has this symmetry")
		}
		for i, tr := range s.transitions {
			old, next := table.Steps[i], table.Steps[(i+1)%len(table.Steps)]
			from := make([]int, s.slots) // old slot of each new one
			for e := range from {
				from[e] = e
			}
			mode := uint16(0)
			for l, layer := range tr.layers {
				o := rapid.SampledFrom(layer.options[mode]).Draw(t, "option")
				after := make([]int, s.slots)
				apply(tr, l, o.turn, after, from)
				from, mode = after, o.mode
			}
			kept := map[int]int{} // by old slot, where the pair changes
			for f, e := range from {
				if next[f] == old[e] {
					continue
				}
				kept[e] = old[e].P
				if next[f].P == old[e].Q || next[f].Q == old[e].Q {
					kept[e] = old[e].Q
				}
			}
			slot := slotOf(old, table.N)
			for u := range 1 << k {
				same := map[bool]bool{}
				for e, column := range kept {
					same[kept[slot[old[e].P^u]] == column^u] = true
				}
				if len(same) > 1 {
					t.Fatalf("transition %d, u = %d: kept columns %v", i, u, kept)
				}
			}
		}
	})
}

// drawDoubled draws a table with the symmetry i → i⊕1: each pair p-q of a random table becomes two pairs of
// 2p, 2p+1 with 2q, 2q+1.
func drawDoubled(t *rapid.T) *strategy.Table {
	half := drawTable(t, 8)
	table := &strategy.Table{Name: "doubled", N: 2 * half.N}
	for _, step := range half.Steps {
		var pairs []strategy.Pair
		for _, p := range step {
			x := rapid.IntRange(0, 1).Draw(t, "crossed")
			pairs = append(pairs, strategy.Pair{P: 2 * p.P, Q: 2*p.Q + x},
				strategy.Pair{P: 2*p.P + 1, Q: 2*p.Q + 1 - x})
		}
		table.Steps = append(table.Steps, rapid.Permutation(pairs).Draw(t, "order"))
	}
	return table
}
