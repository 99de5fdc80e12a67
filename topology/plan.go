package topology

// Move carries a block-column from one device to another, between two macro steps.
type Move struct {
	Column   int  // 0-based macro block-column
	From, To int  // 0-based devices
	Slow     bool // crosses a group
}

// Step is a macro step: which device orthogonalizes which pivot pair, and what moves after it.
type Step struct {
	Sweep, Step int      // 0-based; Step counts the p-steps within the sweep
	Pairs       [][2]int // pivot pairs p < q, in the strategy's order
	Device      []int    // Device[i] works on Pairs[i]
	Moves       []Move   // the exchange that leads to the next step; empty after the last
}

// Plan is an exchange plan as a value: it can be printed, tested and diffed; dist only executes it.
type Plan struct {
	Devices int
	Columns int // macro block-columns, 2·Devices
	Steps   []Step
}
