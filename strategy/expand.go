package strategy

import (
	"fmt"
	"strings"
)

// Expand returns the strategy of order 2N that Alg. 3.2 of [Nov15] makes of t, of even order N (or 1).
// Each index becomes a block of two. The first p-step meets the pairs inside the
// blocks. Then every p-step of t becomes two: NW and SE of each 2×2 block, and NE and
// SW (in the column family SW and NE):
//
//	(p,q) → NW = (2p, 2q)   NE = (2p, 2q+1)
//	        SW = (2p+1, 2q) SE = (2p+1, 2q+1)      (0-based)
//
// The expansion of a reversed strategy is the reverse of the expansion of the forward one. For
// orders 2^k the expansion of rowcyc is rowcyc itself; in general it is another strategy, the closest
// among the block strategies only. The name gains "-expanded" once.
// An odd order above 1, or a table that is divided, gives ErrOrder: the index that rests would become two.
func (t *Table) Expand() (*Table, error) {
	if t.N > 1 && t.N%2 != 0 {
		return nil, fmt.Errorf("expand %s of order %d: %w: it must be even", t.Name, t.N, ErrOrder)
	}
	if t.kind.parts > 0 {
		return nil, fmt.Errorf("expand %s of order %d: %w: its indices are divided", t.Name, t.N, ErrOrder)
	}
	if t.N > MaxOrder/2 {
		return nil, fmt.Errorf("expand %s of order %d: %w: the result must not exceed %d", t.Name, t.N, ErrOrder,
			MaxOrder)
	}
	if t.kind.reversed {
		forward, err := t.Reverse().Expand()
		return reversed(forward, err)
	}
	e := &Table{Name: t.Name, N: 2 * t.N, kind: t.kind}
	e.kind.folds++
	if !strings.HasSuffix(e.Name, "-expanded") {
		e.Name += "-expanded"
	}
	diagonal := make([]Pair, t.N)
	for k := range diagonal {
		diagonal[k] = Pair{2 * k, 2*k + 1}
	}
	e.Steps = append(e.Steps, diagonal)
	for _, step := range t.Steps {
		main, anti := make([]Pair, 0, t.N), make([]Pair, 0, t.N)
		for _, b := range step {
			nw, se := Pair{2 * b.P, 2 * b.Q}, Pair{2*b.P + 1, 2*b.Q + 1}
			ne, sw := Pair{2 * b.P, 2*b.Q + 1}, Pair{2*b.P + 1, 2 * b.Q}
			main = append(main, nw, se)
			if t.kind.column {
				anti = append(anti, sw, ne)
			} else {
				anti = append(anti, ne, sw)
			}
		}
		e.Steps = append(e.Steps, main, anti)
	}
	return e, nil
}

// expanded returns the strategy of even order n = 2^k·o, o odd, that k−1 expansions make of
// the closest strategy of order 2o, [Nov15, §3].
func expanded(s sequence, n int) (*Table, error) {
	folds := 0
	for n%4 == 0 {
		n /= 2
		folds++
	}
	t, err := closest(s, n)
	for range folds {
		if err != nil {
			break
		}
		t, err = t.Expand()
	}
	return t, err
}
