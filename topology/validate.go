package topology

import (
	"errors"
	"fmt"

	"jmpi/strategy"
)

// ErrPlan reports a plan that must not be executed.
var ErrPlan = errors.New("topology: invalid plan")

// Validate reports the first fault of a plan for the table. Every step must have the table's pairs, each on a
// device of its own. The moves must be exactly what leads to the next step, or from the last step to the
// first pairs of a next sweep. A device whose pair changes must keep one column of it and send the other. The
// error is ErrPlan, wrapped, with 1-based sweep, p-step and columns.
func (p *Plan) Validate(table *strategy.Table) error {
	if p.Columns != table.N || len(p.Steps) == 0 || len(p.Steps)%len(table.Steps) != 0 {
		return fmt.Errorf("%w: %d steps on %d columns for %s of order %d with %d p-steps",
			ErrPlan, len(p.Steps), p.Columns, table.Name, table.N, len(table.Steps))
	}
	for _, validate := range []func(int, *strategy.Table) error{p.validateStep, p.validateMoves} {
		for i, step := range p.Steps {
			if err := validate(i, table); err != nil {
				return fmt.Errorf("%w: sweep %d, p-step %d: %w", ErrPlan, step.Sweep+1, step.Step+1, err)
			}
		}
	}
	return nil
}

func (p *Plan) validateStep(i int, table *strategy.Table) error {
	step := p.Steps[i]
	sweep, at := i/len(table.Steps), i%len(table.Steps)
	if step.Sweep != sweep || step.Step != at {
		return fmt.Errorf("it stands where sweep %d, p-step %d belongs", sweep+1, at+1)
	}
	if len(step.Pairs) != len(table.Steps[at]) || len(step.Device) != len(step.Pairs) {
		return fmt.Errorf("%d pairs on %d devices, the table has %d pairs", len(step.Pairs), len(step.Device),
			len(table.Steps[at]))
	}
	busy := make([]bool, p.Devices)
	for j, want := range table.Steps[at] {
		if step.Pairs[j] != [2]int{want.P, want.Q} {
			return fmt.Errorf("pair %d is %d-%d, the table has %d-%d", j+1, step.Pairs[j][0]+1, step.Pairs[j][1]+1,
				want.P+1, want.Q+1)
		}
		d := step.Device[j]
		if d < 0 || d >= p.Devices || busy[d] {
			return fmt.Errorf("pair %d-%d is on device %d, which does not exist or has another pair", want.P+1,
				want.Q+1, d)
		}
		busy[d] = true
	}
	return nil
}

// validateMoves checks the moves after step i, if the pairs and devices of all steps are right.
func (p *Plan) validateMoves(i int, table *strategy.Table) error {
	step := p.Steps[i]
	at := step.columns(p.Columns)
	moved := make([]bool, p.Columns)
	for _, m := range step.Moves {
		if m.Column < 0 || m.Column >= p.Columns || moved[m.Column] || m.From != at[m.Column] || m.To == m.From ||
			m.To < 0 || m.To >= p.Devices {
			return fmt.Errorf("column %d cannot move from device %d to %d", m.Column+1, m.From, m.To)
		}
		moved[m.Column] = true
		at[m.Column] = m.To
	}
	pairOf := map[int][2]int{} // old pair of each device
	for j, pair := range step.Pairs {
		pairOf[step.Device[j]] = pair
	}
	busy := make([]bool, p.Devices)
	for j, next := range table.Steps[(i+1)%len(table.Steps)] {
		d := at[next.P]
		if at[next.Q] != d || busy[d] {
			return fmt.Errorf("columns %d and %d of the next p-step are on devices %d and %d, not alone on one",
				next.P+1, next.Q+1, d, at[next.Q])
		}
		busy[d] = true
		if i+1 < len(p.Steps) && p.Steps[i+1].Device[j] != d {
			return fmt.Errorf("the next pair %d-%d is brought to device %d", next.P+1, next.Q+1, d)
		}
		old, used := pairOf[d]
		same := old == [2]int{next.P, next.Q}
		if !used || moved[old[0]] && moved[old[1]] || same && (moved[next.P] || moved[next.Q]) {
			return fmt.Errorf("device %d keeps no column, or exchanges one for nothing", d)
		}
	}
	return nil
}
