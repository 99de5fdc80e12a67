package main

import (
	"encoding/json"
	"io"

	"jmpi/dist/devices"
)

// planJSON is the output of plan --json. Sweeps, steps and columns are 1-based, devices 0-based.
type planJSON struct {
	Strategy            string     `json:"strategy"`
	Formula             bool       `json:"formula"` // exchanges are counted by a formula: there are no steps
	PhasesPerSweep      float64    `json:"phases_per_sweep"`
	SlowPhasesPerSweep  float64    `json:"slow_phases_per_sweep"`
	SlowColumnsPerSweep float64    `json:"slow_columns_per_sweep"`
	BytesPerDevice      *int64     `json:"bytes_per_device,omitempty"` // sent in a sweep; these need --shape
	MemoryPerDevice     *int64     `json:"memory_per_device,omitempty"`
	MemoryPerHost       *int64     `json:"memory_per_host,omitempty"`
	LeastPerDevice      *int64     `json:"memory_per_device_least,omitempty"`  // where memory is short, on GPUs
	GradedPerDevice     *int64     `json:"memory_per_device_graded,omitempty"` // whatever the matrix is
	GradedPerHost       *int64     `json:"memory_per_host_graded,omitempty"`
	SecondsPerSweep     *float64   `json:"seconds_per_sweep,omitempty"`     // of arithmetic; needs --gflops
	SlowBytes           *int64     `json:"bytes_per_device_slow,omitempty"` // of the bytes, to other groups
	Time                *timeJSON  `json:"time,omitempty"`                  // where rates are known
	Steps               []stepJSON `json:"steps"`
}

type stepJSON struct {
	Sweep int        `json:"sweep"`
	Step  int        `json:"step"`
	Pairs [][3]int   `json:"pairs"` // p, q, device
	Moves []moveJSON `json:"moves"` // what leads to the next step
}

type moveJSON struct {
	Column int  `json:"column"`
	From   int  `json:"from"`
	To     int  `json:"to"`
	Slow   bool `json:"slow"`
}

func (p *planned) writeJSON(w io.Writer) error {
	sweeps := float64(p.traffic.Sweeps)
	out := planJSON{
		Strategy: p.flags.strategy, Formula: p.plan == nil, Steps: []stepJSON{},
		PhasesPerSweep:      float64(p.traffic.Phases) / sweeps,
		SlowPhasesPerSweep:  float64(p.traffic.SlowPhases) / sweeps,
		SlowColumnsPerSweep: float64(p.traffic.SlowColumns) / sweeps,
	}
	if g := p.figures; g != nil {
		out.BytesPerDevice, out.MemoryPerDevice, out.MemoryPerHost = &g.bytes, &g.device, &g.host
		out.SlowBytes = &g.slow
		out.GradedPerDevice, out.GradedPerHost = &g.gradedDevice, &g.gradedHost
		if p.flags.backend == devices.CUDA {
			out.LeastPerDevice = &g.least
		}
		if g.seconds > 0 {
			out.SecondsPerSweep = &g.seconds
		}
	}
	out.Time = p.forecast.json()
	if p.plan == nil {
		return json.NewEncoder(w).Encode(out)
	}
	for _, step := range p.plan.Steps {
		s := stepJSON{Sweep: step.Sweep + 1, Step: step.Step + 1, Moves: []moveJSON{}}
		for i, pair := range step.Pairs {
			s.Pairs = append(s.Pairs, [3]int{pair[0] + 1, pair[1] + 1, step.Device[i]})
		}
		for _, m := range step.Moves {
			s.Moves = append(s.Moves, moveJSON{m.Column + 1, m.From, m.To, m.Slow})
		}
		out.Steps = append(out.Steps, s)
	}
	return json.NewEncoder(w).Encode(out)
}
