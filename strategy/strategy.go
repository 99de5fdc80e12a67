package strategy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxOrder is the largest order of a table. At 16384 a table has 134 million pairs (2 GiB).
const MaxOrder = 1 << 14

var (
	// ErrName reports a strategy name that is not in Names.
	ErrName = errors.New("unknown strategy")
	// ErrOrder reports an order for which the strategy does not exist.
	ErrOrder = errors.New("the strategy does not exist for this order")
	// ErrSearch reports that Alg. 3.1 was given up: the order is too large for the search.
	ErrSearch = errors.New("the search for the closest strategy takes too long")
	// ErrInvalid reports a table that is not a parallel strategy.
	ErrInvalid = errors.New("not a parallel strategy")
)

// Pair is a pivot pair of 0-based indices, P < Q.
type Pair struct{ P, Q int }

// Table is a pivot strategy: its p-steps, in each of them disjoint pairs in the strategy's own order.
type Table struct {
	Name  string
	N     int // order; for odd N one index rests in each p-step
	Steps [][]Pair

	kind kind
}

// kind holds what Expand, Divide, Reverse and Validate must know besides the pairs.
// The zero value is a cyclic strategy that runs forward and expands by the rule for rows.
type kind struct {
	column   bool // Alg. 3.2 appends SW before NE
	reversed bool // the table is the reverse of a forward one
	quasi    bool // quasi-cyclic: n p-steps, some pairs met twice
	folds    int  // expansions since the base table
	parts    int  // each index of another table has become so many (Divide); 0: one
}

// families has one entry per strategy: its name, and what builds its p-steps for even order n.
var families = []struct {
	name  string
	build func(n int) (*Table, error)
}{
	{"rowcyc", func(n int) (*Table, error) { return closest(rowCyclic, n) }},
	{"colcyc", func(n int) (*Table, error) { return closest(columnCyclic, n) }},
	{"rev-rowcyc", func(n int) (*Table, error) { return reversed(closest(rowCyclic, n)) }},
	{"rev-colcyc", func(n int) (*Table, error) { return reversed(closest(columnCyclic, n)) }},
	{"rowcyc-expanded", func(n int) (*Table, error) { return expanded(rowCyclic, n) }},
	{"colcyc-expanded", func(n int) (*Table, error) { return expanded(columnCyclic, n) }},
	{"rev-rowcyc-expanded", func(n int) (*Table, error) { return reversed(expanded(rowCyclic, n)) }},
	{"rev-colcyc-expanded", func(n int) (*Table, error) { return reversed(expanded(columnCyclic, n)) }},
	{"br", func(n int) (*Table, error) { return &Table{Steps: blockRecursive(n)}, nil }},
	{"brentluk", func(n int) (*Table, error) { return &Table{Steps: brentLuk(n)}, nil }},
	{"mmstep", func(n int) (*Table, error) {
		return &Table{Steps: modulus(n), kind: kind{quasi: n%2 == 0}}, nil
	}},
	{"roundrobin", func(n int) (*Table, error) { return &Table{Steps: roundRobin(n)}, nil }},
}

// Names returns the names that New takes, in the order in which a user should see them.
func Names() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.name
	}
	return names
}

// New returns the strategy of that name and of order 1 ≤ n ≤ MaxOrder.
//
// The table of odd order n is the one of order n+1 without the pairs of the last index: the partner of that
// index rests. Only mmstep needs no such dummy: for odd n the modulus strategy exists as it is,
// cyclic, with n p-steps. A table of order 1 has no p-steps.
//
// The error is ErrName, ErrOrder (br takes powers of two only), or ErrSearch, wrapped.
// The closest strategies (rowcyc, colcyc and their reverses) must be searched for: all orders up
// to 128 and powers of two are quick, the other orders above may take seconds or end with ErrSearch. So may
// expanded ones of twice an odd order. Quick names one that is found soon.
func New(name string, n int) (*Table, error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return nil, fmt.Errorf("%w %q: use one of %s", ErrName, name, strings.Join(Names(), " "))
	}
	if n < 1 || n > MaxOrder {
		return nil, fmt.Errorf("strategy %s, order %d: %w: it must be 1 to %d", name, n, ErrOrder, MaxOrder)
	}
	if name == "br" && n&(n-1) != 0 {
		return nil, fmt.Errorf("strategy br, order %d: %w: it must be a power of two; %s has this order", n,
			ErrOrder, Quick("rev-rowcyc", n+n%2))
	}
	order := n + n%2
	if name == "mmstep" {
		order = n
	}
	t, err := families[i].build(order)
	if errors.Is(err, ErrSearch) {
		err = fmt.Errorf("%w; %s is found soon", err, Quick("rev-rowcyc", order))
	}
	if err != nil {
		return nil, fmt.Errorf("strategy %s, order %d: %w", name, n, err)
	}
	t.Name, t.N = name, n
	if order > n {
		t.rest(n)
	}
	if n == 1 {
		t.Steps = nil
	}
	return t, nil
}

// rest removes the pairs of the last index, dummy.
func (t *Table) rest(dummy int) {
	for i := range t.Steps {
		t.Steps[i] = slices.DeleteFunc(t.Steps[i], func(p Pair) bool { return p.Q == dummy })
	}
}
