package topology

import (
	"math/bits"

	"jmpi/strategy"
)

// Which cycles turn is decided in layers. The free choice has one layer for each cycle. It finds the
// optimum where all states can be visited, but there are too many for 16 devices in groups of 4.
//
// The strategies of [Nov15, §3] that come from an expansion have a symmetry: they map to themselves when all
// column indices i become i⊕u, for every u below some 2^k. (For order 2^k each p-step of reverse R pairs i
// with i⊕j; then k has its largest value.) It carries cycles to cycles. The symmetric choice lets the cycles
// of an orbit turn by an affine function of u, c·u ⊕ d over GF(2), with one c for the whole transition and
// one d for each orbit. For 16 devices in groups of 4 that leaves 35 states instead of 2.6 million: those
// where the columns of a group are a coset of a subspace.

// layer is a decision of the search: options[mode] are the choices where the layers before it in the
// transition have led to that mode. Every mode has the same number of them.
type layer struct {
	options [][]option
	fresh   []link // of the next phase, known once this decision is taken; slots after the layer
}

// option turns the cycles of these indices. The mode stands for c, and is 0 between transitions.
type option struct {
	turn []uint16
	mode uint16
}

// mostSymmetry bounds the number of options, which grows with the square of 2^k in a sweep.
const mostSymmetry = 8

// symmetry returns the largest k ≤ mostSymmetry such that i → i⊕u maps every p-step to itself for
// all u < 2^k.
func symmetry(table *strategy.Table) int {
	for k := 0; ; k++ {
		u := 1 << k
		if k == mostSymmetry || table.N%(2*u) != 0 {
			return k
		}
		for _, step := range table.Steps {
			slot := slotOf(step, table.N)
			for _, p := range step {
				if slot[p.P^u] != slot[p.Q^u] {
					return k
				}
			}
		}
	}
}

// decide gives every transition its layers, with the symmetry of 2^k shifts; k = 0 is the free choice.
// It reports false if a transition has no choice with this symmetry.
func (s *search) decide(k int) bool {
	for i, t := range s.transitions {
		next := s.transitions[(i+1)%len(s.transitions)]
		orbits, conditions := t.orbits(s.table.Steps[i], s.table.N, k)
		orbits = t.sortOrbits(orbits, next)
		t.layers = make([]layer, max(1, len(orbits)))
		t.reveal(orbits, next)
		if len(orbits) == 0 {
			t.layers[0].options = [][]option{{{}}}
			continue
		}
		var functions []int
		for c := range 1 << k {
			if holds(conditions, c) {
				functions = append(functions, c)
			}
		}
		if len(functions) == 0 {
			return false
		}
		for l, orbit := range orbits {
			options := make([][]option, len(functions))
			for mode, c := range functions {
				before, after := mode, mode
				if l == 0 {
					before = 0
				}
				if l == len(orbits)-1 {
					after = 0
				}
				for d := range 2 {
					options[before] = append(options[before], option{orbit.turns(c, d), uint16(after)})
				}
			}
			if l == 0 {
				options = options[:1]
			}
			t.layers[l].options = options
		}
	}
	return true
}

// orbit holds the images of one cycle under the shifts 0 … 2^k-1, each cycle once.
type orbit []image

// image is a cycle, the first shift that leads to it, and whether it is turned if the first cycle is not.
type image struct {
	cycle, shift int
	turned       bool
}

// condition says that c·shift must be odd, or even. It comes from two shifts that lead to the same cycle.
type condition struct {
	shift int
	odd   bool
}

// orbits sorts the cycles by orbits, and finds the conditions on c; step is the old p-step.
func (t *transition) orbits(step []strategy.Pair, order, k int) ([]orbit, map[condition]bool) {
	owner := t.owners()
	slot := slotOf(step, order)
	seen := make([]bool, len(t.cycles))
	known := make([]image, len(t.cycles))
	conditions := map[condition]bool{}
	var all []orbit
	for first, c := range t.cycles {
		if seen[first] {
			continue
		}
		var o orbit
		for u := range 1 << k {
			kept := t.keep[c[0]] ^ u
			e := slot[kept]
			im := image{owner[e], u, t.keep[e] != kept}
			if seen[im.cycle] {
				before := known[im.cycle]
				conditions[condition{u ^ before.shift, im.turned != before.turned}] = true
				continue
			}
			seen[im.cycle], known[im.cycle] = true, im
			o = append(o, im)
		}
		all = append(all, o)
	}
	return all, conditions
}

// holds reports whether c meets all conditions.
func holds(conditions map[condition]bool, c int) bool {
	for q := range conditions {
		if odd(c&q.shift) != q.odd {
			return false
		}
	}
	return true
}

// turns returns the cycles of the orbit that turn by c·u ⊕ d.
func (o orbit) turns(c, d int) []uint16 {
	var turn []uint16
	for _, im := range o {
		if (im.turned != odd(c&im.shift)) != (d == 1) {
			turn = append(turn, uint16(im.cycle))
		}
	}
	return turn
}

func odd(x int) bool { return bits.OnesCount(uint(x))%2 == 1 }

// owners returns the cycle of each old slot, -1 for none.
func (t *transition) owners() []int {
	owner := make([]int, len(t.target))
	for e := range owner {
		owner[e] = -1
	}
	for i, c := range t.cycles {
		for _, e := range c {
			owner[e] = i
		}
	}
	return owner
}

// sortOrbits orders the orbits so that each shares, where possible, a link of the next transition
// with an earlier one.
func (t *transition) sortOrbits(orbits []orbit, next *transition) []orbit {
	owner, source := t.owners(), t.source()
	in := make([]int, len(t.cycles)) // orbit of a cycle
	for i, o := range orbits {
		for _, im := range o {
			in[im.cycle] = i
		}
	}
	near := make([][]int, len(orbits))
	for _, l := range next.links {
		a, b := owner[source[l.a]], owner[source[l.b]]
		if a >= 0 && b >= 0 {
			near[in[a]] = append(near[in[a]], in[b])
			near[in[b]] = append(near[in[b]], in[a])
		}
	}
	var sorted []orbit
	queued := make([]bool, len(orbits))
	for first := range orbits {
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			i := queue[0]
			if !queued[i] {
				queued[i] = true
				sorted = append(sorted, orbits[i])
				queue = append(queue, near[i]...)
			}
		}
	}
	return sorted
}

// source is the inverse of target.
func (t *transition) source() []uint16 {
	source := make([]uint16, len(t.target))
	for e, f := range t.target {
		source[f] = uint16(e)
	}
	return source
}

// reveal finds the layer at which each link of the next transition is known: when both its slots are decided.
func (t *transition) reveal(orbits []orbit, next *transition) {
	source := t.source()
	decided := make([]int, len(source)) // layer that decides an old slot
	for l, o := range orbits {
		for _, im := range o {
			for _, e := range t.cycles[im.cycle] {
				decided[e] = l
			}
		}
	}
	for _, l := range next.links {
		a, b := source[l.a], source[l.b]
		at := max(decided[a], decided[b])
		if at < len(t.layers)-1 {
			l = link{a, b}
		}
		t.layers[at].fresh = append(t.layers[at].fresh, l)
	}
}
