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
		table := rapid.OneOf(rapid.Just(expanded), rapid.Just(power), rapid.Custom(func(t *rapid.T) *strategy.Table { return drawTable(t, 10) })).Draw(t, "table")
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
		{"rev-rowcyc", 16, 4}, {"br", 16, 4}, {"rowcyc-expanded", 24, 2}, {"rev-rowcyc", 6, 0}, {"brentluk", 8, 0}, {"rev-colcyc", 12, 1},
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
