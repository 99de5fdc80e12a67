package node

import (
	"math"

	"jmpi/strategy"
)

// Layout is the partition of n columns into narrow block-columns, and of these into macro block-columns.
// The widths of the narrow ones differ by at most one; with fewer columns than block-columns some are empty.
type Layout struct {
	N        int // columns of the matrix
	Columns  int // narrow block-columns, Macros·PerMacro
	Macros   int // macro block-columns, 2 a device
	PerMacro int // c, a power of two
}

// NewLayout chooses the number of narrow block-columns. Where the number of devices allows it, the number
// follows from n alone: it is the power of two that puts n/Columns nearest to width (by ratio). So 1, 2, 4, 8
// … devices run the same ordering. Otherwise it is 2·devices·2^j.
func NewLayout(n, devices, width int) Layout {
	macros := 2 * devices
	base := macros
	if macros&(macros-1) == 0 {
		base = 2
	}
	columns := base
	for distance(n, 2*columns, width) < distance(n, columns, width) {
		columns *= 2
	}
	columns = max(columns, macros)
	return Layout{N: n, Columns: columns, Macros: macros, PerMacro: columns / macros}
}

// distance measures how far the width n/columns is from the preferred one.
func distance(n, columns, width int) float64 {
	return math.Abs(math.Log(float64(n) / float64(columns) / float64(width)))
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
