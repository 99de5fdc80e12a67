package node

import (
	"fmt"

	"jmpi/strategy"
)

// Program is one sweep of the fine ordering, cut into macro steps.
type Program struct {
	Layout Layout
	Outer  *strategy.Table // the pairs of macro block-columns, one p-step a macro step
	Macro  []MacroStep     // as many as Outer has p-steps
	// Covering is the number of sub-steps, from the start of a sweep, that meet all block-columns: 1, or 2 where
	// the ordering is divided, and some rest in the first one.
	Covering int
}

// MacroStep holds the sub-steps that run between two exchanges: pairs of narrow block-columns that lie in the
// macro block-columns of one device.
type MacroStep struct {
	Fine [][]strategy.Pair
}

// NewProgram makes the program of a strategy. With one device the fine ordering is the strategy of order
// l.Columns/l.Parts itself, divided by l.Parts. With more the expansion of the strategy of order l.Macros
// ([Nov15, Alg. 3.2]) is what is divided. The sub-steps inside the macro block-columns belong to the first
// macro step, or, for reversed strategies, to the last. For the row- and column-cyclic strategies and their
// reverses the two are the same when l.Columns/l.Parts is a power of two.
func NewProgram(name string, l Layout) (*Program, error) {
	if l.Macros == 2 {
		fine, err := ordering(name, l.Columns)
		if err != nil {
			return nil, fmt.Errorf("node: fine ordering: %w", err)
		}
		whole := &strategy.Table{Name: name, N: 2, Steps: [][]strategy.Pair{{{P: 0, Q: 1}}}}
		return &Program{Layout: l, Outer: whole, Macro: []MacroStep{{Fine: fine.Steps}},
			Covering: covering(fine)}, nil
	}
	outer, err := strategy.New(name, l.Macros)
	if err != nil {
		return nil, fmt.Errorf("node: outer ordering: %w", err)
	}
	p := &Program{Layout: l, Outer: outer, Macro: make([]MacroStep, len(outer.Steps))}
	fine := outer
	for err == nil && fine.N*l.Parts < l.Columns {
		fine, err = fine.Expand()
	}
	if err == nil {
		fine, err = fine.Divide(l.Parts)
	}
	if err != nil {
		return nil, fmt.Errorf("node: fine ordering: %w", err)
	}
	p.Covering = covering(fine)
	crossed := 0
	for _, step := range fine.Steps {
		s := min(crossed/l.PerMacro, len(p.Macro)-1)
		p.Macro[s].Fine = append(p.Macro[s].Fine, step)
		if l.crosses(step[0]) {
			crossed++
		}
	}
	if crossed != l.PerMacro*len(outer.Steps) {
		return nil, fmt.Errorf("node: %s of order %d has %d sub-steps across macro block-columns, want %d",
			fine.Name, fine.N, crossed, l.PerMacro*len(outer.Steps))
	}
	return p, nil
}

// ordering returns the strategy of so many block-columns of one device: that of the power of two among their
// factors, divided by the odd one.
func ordering(name string, columns int) (*strategy.Table, error) {
	whole := columns & -columns
	t, err := strategy.New(name, whole)
	if err != nil {
		return nil, err
	}
	return t.Divide(columns / whole)
}

// covering returns the number of p-steps, from the first, that meet all indices.
func covering(t *strategy.Table) int {
	met, left := make([]bool, t.N), t.N
	for s, step := range t.Steps {
		for _, pair := range step {
			for _, i := range []int{pair.P, pair.Q} {
				if !met[i] {
					met[i], left = true, left-1
				}
			}
		}
		if left == 0 {
			return s + 1
		}
	}
	return len(t.Steps)
}

// SubSteps returns the number of sub-steps of a sweep.
func (p *Program) SubSteps() (n int) {
	for _, m := range p.Macro {
		n += len(m.Fine)
	}
	return n
}

// crosses says whether the pair lies in two macro block-columns.
func (l Layout) crosses(p strategy.Pair) bool { return p.P/l.PerMacro != p.Q/l.PerMacro }

// Order returns how many matrix columns the pivot problem of a pair has.
func (l Layout) Order(p strategy.Pair) int {
	return l.Start(p.P+1) - l.Start(p.P) + l.Start(p.Q+1) - l.Start(p.Q)
}
