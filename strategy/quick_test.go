package strategy

import (
	"slices"
	"strings"
	"testing"
)

// Every even order has a table that needs no search, or one of an order up to quickOrder; where the strategy
// itself is found soon, it is taken.
func TestQuickSearchesLittle(t *testing.T) {
	for _, name := range []string{"rowcyc", "rev-rowcyc"} {
		for n := 2; n <= MaxOrder; n += 2 {
			quick := Quick(name, n)
			if (n <= quickOrder && !slices.Contains(slowOrders, n) || n&(n-1) == 0) != (quick == name) {
				t.Errorf("%s of order %d: %s", name, n, quick)
			}
			if quick == "mmstep" {
				continue
			}
			if strings.HasPrefix(quick, "rev-") != strings.HasPrefix(name, "rev-") {
				t.Errorf("%s of order %d: %s", name, n, quick)
			}
			searched := n
			for strings.HasSuffix(quick, "-expanded") && searched%4 == 0 {
				searched /= 2
			}
			slow := strings.Contains(quick, "rowcyc") && slices.Contains(slowOrders, searched)
			if n&(n-1) != 0 && (searched > quickOrder || slow) {
				t.Errorf("%s of order %d: %s must be searched for of order %d", name, n, quick, searched)
			}
		}
	}
}

// Where Quick takes a strategy that must be searched for, 5·10⁹ edges are enough: for the largest order, and
// for 𝒞 where the order is slow. There they are not enough for ℛ.
func TestQuickIsFoundSoon(t *testing.T) {
	const enough = 5_000_000_000
	found := func(s sequence, n int) bool {
		g := newRemaining(s, n)
		g.effort = enough
		_, ok := g.generate(nil)
		return ok
	}
	for _, n := range slowOrders {
		if !found(columnCyclic, n) {
			t.Errorf("order %d: not found for 𝒞", n)
		}
	}
	if !found(rowCyclic, quickOrder) {
		t.Errorf("order %d: not found", quickOrder)
	}
	if n := slowOrders[0]; found(rowCyclic, n) {
		t.Errorf("order %d is not slow", n)
	}
}

// The tables that stand for others are strategies, of large orders of each kind.
func TestQuickTables(t *testing.T) {
	for _, n := range []int{138, 322, 324, 400, 552, 640} {
		for _, name := range []string{"rowcyc", "rev-rowcyc"} {
			if err := rules(mustNew(t, Quick(name, n), n)); err != nil {
				t.Errorf("%s for %s, order %d: %v", Quick(name, n), name, n, err)
			}
		}
	}
}
