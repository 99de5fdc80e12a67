package topology

import (
	"errors"
	"slices"
	"testing"
)

// Each fault that Validate looks for, put into a good plan.
func TestValidateFindsFaults(t *testing.T) {
	table := mustTable(t, "rev-rowcyc", 8)
	good := func() *Plan {
		p := mustPlan(t, table, mustGroups(t, 6, 2), Options{Sweeps: 2})
		for i := range p.Steps { // the pairs are shared between sweeps
			p.Steps[i].Pairs = slices.Clone(p.Steps[i].Pairs)
			p.Steps[i].Device = slices.Clone(p.Steps[i].Device)
		}
		return p
	}
	for name, spoil := range map[string]func(p *Plan){
		"no steps":           func(p *Plan) { p.Steps = nil },
		"part of a sweep":    func(p *Plan) { p.Steps = p.Steps[:9] },
		"other order":        func(p *Plan) { p.Columns = 10 },
		"steps out of order": func(p *Plan) { p.Steps[2], p.Steps[3] = p.Steps[3], p.Steps[2] },
		"wrong pair":         func(p *Plan) { p.Steps[4].Pairs[1] = [2]int{0, 1} },
		"pairs in another order": func(p *Plan) {
			s := p.Steps[4]
			s.Pairs[0], s.Pairs[1] = s.Pairs[1], s.Pairs[0]
		},
		"missing device":      func(p *Plan) { p.Steps[4].Device = p.Steps[4].Device[:3] },
		"device twice":        func(p *Plan) { p.Steps[4].Device[0] = p.Steps[4].Device[1] },
		"no such device":      func(p *Plan) { p.Steps[4].Device[0] = 6 },
		"swapped devices":     func(p *Plan) { d := p.Steps[4].Device; d[0], d[1] = d[1], d[0] },
		"missing move":        func(p *Plan) { p.Steps[4].Moves = p.Steps[4].Moves[1:] },
		"missing wrap":        func(p *Plan) { p.Steps[13].Moves = nil },
		"move twice":          func(p *Plan) { m := &p.Steps[4].Moves; *m = append(*m, (*m)[0]) },
		"move from elsewhere": func(p *Plan) { p.Steps[4].Moves[0].From ^= 1 },
		"move to elsewhere":   func(p *Plan) { p.Steps[4].Moves[0].To = 5 },
		"move to itself":      func(p *Plan) { p.Steps[4].Moves[0].To = p.Steps[4].Moves[0].From },
		"move beyond":         func(p *Plan) { p.Steps[13].Moves[0].To = 9 },
		"no such column":      func(p *Plan) { p.Steps[4].Moves[0].Column = 8 },
	} {
		p := good()
		spoil(p)
		if err := p.Validate(table); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := good().Validate(table); err != nil {
		t.Error(err)
	}
}

// A device that sends both columns of its pair breaks the rule of [Nov15, §5], even if all arrives.
func TestValidateWantsAColumnKept(t *testing.T) {
	table := mustTable(t, "rev-rowcyc", 4)
	p := mustPlan(t, table, mustGroups(t, 4, 4), Options{Sweeps: 1})
	idle := []int{2, 3}
	used := p.Steps[0].Device
	if slices.Contains(used, 2) || slices.Contains(used, 3) {
		t.Fatalf("devices %v", used)
	}
	last := &p.Steps[len(p.Steps)-1]
	last.Moves = nil
	for i, pair := range p.Steps[0].Pairs {
		at := last.columns(4)
		for _, c := range pair {
			last.Moves = append(last.Moves, Move{Column: c, From: at[c], To: idle[i]})
		}
	}
	if err := p.Validate(table); !errors.Is(err, ErrPlan) {
		t.Errorf("%v", err)
	}
}
