package strategy

// Pair is a pivot pair of 0-based indices, P < Q.
type Pair struct{ P, Q int }

// Table is a pivot strategy: its p-steps, in each of them disjoint pairs in the strategy's own order.
type Table struct {
	Name  string
	N     int // order; for odd N one index rests in each p-step
	Steps [][]Pair
}
