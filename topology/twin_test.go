package topology

import (
	"testing"

	"pgregory.net/rapid"

	"jmpi/strategy"
)

// twin is the planner as one would write it first: it goes through all maps of pairs to devices, and takes
// each exchange in which every device keeps a column. It knows no cycles, symmetries or groups.
type twin struct {
	table     *strategy.Table
	net       *Network
	objective Objective
	maps      [][]int // device of each pair
}

func newTwin(table *strategy.Table, net *Network, o Objective) *twin {
	w := &twin{table: table, net: net, objective: o}
	var extend func(head []int)
	extend = func(head []int) {
		if len(head) == table.N/2 {
			w.maps = append(w.maps, append([]int{}, head...))
			return
		}
		for d := range net.Devices() {
			free := true
			for _, e := range head {
				free = free && d != e
			}
			if free {
				extend(append(head, d))
			}
		}
	}
	extend(nil)
	return w
}

// exchange returns the cost of going from map a of p-step i to map b of the next, and whether that
// is allowed.
func (w *twin) exchange(i int, a, b []int) (cost, bool) {
	old, next := w.table.Steps[i], w.table.Steps[(i+1)%len(w.table.Steps)]
	at := map[int]int{}
	for j, p := range old {
		at[p.P], at[p.Q] = a[j], a[j]
	}
	var slow, dearest, total int64
	for j, p := range next {
		if at[p.P] != b[j] && at[p.Q] != b[j] {
			return cost{}, false // the device keeps nothing
		}
		if at[p.P] == at[p.Q] && at[p.P] != b[j] {
			return cost{}, false // a pair that stays together moves
		}
		for _, c := range []int{p.P, p.Q} {
			if at[c] != b[j] {
				l := w.net.Level(at[c], b[j])
				dearest, total = max(dearest, w.net.levels[l].Cost), total+w.net.levels[l].Cost
				slow += int64(min(l, 1))
			}
		}
	}
	switch w.objective {
	case Phases:
		return cost{min(slow, 1), slow}, true
	case Columns:
		return cost{slow, min(slow, 1)}, true
	}
	return cost{dearest, total}, true
}

// best returns the lowest cost of the sweeps, from the map start only if it is not negative. With loop, the
// first and the last map must have each pair in the same innermost group.
func (w *twin) best(sweeps, start int, loop bool) (least cost, found bool) {
	for first := range w.maps {
		if start >= 0 && first != start {
			continue
		}
		reached := map[int]cost{first: {}}
		for step := range sweeps * len(w.table.Steps) {
			next := map[int]cost{}
			for a, before := range reached {
				for b := range w.maps {
					c, ok := w.exchange(step%len(w.table.Steps), w.maps[a], w.maps[b])
					if old, seen := next[b]; ok && (!seen || before.plus(c).less(old)) {
						next[b] = before.plus(c)
					}
				}
			}
			reached = next
		}
		for b, c := range reached {
			if (!loop || w.sameGroups(first, b)) && (!found || c.less(least)) {
				least, found = c, true
			}
		}
	}
	return least, found
}

func (w *twin) sameGroups(a, b int) bool {
	for i := range w.maps[a] {
		if w.net.Level(w.maps[a][i], w.maps[b][i]) != 0 {
			return false
		}
	}
	return true
}

// measure prices the moves of a plan.
func measure(p *Plan, net *Network, o Objective) (total cost) {
	for _, step := range p.Steps {
		var slow, dearest, sum int64
		for _, m := range step.Moves {
			l := net.Level(m.From, m.To)
			slow += int64(min(l, 1))
			dearest, sum = max(dearest, net.levels[l].Cost), sum+net.levels[l].Cost
		}
		switch o {
		case Phases:
			total = total.plus(cost{min(slow, 1), slow})
		case Columns:
			total = total.plus(cost{slow, min(slow, 1)})
		default:
			total = total.plus(cost{dearest, sum})
		}
	}
	return total
}

// The planner must be as good as the twin wherever it is exact.
func TestPlansAreOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t, 8)
		net := drawNetwork(t, table.N/2)
		if net.Devices() > table.N/2 {
			net, _ = net.First(table.N / 2) // which devices stay idle is a rule, not a choice
		}
		o := Options{
			Sweeps:    rapid.IntRange(1, 2).Draw(t, "sweeps"),
			Objective: Objective(rapid.IntRange(0, 2).Draw(t, "objective")),
			Periodic:  rapid.Bool().Draw(t, "periodic"),
		}
		w := newTwin(table, net, o.Objective)
		start := -1
		if rapid.Bool().Draw(t, "has start") {
			start = rapid.IntRange(0, len(w.maps)-1).Draw(t, "start")
			o.Start = w.maps[start]
		}
		sweeps := o.Sweeps
		if o.Periodic {
			sweeps = 1
		}
		want, possible := w.best(sweeps, start, o.Periodic)
		p, err := New(table, net, o)
		if !possible {
			if err == nil {
				t.Fatal("planned what is impossible")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := measure(p, net, o.Objective)
		if o.Periodic {
			want = want.times(int64(o.Sweeps))
		}
		if got != want {
			t.Fatalf("cost %v, the twin has %v", got, want)
		}
	})
}
