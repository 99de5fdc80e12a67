package topology

import "slices"

// periodic returns the cheapest path of one sweep that ends in the state in which it began, leaf by
// leaf: from the given start (a state that is not renamed), or from any if it is nil. It goes through
// states that are not renamed, but knows from the graph, whose states are renamed, how much each of
// them must still cost. It spends about the given work; found is false if it found no path.
func (g *graph) periodic(s *search, start []uint16, work int) (best path, found bool) {
	togo := make([][]cost, len(g.layers)+1)
	togo[len(g.layers)] = make([]cost, g.starts.len())
	g.sweepBack(togo[len(g.layers)], func(l int, c []cost, _ []uint16) { togo[l] = c })

	var nodes []int // of the graph, the most promising starts first
	if start != nil {
		nodes = append(nodes, g.starts.find(s.renamed(start)))
	} else {
		for id := range g.starts.len() {
			nodes = append(nodes, id)
		}
		slices.SortStableFunc(nodes, func(a, b int) int { return togo[0][a].compare(togo[0][b]) })
	}
	_, options := s.size()
	width := max(1, work/(loopSeeds*options*s.unit()))
	for _, node := range nodes {
		if work < 0 || found && !togo[0][node].less(best.cost) {
			break
		}
		state := start
		if start == nil {
			state = g.starts.state(node)
		}
		wanted := func(c cost) bool { return !found || c.less(best.cost) }
		p, ok, steps := g.loop(s, state, node, width, togo, wanted)
		if ok {
			best, found = p, true
		}
		work -= steps * s.unit()
	}
	return best, found
}

// loop returns the cheapest path of one sweep from the state, which the graph knows as node, back to it,
// if its cost is wanted; and how many options it has followed. At most width states are kept.
func (g *graph) loop(s *search, state []uint16, node, width int, togo [][]cost,
	wanted func(cost) bool) (p path, found bool, steps int) {
	f := newFrontier(s.slots + 1)
	f.add(state, way{node: int32(node)})
	starts := f.states
	var passed trail
	scratch := make([]uint16, s.slots+1)
	at := 0
	for _, t := range s.transitions {
		for l, layer := range t.layers {
			n := g.layers[at]
			at++
			next := newFrontier(s.slots + 1)
			for id, w := range f.way {
				if n.cost != nil {
					w.cost = w.cost.plus(n.cost[w.node])
				}
				state := f.states.state(id)
				for i, o := range layer.options[state[s.slots]] {
					to := way{cost: w.cost, from: int32(id), node: n.next[int(w.node)*n.options+i], option: uint16(i)}
					if to.rank = to.cost.plus(togo[at][to.node]); wanted(to.rank) {
						s.follow(t, l, o, scratch, state)
						next.add(scratch, to)
					}
				}
			}
			steps += len(f.way) * n.options
			f = next.prune(width)
			passed = append(passed, f.way)
		}
	}
	end := f.states.find(state)
	if end < 0 {
		return path{}, false, steps
	}
	return passed.back(end, starts), true, steps
}
