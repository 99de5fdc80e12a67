package topology

import "slices"

// graph holds all states that can be reached from the starts, of each layer of one sweep, and where
// each option leads. The layers of the next sweep are the same, so a path over many sweeps walks
// it many times.
type graph struct {
	starts *stateSet // of the first layer, the reachable ones included
	layers []graphLayer
}

type graphLayer struct {
	options int
	next    []int32 // next[state*options+option]; after the last layer: a start
	cost    []cost  // of the phase that begins here, nil inside a transition
}

// newGraph follows all options from all starts until nothing new is found. It returns nil if that
// takes more than the given number of steps.
func newGraph(s *search, starts *stateSet, limit int) *graph {
	layers, _ := s.size()
	g := &graph{starts: starts, layers: make([]graphLayer, layers)}
	states := make([]*stateSet, layers)
	states[0] = starts
	for i := 1; i < layers; i++ {
		states[i] = newStateSet(s.slots + 1)
	}
	done := make([]int, layers)
	scratch := make([]uint16, s.slots+1)
	for done[0] < starts.len() {
		at := 0
		for _, t := range s.transitions {
			for l, layer := range t.layers {
				n, here, next := &g.layers[at], states[at], states[(at+1)%layers]
				n.options = len(layer.options[0])
				if limit -= (here.len() - done[at]) * n.options; limit < 0 {
					return nil
				}
				for end := here.len(); done[at] < end; done[at]++ {
					if l == 0 {
						c, _ := s.tariff.add(0, t.links, here.state(done[at]))
						n.cost = append(n.cost, c)
					}
					for _, o := range layer.options[here.state(done[at])[s.slots]] {
						s.follow(t, l, o, scratch, here.state(done[at]))
						s.tree.relabel(scratch[:s.slots])
						to, _ := next.add(scratch)
						n.next = append(n.next, int32(to))
					}
				}
				at++
			}
		}
	}
	return g
}

// sweepBack returns the lowest cost from each start to the end of a sweep, where after is the cost
// from there on. For each layer, from the last to the first, visit gets the lowest cost of each
// state and the option that begins it.
func (g *graph) sweepBack(after []cost, visit func(l int, togo []cost, option []uint16)) []cost {
	for l, n := range slices.Backward(g.layers) {
		states := len(n.next) / n.options
		togo, option := make([]cost, states), make([]uint16, states)
		for id := range states {
			best, at := after[n.next[id*n.options]], 0
			for o := 1; o < n.options; o++ {
				if c := after[n.next[id*n.options+o]]; c.less(best) {
					best, at = c, o
				}
			}
			if n.cost != nil {
				best = best.plus(n.cost[id])
			}
			togo[id], option[id] = best, uint16(at)
		}
		visit(l, togo, option)
		after = togo
	}
	return after
}

// best returns the cheapest path over all sweeps from the given start, or from any if it is negative.
func (g *graph) best(sweeps, start int) path {
	options := make([][]uint16, sweeps*len(g.layers))
	togo := make([]cost, g.starts.len())
	for k := sweeps - 1; k >= 0; k-- {
		togo = g.sweepBack(togo, func(l int, _ []cost, option []uint16) {
			options[k*len(g.layers)+l] = option
		})
	}
	if start < 0 {
		start = 0
		for id, c := range togo {
			if c.less(togo[start]) {
				start = id
			}
		}
	}
	state := g.starts.state(start)
	p := path{start: slices.Clone(state[:len(state)-1]), cost: togo[start]}
	at := start
	for i, option := range options {
		n := g.layers[i%len(g.layers)]
		o := option[at]
		p.options = append(p.options, o)
		at = int(n.next[at*n.options+int(o)])
	}
	return p
}
