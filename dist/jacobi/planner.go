package jacobi

import (
	"fmt"

	"jmpi/dist/exchange"
	"jmpi/node"
	"jmpi/topology"
)

// planHorizon is how many sweeps are planned together: the best exchange plans do not repeat every sweep.
const planHorizon = 12

// planner makes exchange plans for as many sweeps as the run turns out to need.
type planner struct {
	program *node.Program
	network *topology.Network
	horizon int
	plan    *topology.Plan
	first   int // sweep of the plan's first step
}

func newPlanner(program *node.Program, devices []exchange.DeviceInfo, horizon int) (*planner, error) {
	hosts := make([]string, len(devices))
	for i, d := range devices {
		hosts[i] = d.Host
	}
	network, err := topology.FromNodes(hosts)
	if err != nil {
		return nil, fmt.Errorf("jacobi: network: %w", err)
	}
	p := &planner{program: program, network: network, horizon: horizon}
	if p.horizon == 0 {
		p.horizon = planHorizon
	}
	return p, p.extend(0, nil)
}

// extend plans the sweeps from first on; start gives the device of each pair of the first step, nil
// lets the planner choose.
func (p *planner) extend(first int, start []int) error {
	plan, err := topology.New(p.program.Outer, p.network, topology.Options{Sweeps: p.horizon, Start: start})
	if err != nil {
		return fmt.Errorf("jacobi: exchange plan: %w", err)
	}
	p.plan, p.first = plan, first
	return nil
}

// start returns the two macro block-columns of each device before the first sweep.
func (p *planner) start() map[int][2]int {
	at := map[int][2]int{}
	step := p.plan.Steps[0]
	for i, d := range step.Device {
		at[d] = step.Pairs[i]
	}
	return at
}

// firstSweep returns the macro steps of the first sweep that was planned.
func (p *planner) firstSweep() []topology.Step { return p.plan.Steps[:len(p.program.Outer.Steps)] }

// sweep returns the macro steps of sweep n, 0-based; sweeps are asked for in order.
func (p *planner) sweep(n int) ([]topology.Step, error) {
	count := len(p.program.Outer.Steps)
	if n-p.first >= p.horizon {
		if err := p.extend(n, p.plan.End()); err != nil {
			return nil, err
		}
	}
	from := (n - p.first) * count
	return p.plan.Steps[from : from+count], nil
}
