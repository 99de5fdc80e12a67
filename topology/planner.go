package topology

import (
	"errors"
	"fmt"

	"jmpi/strategy"
)

// ErrPeriodic reports that no exchange was found whose map repeats every sweep.
var ErrPeriodic = errors.New("no map that repeats every sweep was found: plan without periodic")

// Options of a plan.
type Options struct {
	Sweeps    int       // at least 1
	Periodic  bool      // after each sweep the map from pairs to innermost groups is the first one again
	Objective Objective // what is minimised over all sweeps
	Start     []int     // device of each pair of the first p-step, in the table's order; nil: free
}

// New plans o.Sweeps sweeps of the table on the devices of the network. Every step is there, and the
// moves of the last one lead to the first p-step of a next sweep, so that a run can go on with
// a plan whose Start is that map (Plan.End).
//
// The order of the table must be even and at most twice the number of devices; surplus devices
// stay idle, and those used are the smallest group that holds all pairs, or else the largest
// groups. Every p-step must be a perfect matching. (Odd orders: border with an empty block-column.)
//
// The plan is optimal where all states can be visited: up to 8 devices, in two groups up to 16. Beyond,
// it is the best found. The same input gives the same plan always.
// Errors: an impossible table, network, or start; ErrPeriodic.
func New(table *strategy.Table, net *Network, o Options) (*Plan, error) {
	if err := checkTable(table); err != nil {
		return nil, err
	}
	pairs := table.N / 2
	if pairs > net.Devices() {
		return nil, fmt.Errorf("topology: order %d of %s needs %d devices, the network has %d", table.N, table.Name,
			pairs, net.Devices())
	}
	if o.Sweeps < 1 {
		return nil, fmt.Errorf("topology: a plan of %d sweeps: plan at least 1", o.Sweeps)
	}
	if o.Objective < Phases || o.Objective > Link {
		return nil, fmt.Errorf("topology: unknown objective %d", int(o.Objective))
	}
	used := pick(net, pairs)
	if o.Start != nil {
		var err error
		if used, err = checkStart(o.Start, pairs, net.Devices()); err != nil {
			return nil, err
		}
	}
	t := newTree(net, used)
	s := newSearch(table, t, newTariff(t, net.levels, o.Objective))
	best, found := s.run(goal{sweeps: o.Sweeps, periodic: o.Periodic, start: t.stateOf(o.Start)})
	if !found {
		return nil, fmt.Errorf("topology: %s of order %d on %d devices: %w", table.Name, table.N, pairs,
			ErrPeriodic)
	}
	start := o.Start
	if start == nil {
		start = t.place(best.start)
	}
	return s.execute(net, start, best, o.Sweeps), nil
}

// checkTable reports a table that cannot be mapped to devices.
func checkTable(table *strategy.Table) error {
	if table.N < 2 || table.N%2 != 0 || len(table.Steps) == 0 {
		return fmt.Errorf("topology: %s of order %d: the order must be even: border the matrix with an empty "+
			"block-column", table.Name, table.N)
	}
	for i, step := range table.Steps {
		met := make([]bool, table.N)
		for _, p := range step {
			if p.P < 0 || p.P >= p.Q || p.Q >= table.N || met[p.P] || met[p.Q] {
				return fmt.Errorf("topology: %s of order %d, p-step %d: the pair %d-%d is no disjoint pivot pair",
					table.Name, table.N, i+1, p.P+1, p.Q+1)
			}
			met[p.P], met[p.Q] = true, true
		}
		if len(step) != table.N/2 {
			return fmt.Errorf("topology: %s of order %d, p-step %d has %d pairs, not %d", table.Name, table.N, i+1,
				len(step), table.N/2)
		}
	}
	return nil
}

// checkStart returns the devices of a start, ascending.
func checkStart(start []int, pairs, devices int) ([]int, error) {
	if len(start) != pairs {
		return nil, fmt.Errorf("topology: the start has %d devices for %d pairs", len(start), pairs)
	}
	taken := make([]bool, devices)
	for i, d := range start {
		if d < 0 || d >= devices || taken[d] {
			return nil, fmt.Errorf("topology: pair %d starts on device %d, which does not exist or has a pair already",
				i+1, d)
		}
		taken[d] = true
	}
	var used []int
	for d, yes := range taken {
		if yes {
			used = append(used, d)
		}
	}
	return used, nil
}
