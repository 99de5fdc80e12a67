package topology

import (
	"cmp"
	"slices"
)

// stateOf returns the state in which the pairs are on the given devices; nil for nil.
func (t *tree) stateOf(start []int) []uint16 {
	if start == nil {
		return nil
	}
	leaf := map[int]uint16{}
	for i, devices := range t.devices {
		for _, d := range devices {
			leaf[d] = uint16(i)
		}
	}
	state := make([]uint16, len(start)+1) // the last element is the mode, 0
	for i, d := range start {
		state[i] = leaf[d]
	}
	return state
}

// place gives each slot a device of its leaf, in ascending order.
func (t *tree) place(state []uint16) []int {
	taken := make([]int, len(t.devices))
	start := make([]int, len(state))
	for slot, leaf := range state {
		start[slot] = t.devices[leaf][taken[leaf]]
		taken[leaf]++
	}
	return start
}

// execute follows the path with devices in place of leaves. A path that is shorter than the sweeps is
// followed again and again.
func (s *search) execute(net *Network, start []int, p path, sweeps int) *Plan {
	plan := &Plan{Devices: net.Devices(), Columns: s.table.N}
	pairs := make([][][2]int, len(s.table.Steps))
	for i, step := range s.table.Steps {
		for _, pair := range step {
			pairs[i] = append(pairs[i], [2]int{pair.P, pair.Q})
		}
	}
	device, options := start, p.options
	for sweep := range sweeps {
		for i, t := range s.transitions {
			if len(options) == 0 {
				options = p.options
			}
			next := device
			mode := uint16(0)
			for l, layer := range t.layers {
				o := layer.options[mode][options[l]]
				after := make([]int, len(next))
				apply(t, l, o.turn, after, next)
				next, mode = after, o.mode
			}
			options = options[len(t.layers):]
			plan.Steps = append(plan.Steps, Step{
				Sweep: sweep, Step: i, Pairs: pairs[i], Device: device,
				Moves: moves(net, pairs[i], device, pairs[(i+1)%len(pairs)], next),
			})
			device = next
		}
	}
	return plan
}

// moves returns what leads from one map of pairs to devices to the next, by ascending column.
func moves(net *Network, old [][2]int, from []int, next [][2]int, to []int) []Move {
	at := make([]int, 2*len(old))
	for i, pair := range old {
		at[pair[0]], at[pair[1]] = from[i], from[i]
	}
	var all []Move
	for i, pair := range next {
		for _, column := range pair {
			if at[column] != to[i] {
				all = append(all, Move{column, at[column], to[i], net.Level(at[column], to[i]) > 0})
			}
		}
	}
	slices.SortFunc(all, func(a, b Move) int { return cmp.Compare(a.Column, b.Column) })
	return all
}
