package strategy

import (
	"cmp"
	"math/bits"
	"slices"
)

// sequence is the sequential cyclic strategy 𝒪 that a parallel one is closest to.
type sequence int

const (
	rowCyclic    sequence = iota // ℛ: (1,2), (1,3), …, (1,n), (2,3), …
	columnCyclic                 // 𝒞: (1,2), (1,3), (2,3), (1,4), …
)

// compare orders pairs as the sequence does.
func (s sequence) compare(a, b Pair) int {
	if s == columnCyclic {
		return cmp.Or(a.Q-b.Q, a.P-b.P)
	}
	return cmp.Or(a.P-b.P, a.Q-b.Q)
}

// pairs returns the sweep of the sequence, τ = n(n−1)/2 pairs.
func (s sequence) pairs(n int) []Pair {
	pairs := make([]Pair, 0, n*(n-1)/2)
	for p := range n {
		for q := p + 1; q < n; q++ {
			pairs = append(pairs, Pair{p, q})
		}
	}
	slices.SortFunc(pairs, s.compare)
	return pairs
}

// closest returns the parallel strategy of even order n that is closest to s in the sense of
// [Nov15, Def. 3.1].
func closest(s sequence, n int) (*Table, error) {
	t := &Table{N: n, kind: kind{column: s == columnCyclic}}
	if n&(n-1) == 0 {
		t.Steps = closestPowerOfTwo(s, n)
		return t, nil
	}
	var err error
	t.Steps, err = search(s, n)
	return t, err
}

// closestPowerOfTwo gives the result of Alg. 3.1 in closed form: in p-step j = 1 … n−1 index i meets i⊕j.
func closestPowerOfTwo(s sequence, n int) [][]Pair {
	steps := make([][]Pair, n-1)
	for j := range steps {
		steps[j] = xorStep(s, n, j+1)
	}
	return steps
}

// xorStep returns the n/2 pairs (i, i⊕j) in the order of s, n a power of two, 0 < j < n.
func xorStep(s sequence, n, j int) []Pair {
	step := make([]Pair, 0, n/2)
	top := 1 << (bits.Len(uint(j)) - 1) // set in the larger index of a pair only
	for i := range n {
		switch larger := i&top != 0; {
		case larger && s == columnCyclic:
			step = append(step, Pair{i ^ j, i})
		case !larger && s == rowCyclic:
			step = append(step, Pair{i, i ^ j})
		}
	}
	return step
}
