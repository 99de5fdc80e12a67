package topology

import "slices"

// How much a search may do, in units of about one memory access: a hundred million of them take some
// tenths of a second.
const (
	exactWork     = 250e6 // to visit all states
	symmetricWork = 100e6 // to visit all states of the symmetric choice
	beamWork      = 5e6   // in a beam, for each slot, but not below and above these:
	leastBeamWork = 150e6
	mostBeamWork  = 640e6
	loopWork      = 400e6 // to close a periodic path
	startWork     = 100e6 // to list starts
	loopSeeds     = 2     // number of starts among which loopWork is divided
	freeSlots     = 24    // beyond, a beam of free choices finds nothing better than a symmetric one
)

// goal says what a path must do.
type goal struct {
	sweeps   int
	periodic bool     // the path is one sweep, which begins and ends in the same leaves
	start    []uint16 // leaf of each slot, not renamed, and the mode; nil: free
}

// run returns the best path that was found, with the layers of s as the path needs them: the optimum if all
// states can be visited, otherwise the better of what the symmetric and the free choice give. Where
// even a beam of width 1 would take too long (hundreds of devices), no cycle turns.
func (s *search) run(g goal) (best path, found bool) {
	if len(s.tree.devices) == 1 {
		return s.still(g), true
	}
	s.decide(0)
	_, options := s.size()
	if seeds, all := s.starts(exactWork / (options * s.unit())); all {
		if best, found, _ := s.visitAll(g, seeds, exactWork); found {
			return best, true
		}
	}
	for k := symmetry(s.table); k > 0; k-- {
		if !s.decide(k) {
			continue
		}
		seeds := s.symmetricStarts(k)
		var visited bool
		if best, found, visited = s.visitAll(g, seeds, symmetricWork); !visited {
			best, found = s.beams(g, seeds)
		}
		best.k = k
		break
	}
	if !found || s.slots <= freeSlots {
		s.decide(0)
		seeds, _ := s.starts(s.width(g))
		if free, ok := s.beams(g, seeds); ok && (!found || free.cost.less(best.cost)) {
			best, found = free, true
		}
	}
	if !found && !g.periodic {
		return s.still(g), true
	}
	s.decide(best.k)
	return best, found
}

// still is the path on which no cycle turns, from pairs that fill the leaves in order.
func (s *search) still(g goal) path {
	for _, t := range s.transitions {
		t.layers = []layer{{options: [][]option{{{}}}}}
	}
	p := path{options: make([]uint16, g.sweeps*len(s.transitions))}
	for leaf, devices := range s.tree.devices {
		for range devices {
			p.start = append(p.start, uint16(leaf))
		}
	}
	if g.periodic {
		p.options = p.options[:len(s.transitions)]
	}
	return p
}

// visitAll searches all states that can be reached from the seeds, or from the start if there is one.
// It reports visited = false if there are too many.
func (s *search) visitAll(g goal, seeds *frontier, work int) (p path, found, visited bool) {
	states := seeds.states
	if g.start != nil {
		states = newStateSet(s.slots + 1)
		states.add(s.renamed(g.start))
	}
	all := newGraph(s, states, work/s.unit())
	switch {
	case all == nil:
		return path{}, false, false
	case g.periodic:
		p, found = all.periodic(s, g.start, loopWork)
		return p, found, true
	case g.start != nil:
		return all.best(g.sweeps, 0), true, true
	}
	return all.best(g.sweeps, -1), true, true
}

// beams runs a beam from the seeds, or from the start if there is one; for a periodic path, one
// from each of the cheapest seeds.
func (s *search) beams(g goal, seeds *frontier) (best path, found bool) {
	width := s.width(g)
	if width == 0 {
		return path{}, false
	}
	if g.start != nil {
		seeds = newFrontier(s.slots + 1)
		seeds.add(g.start, s.priced(g.start))
	}
	if !g.periodic {
		return s.beam(seeds, g.sweeps, width, nil)
	}
	seeds = seeds.prune(loopSeeds)
	for id := range seeds.way {
		target := seeds.states.state(id)
		one := newFrontier(s.slots + 1)
		one.add(target, seeds.way[id])
		if p, ok := s.beam(one, 1, width, target); ok && (!found || p.cost.less(best.cost)) {
			best, found = p, true
		}
	}
	return best, found
}

// width returns the width of a beam, 0 if one of width 1 would take too long.
func (s *search) width(g goal) int {
	units := 0 // for one sweep by a beam of width 1
	for _, t := range s.transitions {
		units += 2 * horizon * s.slots
		for l, layer := range t.layers {
			n := len(layer.options[0])
			if l > 0 {
				n *= t.bulge()
			}
			units += n * s.unit()
		}
	}
	runs := g.sweeps
	if g.periodic {
		runs = loopSeeds
	}
	work := min(max(beamWork*s.slots, leastBeamWork), mostBeamWork)
	return work / (units * runs)
}

func (s *search) renamed(state []uint16) []uint16 {
	state = slices.Clone(state)
	s.tree.relabel(state[:s.slots])
	return state
}
