package cuda

import (
	"slices"

	"jmpi/kernels"
)

const (
	warpSlots  = 8 // pairs of a p-step that a warp works on (sweep.cuh)
	longest    = 8 // p-steps of a round at most
	absent     = 0xff << 8
	meet       = 1 << 16
	columnBits = 8
)

// rounds puts the pairs of a schedule with columns below order ≤ 128 into slots, warpSlots to a warp, as the
// words that jacobi.cu reads.
//
// A round is a number of p-steps after each other in which the columns fall into groups so small that a warp
// can keep a whole group for itself. Only at the end of a round must the warps wait for each other. For the
// row-cyclic strategy of an order 2ᵏ and its kin, where p-step j pairs the columns i and i⊕j, eight p-steps
// j = 8a … 8a+7 keep within groups of 16 columns; for most others every p-step is a round.
func rounds(s *kernels.Schedule, order, slots int) []uint32 {
	steps := len(s.Pairs) / max(s.Order, 1)
	words := make([]uint32, steps*slots)
	for start := 0; start < steps; {
		for n := min(longest, steps-start); ; n-- {
			warp, ok := assign(s, order, slots/warpSlots, start, n)
			if ok || n == 1 {
				fill(words, s, order, slots, start, n, warp)
				start += n
				break
			}
		}
	}
	return words
}

// pairsOf calls f with the pairs of a p-step that have columns below order.
func pairsOf(s *kernels.Schedule, order, step int, f func(p, q int)) {
	for i := step * s.Order; i < (step+1)*s.Order; i += 2 {
		if p, q := int(s.Pairs[i]), int(s.Pairs[i+1]); q < order {
			f(p, q)
		}
	}
}

// assign gives every column the warp that has it in n p-steps from start on; !ok if there is no room for the
// groups that these p-steps connect.
func assign(s *kernels.Schedule, order, warps, start, n int) (warp []int, ok bool) {
	group := make([]int, order) // of each column, the number of one of its columns
	for j := range group {
		group[j] = j
	}
	for step := start; step < start+n; step++ {
		pairsOf(s, order, step, func(p, q int) {
			if from, to := group[q], group[p]; from != to {
				for j := range group {
					if group[j] == from {
						group[j] = to
					}
				}
			}
		})
	}
	members := make([][]int, order)
	for j, g := range group {
		members[g] = append(members[g], j)
	}
	// The largest groups first, each to the first warp that has room for it.
	slices.SortStableFunc(members, func(a, b []int) int { return len(b) - len(a) })
	warp, used := make([]int, order), make([]int, warps)
	for _, m := range members {
		w := 0
		for w < warps && used[w]+len(m) > 2*warpSlots {
			w++
		}
		if w == warps {
			return nil, false
		}
		used[w] += len(m)
		for _, j := range m {
			warp[j] = w
		}
	}
	return warp, true
}

// fill writes the words of a round. Without room for the warps' own columns, which can only be in a round of
// one p-step, the pairs go to the slots in their order.
func fill(words []uint32, s *kernels.Schedule, order, slots, start, n int, warp []int) {
	for step := start; step < start+n; step++ {
		out := words[step*slots : (step+1)*slots]
		for i := range out {
			out[i] = absent
		}
		next := make([]int, slots/warpSlots) // free slot of each warp
		all := 0
		pairsOf(s, order, step, func(p, q int) {
			at := all
			all++
			if warp != nil {
				w := warp[p]
				at = w*warpSlots + next[w]
				next[w]++
			}
			out[at] = uint32(p) | uint32(q)<<columnBits
		})
		if step == start+n-1 {
			for i := range out {
				out[i] |= meet
			}
		}
	}
}
