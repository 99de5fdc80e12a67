package main

import (
	"fmt"
	"io"
	"strings"

	"jmpi/dist/devices"
)

func (p *planned) write(w io.Writer) error {
	if p.flags.json {
		return p.writeJSON(w)
	}
	b := &strings.Builder{}
	sweeps := float64(p.traffic.Sweeps)
	repeats := ""
	if p.flags.periodic {
		repeats = ", map repeats every sweep"
	}
	objective := ", objective " + p.flags.objective
	if p.plan == nil {
		objective = ", exchanges by a formula"
	}
	count := p.network.Devices()
	fmt.Fprintf(b, "%s of order %d, devices %d, groups %d, sweeps %d%s%s\n", p.flags.strategy, 2*count, count,
		p.network.Groups(), p.traffic.Sweeps, objective, repeats)
	fmt.Fprintf(b, "phases a sweep         %.2f, of these slow %.2f\n", float64(p.traffic.Phases)/sweeps,
		float64(p.traffic.SlowPhases)/sweeps)
	fmt.Fprintf(b, "block-columns a sweep  %.2f, of these slow %.2f\n", float64(p.traffic.Columns)/sweeps,
		float64(p.traffic.SlowColumns)/sweeps)
	if g := p.figures; g != nil {
		fmt.Fprintf(b, "sent a device, sweep   %s\n", byteText(g.bytes))
		if g.slow > 0 {
			fmt.Fprintf(b, "  to other groups      %s\n", byteText(g.slow))
		}
		fmt.Fprintf(b, "memory of a device     %s\n", byteText(g.device))
		if p.flags.backend == devices.CUDA && g.least < g.device {
			fmt.Fprintf(b, "  at the least         %s\n", byteText(g.least))
		}
		fmt.Fprintf(b, "memory of a host       %s\n", byteText(g.host))
		if g.gradedDevice > g.device || g.gradedHost > g.host {
			fmt.Fprintf(b, "  if it is graded      %s, of a device %s\n", byteText(g.gradedHost),
				byteText(g.gradedDevice))
		}
		if g.seconds > 0 {
			fmt.Fprintf(b, "arithmetic of a sweep  %.3g s at %g GFLOP/s a device\n", g.seconds, p.flags.gflops)
		}
		p.forecast.write(b)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if p.flags.steps {
		return p.plan.WriteText(w)
	}
	return nil
}
