package topology

import "jmpi/strategy"

// A slot is the index of a pivot pair in its p-step. Between two p-steps, the union of their
// perfect matchings is a set of even cycles. One cycle of length 2k visits the old pairs
// e(0) … e(k-1) and the new pairs f(0) … f(k-1), where f(i) has one column of e(i) and one of e(i+1).
// If every device keeps one column, then either each device moves from e(i) to f(i), or each from
// e(i+1) to f(i): the cycle "turns". In both cases the devices of e(i) and e(i+1) exchange a column,
// for each i; so the cost of a phase depends on where the old pairs are, not on the turns.

// link is a block-column that moves between the devices of two slots.
type link struct{ a, b uint16 }

// cycle holds the old slots e(0) … e(k-1), k > 1.
type cycle []uint16

// transition leads from one p-step to the next, through its layers.
type transition struct {
	cycles []cycle
	links  []link   // what moves; slots of the old p-step
	target []uint16 // target[e(i)] = f(i): the new slot of a device, if its cycle does not turn
	keep   []int    // the column that it keeps then
	layers []layer  // at least one, see decide
}

// newTransition finds the cycles between two p-steps of the given order.
func newTransition(old, next []strategy.Pair, order int) *transition {
	inOld, inNext := slotOf(old, order), slotOf(next, order)
	t := &transition{target: make([]uint16, len(old)), keep: make([]int, len(old))}
	seen := make([]bool, len(old))
	for start := range old {
		var c cycle
		for e, keep := start, old[start].P; !seen[e]; {
			seen[e] = true
			c = append(c, uint16(e))
			f := inNext[keep]
			t.target[e], t.keep[e] = uint16(f), keep
			comes := next[f].P + next[f].Q - keep
			e = inOld[comes]
			keep = old[e].P + old[e].Q - comes
		}
		if len(c) < 2 {
			continue // the same pair in both p-steps, or a cycle that was seen
		}
		t.cycles = append(t.cycles, c)
		for i := range c {
			t.links = append(t.links, link{c[i], c[(i+1)%len(c)]})
		}
	}
	return t
}

// slotOf returns the slot of each column.
func slotOf(step []strategy.Pair, order int) []int {
	slot := make([]int, order)
	for i, p := range step {
		slot[p.P], slot[p.Q] = i, i
	}
	return slot
}

// apply writes to dst what becomes of src, with one value for each slot, in layer l if the given
// cycles turn. The last layer goes over to the new slots; before it, e(i) stands for f(i) once its
// cycle is decided.
func apply[T any](t *transition, l int, turn []uint16, dst, src []T) {
	if l < len(t.layers)-1 {
		copy(dst, src)
		for _, i := range turn {
			c := t.cycles[i]
			for i, e := range c {
				dst[e] = src[c[(i+1)%len(c)]]
			}
		}
		return
	}
	for e, f := range t.target {
		dst[f] = src[e]
	}
	for _, i := range turn {
		c := t.cycles[i]
		for i, e := range c {
			dst[t.target[e]] = src[c[(i+1)%len(c)]]
		}
	}
}
