package node

import (
	"math"

	"jmpi/strategy"
)

// Layout is the partition of n columns into narrow block-columns, and of these into macro block-columns.
// The widths of the narrow ones differ by at most one; with fewer columns than block-columns some are empty.
type Layout struct {
	N int // columns of the matrix
	Ordering
	Macros   int // macro block-columns, 2 a device
	PerMacro int // c = Columns/Macros = Parts·2^j
}

// Ordering names the fine ordering among those of a row- or column-cyclic strategy, for numbers of devices
// that are powers of two. Others may have orderings that differ and have these numbers in common: there
// the number of devices must be the same too.
type Ordering struct {
	Columns int // narrow block-columns
	Parts   int // one of parts: what the ordering is divided by (strategy.Table.Divide)
}

// parts are the numbers by which an ordering of at least leastDivided block-columns may be divided. So the
// number of block-columns is never far from what a width asks for.
var parts = []int{1, 3, 5}

const leastDivided = 8

// NewLayout chooses the number of narrow block-columns: Parts·2^k, or Parts·2·devices·2^j where the number of
// devices is no power of two. It is the one that puts n/Columns nearest to width (by ratio) of those that
// leave no block-column wider than most (0: any width); where these are more than a strategy may have, any
// width will do. Where the number of devices allows it, the number follows from n alone, so 1, 2, 4, 8 …
// devices run the same ordering.
func NewLayout(n, devices, width, most int) Layout {
	macros := 2 * devices
	whole := macros
	if macros&(macros-1) == 0 {
		whole = 2
	}
	var best Layout
	limit := max(macros, strategy.MaxOrder)
	for ; whole <= limit; whole *= 2 {
		for _, p := range parts {
			l := Layout{n, Ordering{whole * p, p}, macros, whole * p / macros}
			switch {
			case whole < macros, l.Columns > limit, p > 1 && whole < leastDivided, most > 0 && l.Width() > most:
			case best.Columns == 0 || l.distance(width) < best.distance(width):
				best = l
			}
		}
	}
	if best.Columns == 0 {
		return NewLayout(n, devices, width, 0)
	}
	return best
}

// distance measures how far the width n/Columns is from the preferred one.
func (l Layout) distance(width int) float64 {
	return math.Abs(math.Log(float64(l.N) / float64(l.Columns) / float64(width)))
}

// With returns the layout with another ordering, if the devices can have that.
func (l Layout) With(o Ordering) (Layout, bool) {
	whole := l.Macros * o.Parts
	for whole > 0 && whole < o.Columns {
		whole *= 2
	}
	if whole == 0 || whole != o.Columns {
		return l, false
	}
	l.Ordering, l.PerMacro = o, whole/l.Macros
	return l, true
}

// Start returns the first matrix column of narrow block-column j, 0 ≤ j ≤ Columns.
func (l Layout) Start(j int) int { return int(int64(j) * int64(l.N) / int64(l.Columns)) }

// Width returns the width of the widest narrow block-column.
func (l Layout) Width() int { return (l.N + l.Columns - 1) / l.Columns }

// ones returns how many columns of a pair of narrow block-columns have sign +1, if the leading
// `positive` columns of all have it.
func (l Layout) ones(p strategy.Pair, positive int) (n int) {
	for _, j := range []int{p.P, p.Q} {
		n += max(0, min(positive, l.Start(j+1))-l.Start(j))
	}
	return n
}

// Macro returns the matrix columns j0 ≤ j < j1 of macro block-column i.
func (l Layout) Macro(i int) (j0, j1 int) {
	return l.Start(i * l.PerMacro), l.Start((i + 1) * l.PerMacro)
}

// MacroWidth returns the width of the widest macro block-column.
func (l Layout) MacroWidth() int {
	w := 0
	for i := range l.Macros {
		j0, j1 := l.Macro(i)
		w = max(w, j1-j0)
	}
	return w
}
