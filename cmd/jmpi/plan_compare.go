package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"jmpi/dist"
	"jmpi/internal/rates"
	"jmpi/topology"
)

// agreement is a decomposition that was measured, and what the model says of it.
type agreement struct {
	Kind      string  `json:"kind"`
	Cond      float64 `json:"cond,omitempty"`
	N         int     `json:"n"`
	Devices   int     `json:"devices"`
	Precision string  `json:"precision"`
	Measured  float64 `json:"measured"` // seconds
	Planned   float64 `json:"planned"`
}

// off is by how much the model is off, relative to what was measured.
func (c agreement) off() float64 { return c.Planned/c.Measured - 1 }

// compares tells whether rates are given, and nothing to plan.
func (f planFlags) compares() bool {
	return f.rates != "" && f.shape == "" && f.devices == 0 && f.group == 0 && f.nodes == 0 && f.perNode == 0 &&
		f.hostfile == "" && f.network == ""
}

// compare prints what was measured beside the rates, and what the model says of it.
func (f planFlags) compare(w io.Writer) error {
	known, err := f.findRates()
	if err != nil || !onRankZero() {
		return err
	}
	rows, err := f.compareWith(known)
	if err != nil {
		return err
	}
	if f.json {
		return exit(exitFailure, json.NewEncoder(w).Encode(struct {
			Rates    string      `json:"rates"`
			Compared []agreement `json:"compared"`
		}{known.Device, rows}))
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%% %s; made by %s\n%% kind cond n devices precision measured planned off\n", known.Device,
		printable(known.Made))
	for _, c := range rows {
		fmt.Fprintf(b, "%-12s %-6.4g %6d %3d %-8s %9.4g %9.4g %+4.0f%%\n", c.Kind, c.Cond, c.N, c.Devices,
			c.Precision, c.Measured, c.Planned, 100*c.off())
	}
	_, err = io.WriteString(w, b.String())
	return exit(exitFailure, err)
}

// compareWith computes the time of all decompositions that were measured beside the rates.
func (f planFlags) compareWith(known *rates.Rates) (rows []agreement, err error) {
	for _, c := range known.Courses {
		f.shape, f.kind, f.cond = fmt.Sprintf("%dx%d", c.N, c.N), c.Kind, c.Cond
		f.devices = max(1, c.Devices, known.Together)
		f.precision = dist.Float64
		if c.Precision == rates.Ladder {
			f.precision = dist.Float32
		}
		p, err := f.planWith(known, topology.Phases)
		switch {
		case err != nil:
			return nil, err
		case p.forecast.Forecast == nil:
			return nil, exit(exitInput, fmt.Errorf("%s of order %d: %s", c.Kind, c.N, p.forecast.why))
		case c.Seconds > 0:
			rows = append(rows, agreement{c.Kind, c.Cond, c.N, f.devices, f.precision.String(), c.Seconds,
				p.forecast.Seconds})
		}
	}
	return rows, nil
}
