package topology

// starts returns the states of the first p-step, one of each class under renaming, priced by the
// first phase. At most width partial states are kept, the cheapest, and fewer if that is too much
// work; all says that none was dropped.
func (s *search) starts(width int) (f *frontier, all bool) {
	width = min(width, startWork/(len(s.tree.devices)*s.slots*s.unit()))
	all = true
	links := make([][]link, s.slots) // of the first phase, by the later slot
	for _, l := range s.transitions[0].links {
		at := max(l.a, l.b)
		links[at] = append(links[at], l)
	}
	f = newFrontier(1)
	f.add([]uint16{0}, way{})
	for slot := range s.slots {
		next := newFrontier(slot + 2)
		state := make([]uint16, slot+2) // the last element is the mode, 0
		for id, w := range f.way {
			for leaf, devices := range s.tree.devices {
				copy(state, f.states.state(id)[:slot])
				state[slot] = uint16(leaf)
				if count(state[:slot+1], leaf) > len(devices) {
					continue
				}
				s.tree.relabel(state[:slot+1])
				more, worst := s.tariff.add(w.worst, links[slot], state)
				c := w.cost.plus(more)
				next.add(state, way{cost: c, rank: c, worst: worst})
			}
		}
		f = next.prune(width)
		all = all && f == next
	}
	return f, all
}

func count(state []uint16, leaf int) int {
	n := 0
	for _, v := range state {
		if int(v) == leaf {
			n++
		}
	}
	return n
}

// symmetricStarts returns states in which the pairs of an orbit under the shifts u < 2^k fill the
// leaves in the order of u, for each rotation of the bits of u.
func (s *search) symmetricStarts(k int) *frontier {
	step := s.table.Steps[0]
	slot := slotOf(step, s.table.N)
	f := newFrontier(s.slots + 1)
	for turn := range max(1, k) {
		var order []int
		seen := make([]bool, s.slots)
		for _, p := range step {
			for v := range 1 << k {
				u := (v<<turn | v>>(k-turn)) & (1<<k - 1)
				if e := slot[p.P^u]; !seen[e] {
					seen[e] = true
					order = append(order, e)
				}
			}
		}
		state := make([]uint16, s.slots+1)
		i := 0
		for leaf, devices := range s.tree.devices {
			for range devices {
				state[order[i]] = uint16(leaf)
				i++
			}
		}
		s.tree.relabel(state[:s.slots])
		f.add(state, s.priced(state))
	}
	return f
}

// priced returns a way to a start, with the cost of its first phase.
func (s *search) priced(state []uint16) way {
	c, worst := s.tariff.add(0, s.transitions[0].links, state)
	return way{cost: c, rank: c, worst: worst}
}
