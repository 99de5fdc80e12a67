package topology

import (
	"slices"

	"jmpi/strategy"
)

// search looks for the path of lowest cost through the states of all p-steps: a start, and an
// option in each layer of each transition. A state is the leaf of each slot, and the mode at its end.
type search struct {
	table       *strategy.Table
	tree        *tree
	tariff      *tariff
	slots       int
	transitions []*transition // of one sweep; the last one leads to the first p-step of the next
}

// path is a result of the search.
type path struct {
	start   []uint16 // leaf of each slot
	options []uint16 // one per layer, over all sweeps
	cost    cost
	k       int // symmetry of the layers
}

// newSearch prepares the transitions of one sweep, without layers.
func newSearch(table *strategy.Table, t *tree, f *tariff) *search {
	s := &search{table: table, tree: t, tariff: f, slots: table.N / 2}
	for i, step := range table.Steps {
		next := table.Steps[(i+1)%len(table.Steps)]
		s.transitions = append(s.transitions, newTransition(step, next, table.N))
	}
	return s
}

// unit is what a search spends on following one option of one state, in units of about one memory access.
func (s *search) unit() int { return s.slots + 40 }

// size returns the number of layers of a sweep, and of all their options.
func (s *search) size() (layers, options int) {
	for _, t := range s.transitions {
		layers += len(t.layers)
		for _, l := range t.layers {
			options += len(l.options[0])
		}
	}
	return layers, options
}

// follow writes to dst the state that the option leads to from src, not renamed.
func (s *search) follow(t *transition, l int, o option, dst, src []uint16) {
	apply(t, l, o.turn, dst[:s.slots], src[:s.slots])
	dst[s.slots] = o.mode
}

// frontier holds the states that a search has reached at one layer, each with the cheapest way there.
type frontier struct {
	states *stateSet
	way    []way
}

type way struct {
	cost   cost
	rank   cost  // what prune goes by
	worst  int64 // dearest move of the phase that is not complete yet
	from   int32 // state of the frontier before
	node   int32 // of the graph, if there is one
	option uint16
}

func newFrontier(length int) *frontier { return &frontier{states: newStateSet(length)} }

// add keeps the state and the way to it unless a way of no higher cost is known.
func (f *frontier) add(state []uint16, w way) {
	id, isNew := f.states.add(state)
	switch {
	case isNew:
		f.way = append(f.way, w)
	case w.cost.less(f.way[id].cost):
		f.way[id] = w
	}
}

// prune keeps the width states of lowest rank, of equal ones the first.
func (f *frontier) prune(width int) *frontier {
	if len(f.way) <= width {
		return f
	}
	order := make([]int, len(f.way))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return f.way[a].rank.compare(f.way[b].rank) })
	kept := newFrontier(f.states.length)
	for _, id := range order[:width] {
		kept.add(f.states.state(id), f.way[id])
	}
	return kept
}

// cheapest returns the first state of lowest cost.
func (f *frontier) cheapest() int {
	at := 0
	for id, w := range f.way {
		if w.cost.less(f.way[at].cost) {
			at = id
		}
	}
	return at
}
