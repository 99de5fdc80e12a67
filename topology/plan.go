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
	Pairs       [][2]int // pivot pairs p < q, in the strategy's order; shared between sweeps, read only
	Device      []int    // Device[i] works on Pairs[i]
	Moves       []Move   // by ascending column; leads to the next step, after the last one to a next sweep
}

// Plan is an exchange plan as a value: it can be printed, tested and diffed; dist only executes it.
type Plan struct {
	Devices int // of the network; some are idle if there are fewer pairs
	Columns int // macro block-columns, at most 2·Devices
	Steps   []Step
}

// Traffic counts exchanges over a whole plan.
type Traffic struct {
	Sweeps      int
	Phases      int // exchanges between consecutive p-steps, the wraps into next sweeps included
	SlowPhases  int // phases in which some move crosses a group
	Columns     int // block-columns moved
	SlowColumns int // block-columns that crossed a group
	Busiest     int // block-columns sent by the device that sends most
}

// Traffic counts the exchanges of the plan.
func (p *Plan) Traffic() Traffic {
	var t Traffic
	sent := make([]int, p.Devices)
	for _, step := range p.Steps {
		slow := 0
		for _, m := range step.Moves {
			sent[m.From]++
			t.Busiest = max(t.Busiest, sent[m.From])
			if m.Slow {
				slow++
			}
		}
		t.Sweeps = step.Sweep + 1
		t.Phases++
		t.Columns += len(step.Moves)
		t.SlowColumns += slow
		if slow > 0 {
			t.SlowPhases++
		}
	}
	return t
}

// End returns where the pairs of the first p-step are after the last moves: the Start of the plan
// with which a run goes on.
func (p *Plan) End() []int {
	last := p.Steps[len(p.Steps)-1]
	at := last.columns(p.Columns)
	for _, m := range last.Moves {
		at[m.Column] = m.To
	}
	first := p.Steps[0]
	end := make([]int, len(first.Pairs))
	for i, pair := range first.Pairs {
		end[i] = at[pair[0]]
	}
	return end
}

// columns returns the device of each block-column during the step.
func (s *Step) columns(order int) []int {
	at := make([]int, order)
	for i, pair := range s.Pairs {
		at[pair[0]], at[pair[1]] = s.Device[i], s.Device[i]
	}
	return at
}
