package strategy

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Reverse returns the strategy that meets the pairs of t in the opposite order, [Nov15, §3]:
// the p-steps are turned, and the pairs in each of them. The name gains or loses "rev-".
func (t *Table) Reverse() *Table {
	r := &Table{N: t.N, Steps: make([][]Pair, len(t.Steps)), kind: t.kind}
	r.kind.reversed = !t.kind.reversed
	for i, step := range t.Steps {
		turned := slices.Clone(step)
		slices.Reverse(turned)
		r.Steps[len(t.Steps)-1-i] = turned
	}
	if forward, ok := strings.CutPrefix(t.Name, "rev-"); ok {
		r.Name = forward
	} else {
		r.Name = "rev-" + t.Name
	}
	return r
}

func reversed(t *Table, err error) (*Table, error) {
	if err != nil {
		return nil, err
	}
	return t.Reverse(), nil
}

// Validate returns nil if t is a parallel strategy, else ErrInvalid, wrapped, with the place. With
// [Nov15, (3.1)], order n:
//   - each p-step has ⌊n/2⌋ pairs p < q, no index twice;
//   - cyclic: each pair is met exactly once, in n−1 p-steps (n even) or n (n odd; none for n = 1);
//   - quasi-cyclic (mmstep of even order): each pair is met at least once, in n p-steps; an
//     expansion has one more each time;
//   - divided (Divide): one p-step more, and those inside the blocks leave one index of each block out.
func (t *Table) Validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s of order %d: %w: %s", t.Name, t.N, ErrInvalid, fmt.Sprintf(format, args...))
	}
	n := t.N
	if n < 1 || n > MaxOrder {
		return fail("the order must be 1 to %d", MaxOrder)
	}
	if want := t.length(); len(t.Steps) != want {
		return fail("%d p-steps, not %d", len(t.Steps), want)
	}
	met := make([]bool, n*n)
	for s, step := range t.Steps {
		if want := t.pairs(s); len(step) != want {
			return fail("%d pairs in p-step %d, not %d", len(step), s+1, want)
		}
		busy := make([]bool, n)
		for _, p := range step {
			switch {
			case p.P < 0 || p.Q <= p.P || p.Q >= n:
				return fail("p-step %d: %d-%d is not a pair p < q of indices 1 to %d", s+1, p.P+1, p.Q+1, n)
			case busy[p.P] || busy[p.Q]:
				return fail("p-step %d: an index of %d-%d is in another pair", s+1, p.P+1, p.Q+1)
			case met[p.P*n+p.Q] && !t.kind.quasi:
				return fail("p-step %d: %d-%d was met before", s+1, p.P+1, p.Q+1)
			}
			busy[p.P], busy[p.Q], met[p.P*n+p.Q] = true, true, true
		}
	}
	for p := range n {
		for q := p + 1; q < n; q++ {
			if !met[p*n+q] {
				return fail("%d-%d is never met", p+1, q+1)
			}
		}
	}
	return nil
}

// pairs is the number of pairs that p-step s of a strategy like t must have.
func (t *Table) pairs(s int) int {
	if t.kind.reversed {
		s = t.length() - 1 - s
	}
	if parts := t.kind.parts; s < parts {
		return t.N / parts * (parts / 2)
	}
	return t.N / 2
}

// length is the number of p-steps that a strategy like t must have.
func (t *Table) length() int {
	if parts := t.kind.parts; parts > 0 {
		whole := Table{N: t.N / parts, kind: t.kind}
		whole.kind.parts = 0
		return parts * (whole.length() + 1)
	}
	switch {
	case t.N == 1:
		return 0
	case t.kind.quasi:
		return t.N - 1 + 1<<t.kind.folds
	case t.N%2 == 0:
		return t.N - 1
	default:
		return t.N
	}
}

// WriteText writes the p-steps, one a line, as 1-based pairs in the strategy's own order: "1-2 3-4 5-6".
func (t *Table) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, step := range t.Steps {
		line := b.AvailableBuffer()
		for i, p := range step {
			if i > 0 {
				line = append(line, ' ')
			}
			line = strconv.AppendInt(line, int64(p.P)+1, 10)
			line = append(line, '-')
			line = strconv.AppendInt(line, int64(p.Q)+1, 10)
		}
		b.Write(append(line, '\n'))
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write strategy %s of order %d: %w", t.Name, t.N, err)
	}
	return nil
}

// String returns the text of WriteText.
func (t *Table) String() string {
	var b strings.Builder
	_ = t.WriteText(&b) // a Builder does not fail
	return b.String()
}
