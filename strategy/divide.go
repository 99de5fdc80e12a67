package strategy

import "fmt"

// Divide returns the strategy of order parts·N in which each index of t, of even order N, becomes a block
// of so many, an odd number. It does for odd numbers what Expand does for two. In the first `parts`
// p-steps the pairs inside the blocks meet, i and j of a block in p-step (i+j) mod parts, so that one
// index of each block rests. Then every p-step of t becomes `parts`: i of block p meets j of block q in
// the one of number (i+j) mod parts. All pairs are met once, in one p-step more than the N·parts − 1 that
// there must be.
//
// The division of a reversed strategy is the reverse of the division of the forward one.
func (t *Table) Divide(parts int) (*Table, error) {
	switch {
	case parts == 1:
		return t, nil
	case parts < 1 || parts%2 == 0:
		return nil, fmt.Errorf("divide the indices of %s by %d: %w: it must be odd", t.Name, parts, ErrOrder)
	case t.N%2 != 0 || t.kind.parts > 0:
		return nil, fmt.Errorf("divide the indices of %s of order %d: %w: it must be even, and not be divided yet",
			t.Name, t.N, ErrOrder)
	case t.N > MaxOrder/parts:
		return nil, fmt.Errorf("divide the indices of %s of order %d by %d: %w: the result must not exceed %d",
			t.Name, t.N, parts, ErrOrder, MaxOrder)
	case t.kind.reversed:
		forward, err := t.Reverse().Divide(parts)
		return reversed(forward, err)
	}
	d := &Table{Name: t.Name, N: parts * t.N, kind: t.kind}
	d.kind.parts = parts
	for sum := range parts {
		var inside []Pair
		for b := range t.N {
			for i := range parts {
				if j := (sum - i + parts) % parts; i < j {
					inside = append(inside, Pair{parts*b + i, parts*b + j})
				}
			}
		}
		d.Steps = append(d.Steps, inside)
	}
	for _, step := range t.Steps {
		for s := range parts {
			across := make([]Pair, 0, parts*len(step))
			for _, b := range step {
				for i := range parts {
					across = append(across, Pair{parts*b.P + i, parts*b.Q + (s-i+parts)%parts})
				}
			}
			d.Steps = append(d.Steps, across)
		}
	}
	return d, nil
}
