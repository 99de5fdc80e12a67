package strategy

// blockRecursive returns the BR strategy of Mantharam and Eberlein (1993) of order n, a power of two.
//
// For h = n/2, n/4, …, 1 the block-columns of each group of 2h are divided into h that stay and h that walk
// through the nodes of a hypercube along the Gray code γ(k) = k ⊕ ⌊k/2⌋: in p-step k = 0 … h−1 index i
// meets i ⊕ (h + γ(k)). So the off-diagonal block of a group is met before its two diagonal blocks.
func blockRecursive(n int) [][]Pair {
	var steps [][]Pair
	for h := n / 2; h >= 1; h /= 2 {
		for k := range h {
			steps = append(steps, xorStep(rowCyclic, n, h+(k^k>>1)))
		}
	}
	return steps
}

// brentLuk returns the strategy of Brent and Luk (1985) of even order n. The indices stand in two rows,
// the pairs are the columns; between p-steps all but index 0 move one place round the ring:
//
//	0 2 4 6        0 1 2 4
//	1 3 5 7   →    3 5 7 6
func brentLuk(n int) [][]Pair {
	ring := make([]int, 0, n-1) // from the second place of the upper row, clockwise
	for i := 2; i < n; i += 2 {
		ring = append(ring, i)
	}
	for i := n - 1; i >= 1; i -= 2 {
		ring = append(ring, i)
	}
	return rotate(ring)
}

// roundRobin returns the round-robin tournament (Eberlein, 1987) of even order n: as
// brentLuk, but the ring starts in the natural order,
//
//	0 1 2 3        0 7 1 2
//	7 6 5 4   →    6 5 4 3
func roundRobin(n int) [][]Pair {
	ring := make([]int, n-1)
	for i := range ring {
		ring[i] = i + 1
	}
	return rotate(ring)
}

// rotate returns the n−1 p-steps of a ring of n−1 indices and the fixed index 0, which meets the last of
// the ring; the others meet across. Between p-steps the ring turns by one place.
func rotate(ring []int) [][]Pair {
	n := len(ring) + 1
	steps := make([][]Pair, n-1)
	for s := range steps {
		at := func(place int) int { return ring[(place-s+n-1)%(n-1)] }
		steps[s] = append(steps[s], Pair{0, at(n - 2)})
		for c := range n/2 - 1 {
			u, v := at(c), at(n-3-c)
			steps[s] = append(steps[s], Pair{min(u, v), max(u, v)})
		}
	}
	return steps
}

// modulus returns the (modified) modulus strategy of order n: in p-step s = 0 … n−1
// the indices with i + j ≡ s−1 (mod n) meet, antidiagonals of the matrix: the long part first, from its outer
// end inwards, then the short part, outwards.
//
// For odd n one index with 2i ≡ s−1 rests, each pair is met once. For even n every other p-step leaves two
// such indices, i and i + n/2. Modified, it lets them meet, between the two parts; they meet again in the
// p-step of 2i + n/2, so the strategy is quasi-cyclic.
func modulus(n int) [][]Pair {
	steps := make([][]Pair, n)
	for s := range steps {
		var step []Pair
		for i, j := s, n-1; i < j; i, j = i+1, j-1 {
			step = append(step, Pair{i, j})
		}
		if c := s + n - 1; n%2 == 0 && c%2 == 0 {
			step = append(step, Pair{c/2 - n/2, c / 2})
		}
		for i := s/2 - 1; i >= 0; i-- {
			step = append(step, Pair{i, s - 1 - i})
		}
		steps[s] = step
	}
	return steps
}
