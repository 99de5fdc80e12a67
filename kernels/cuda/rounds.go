package cuda

import (
	"slices"

	"jmpi/kernels"
)

const (
	warpPairs    = 8  // pairs of a p-step that a warp works on, and p-steps of a round at most
	smallestSize = 32 // of a factor, for the kernels
)

// round is a number of p-steps after each other in which the columns fall into groups that a warp can keep
// for itself, n p-steps making groups of 2n columns. columns has, for every warp, warpPairs numbers of
// columns on the left and as many on the right. In p-step t of the round, from 0, number s on the left is
// paired with number s⊕t on the right; the column on the left has the lower number. size stands for no
// column.
type round struct {
	steps   int
	columns []byte
}

// rounds cuts a schedule for factors of that size into rounds. Pairs with a column beyond it are left out.
// For the row-cyclic strategy of an order 2ᵏ and its kin, where p-step j pairs the columns i and i⊕j, most
// rounds have eight p-steps, j = 8a … 8a+7. For most others every p-step is a round.
func rounds(s *kernels.Schedule, size int) []round {
	steps := len(s.Pairs) / max(s.Order, 1)
	partners := make([][]int, steps) // of each column, -1 for none
	for step := range partners {
		partners[step] = partnersOf(s, size, step)
	}
	var list []round
	for start := 0; start < steps; {
		n := warpPairs
		var columns []byte
		for ; ; n /= 2 {
			if n <= steps-start {
				if columns = groups(partners[start:start+n], size); columns != nil {
					break
				}
			}
		}
		list = append(list, round{n, columns})
		start += n
	}
	return list
}

func partnersOf(s *kernels.Schedule, size, step int) []int {
	partners := make([]int, size)
	for j := range partners {
		partners[j] = -1
	}
	for i := step * s.Order; i < (step+1)*s.Order; i += 2 {
		if p, q := int(s.Pairs[i]), int(s.Pairs[i+1]); q < size {
			partners[p], partners[q] = q, p
		}
	}
	return partners
}

// groups puts the columns of n p-steps into groups, warpPairs/n to a warp; nil if that cannot be. One p-step
// always can.
func groups(partners [][]int, size int) []byte {
	columns := slices.Repeat([]byte{byte(size)}, size)
	taken := make([]bool, size)
	pairs := 0 // that have their place
	for first := range size {
		if taken[first] || !slices.ContainsFunc(partners, func(p []int) bool { return p[first] >= 0 }) {
			continue
		}
		left, right, ok := group(partners, first)
		if !ok {
			return nil
		}
		place := columns[pairs/warpPairs*2*warpPairs+pairs%warpPairs:]
		for s := range left {
			place[s], place[warpPairs+s] = byte(left[s]), byte(right[s])
			taken[left[s]], taken[right[s]] = true, true
		}
		pairs += len(left)
	}
	return columns
}

// group returns the columns that some p-steps connect with a column, the first on the left; !ok if they do
// not connect them as those of a round must be.
func group(partners [][]int, first int) (left, right []int, ok bool) {
	for _, p := range partners {
		if p[first] < 0 || partners[0][p[first]] < 0 {
			return nil, nil, false
		}
		left, right = append(left, partners[0][p[first]]), append(right, p[first])
	}
	for t, p := range partners {
		for s, j := range left {
			if p[j] != right[s^t] || j >= p[j] {
				return nil, nil, false
			}
		}
	}
	return left, right, true
}
