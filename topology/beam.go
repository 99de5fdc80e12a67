package topology

import (
	"slices"

	"jmpi/strategy"
)

const horizon = 8 // p-steps to which a beam looks ahead

// trail holds the ways of the frontiers that a search has passed.
type trail [][]way

// back returns the path to the state with this number in the last frontier.
func (t trail) back(at int, starts *stateSet) path {
	p := path{cost: t[len(t)-1][at].cost}
	for _, ways := range slices.Backward(t) {
		p.options = append(p.options, ways[at].option)
		at = int(ways[at].from)
	}
	slices.Reverse(p.options)
	state := starts.state(at)
	p.start = slices.Clone(state[:len(state)-1])
	return p
}

// beam follows the most promising states of each layer from the starts, width of them at each
// p-step. With target it does not rename states, and only paths that end in target count. It
// reports false if there is none.
func (s *search) beam(starts *frontier, sweeps, width int, target []uint16) (path, bool) {
	var passed trail
	f := starts
	for step := range sweeps * len(s.transitions) {
		at := step % len(s.transitions)
		for l, layer := range s.transitions[at].layers {
			if step == sweeps*len(s.transitions)-1 {
				layer.fresh = nil // the first phase after the plan
			}
			next := s.advance(f, at, l, layer, target == nil)
			if l == len(s.transitions[at].layers)-1 {
				s.lookAhead(next, at+1, width)
				f = next.prune(width)
			} else {
				f = next.prune(s.transitions[at].bulge() * width)
			}
			passed = append(passed, f.way)
		}
	}
	at := f.cheapest()
	if target != nil {
		if at = f.states.find(target); at < 0 {
			return path{}, false
		}
	}
	return passed.back(at, starts.states), true
}

// bulge is the factor by which a beam is wider where the transition is only partly decided, so that
// one phase does not select among the modes alone.
func (t *transition) bulge() int { return max(1, len(t.layers[0].options[0])/4) }

// advance follows every option of layer l of a transition from every state of f.
func (s *search) advance(f *frontier, at, l int, layer layer, rename bool) *frontier {
	next := newFrontier(s.slots + 1)
	scratch := make([]uint16, s.slots+1)
	for id, w := range f.way {
		state := f.states.state(id)
		if l == 0 {
			w.worst = 0
		}
		for i, o := range layer.options[state[s.slots]] {
			s.follow(s.transitions[at], l, o, scratch, state)
			if rename {
				s.tree.relabel(scratch[:s.slots])
			}
			more, worst := s.tariff.add(w.worst, layer.fresh, scratch)
			c := w.cost.plus(more)
			next.add(scratch, way{cost: c, rank: c, worst: worst, from: int32(id), option: uint16(i)})
		}
	}
	return next
}

// lookAhead ranks the states of a p-step, if there are more than width: a state is better if the pairs of
// the p-steps that follow have their columns close together already, the near p-steps counting more.
func (s *search) lookAhead(f *frontier, step, width int) {
	if len(f.way) <= width {
		return
	}
	leaf := make([]uint16, s.table.N)
	pairs := func(i int) []strategy.Pair { return s.table.Steps[i%len(s.table.Steps)] }
	for id := range f.way {
		w := &f.way[id]
		state := f.states.state(id)
		for slot, p := range pairs(step) {
			leaf[p.P], leaf[p.Q] = state[slot], state[slot]
		}
		w.rank = w.cost.times(horizon + 1)
		for h := 1; h <= horizon; h++ {
			w.rank = w.rank.plus(s.tariff.apart(pairs(step+h), leaf).times(int64(horizon + 1 - h)))
		}
	}
}
