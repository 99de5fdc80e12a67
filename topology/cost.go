package topology

import (
	"cmp"
	"fmt"

	"jmpi/strategy"
)

// Objective is what a plan minimises over all its phases.
type Objective int

const (
	// Phases minimises the number of slow phases, then that of slow block-columns.
	Phases Objective = iota
	// Columns minimises the number of block-columns that cross a group, then that of slow phases.
	Columns
	// Link minimises the sum over the phases of the cost of the slowest link in use, as if links
	// were not shared; then the cost of all moves together.
	Link
)

// ParseObjective returns the objective of that name: phases, columns or link.
func ParseObjective(name string) (Objective, error) {
	for o := Phases; o <= Link; o++ {
		if o.String() == name {
			return o, nil
		}
	}
	return 0, fmt.Errorf("unknown objective %q: use phases, columns or link", name)
}

func (o Objective) String() string { return [...]string{"phases", "columns", "link"}[o] }

// cost is compared by first, then by second.
type cost struct{ first, second int64 }

func (c cost) plus(d cost) cost   { return cost{c.first + d.first, c.second + d.second} }
func (c cost) times(n int64) cost { return cost{n * c.first, n * c.second} }
func (c cost) less(d cost) bool   { return c.compare(d) < 0 }
func (c cost) compare(d cost) int {
	return cmp.Or(cmp.Compare(c.first, d.first), cmp.Compare(c.second, d.second))
}

// tariff prices the moves of a phase.
type tariff struct {
	move     [][]int64 // move[a][b] between leaves a and b
	sumFirst bool
}

func newTariff(t *tree, levels []Level, o Objective) *tariff {
	f := &tariff{sumFirst: o == Columns, move: make([][]int64, len(t.level))}
	for a, row := range t.level {
		f.move[a] = make([]int64, len(row))
		for b, l := range row {
			switch {
			case o == Link:
				f.move[a][b] = levels[l].Cost
			case l > 0:
				f.move[a][b] = 1
			}
		}
	}
	return f
}

// add returns what further moves add to the cost of a phase whose dearest move so far is worst,
// and its dearest move then.
func (f *tariff) add(worst int64, moves []link, state []uint16) (cost, int64) {
	high, sum := worst, int64(0)
	for _, m := range moves {
		c := f.move[state[m.a]][state[m.b]]
		high = max(high, c)
		sum += c
	}
	return f.cost(high-worst, sum), high
}

// apart returns the cost of a phase that would bring the columns of each pair together.
func (f *tariff) apart(pairs []strategy.Pair, leaf []uint16) cost {
	var high, sum int64
	for _, p := range pairs {
		c := f.move[leaf[p.P]][leaf[p.Q]]
		high = max(high, c)
		sum += c
	}
	return f.cost(high, sum)
}

func (f *tariff) cost(high, sum int64) cost {
	if f.sumFirst {
		return cost{sum, high}
	}
	return cost{high, sum}
}
