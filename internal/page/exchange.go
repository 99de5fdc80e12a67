package page

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/plotter"

	"jmpi/topology"
)

// The map of the exchange: a panel for each macro step, as in Fig. 5.1 of [Nov15]. In a panel every device
// has a row, with the pair of macro block-columns that it works on. Arcs beside the rows say what moves after
// the step, dashed on one host and solid between hosts.

const (
	// mostBoxes bounds the rows of all panels, but for leastPanels panels.
	mostBoxes   = 256
	leastPanels = 4

	rowStep    = 22 // from a row to the next
	boxLeft    = 26
	cellWidth  = 28
	boxHeight  = 16
	panelTop   = 8
	panelWidth = 158
)

// panel is the drawing of a macro step.
type panel struct {
	Number        int // of the macro step, from 1
	Width, Height int
	Rows          []row
	Groups        []group
	Arcs          []arc
	Alt           string
}

// row is a device in a panel.
type row struct {
	Device   int
	Y        int // of its middle
	Cells    [2]cell
	Idle     bool
	TextY    int
	BoxY     int
	BoxX     int
	BoxWidth int
	Height   int
}

// cell is one of the two macro block-columns of a device.
type cell struct {
	Column int // from 1
	X      int // of its middle
	Left   int
	Leaves bool
}

// group is a host in a panel, behind its devices.
type group struct{ Y, Height int }

// arc is a move.
type arc struct {
	Path  string
	Tip   string // the head of the arrow
	Class string // fast or slow
}

// steps reads the macro steps of the first sweep.
func (d *drawing) steps() (steps []topology.Step, err error) {
	for i, s := range d.Plan {
		step, err := topology.ParseStep(s.Pairs, s.Moves)
		if err != nil {
			return nil, fmt.Errorf("page: plan of info.json, macro step %d: %w", i+1, err)
		}
		for _, device := range step.Device {
			if device >= len(d.Devices) {
				return nil, fmt.Errorf("page: plan of info.json, macro step %d: there is no device %d", i+1, device)
			}
		}
		for _, m := range step.Moves {
			if max(m.From, m.To) >= len(d.Devices) {
				return nil, fmt.Errorf("page: plan of info.json, macro step %d: there is no device %d", i+1,
					max(m.From, m.To))
			}
		}
		step.Step = i
		steps = append(steps, step)
	}
	return steps, nil
}

// panels draws the macro steps, the first ones if there are too many.
func (d *drawing) panels(steps []topology.Step) (drawn []panel) {
	if len(d.Devices) < 2 {
		return nil
	}
	for _, step := range steps[:min(len(steps), max(leastPanels, mostBoxes/len(d.Devices)))] {
		drawn = append(drawn, d.panel(step))
	}
	return drawn
}

// panel draws a macro step.
func (d *drawing) panel(step topology.Step) panel {
	p := panel{Number: step.Step + 1, Width: panelWidth, Height: 2*panelTop + rowStep*len(d.Devices)}
	for i, first := 0, 0; i < len(d.Devices); i++ {
		if i+1 == len(d.Devices) || d.Devices[i+1].Host != d.Devices[i].Host {
			p.Groups = append(p.Groups, group{panelTop + rowStep*first + 1, rowStep*(i+1-first) - 2})
			first = i + 1
		}
		y := panelTop + rowStep*i + rowStep/2
		p.Rows = append(p.Rows, row{Device: i, Y: y, Idle: true, TextY: y + 4, BoxY: y - boxHeight/2, BoxX: boxLeft,
			BoxWidth: 2 * cellWidth, Height: boxHeight})
	}
	leaving := map[int]bool{}
	var says []string
	for _, m := range step.Moves {
		leaving[m.Column] = true
		p.Arcs = append(p.Arcs, d.arc(m))
		how := "fast"
		if m.Slow {
			how = "slow"
		}
		says = append(says, fmt.Sprintf("%d from %d to %d (%s)", m.Column+1, m.From, m.To, how))
	}
	var works []string
	for i, pair := range step.Pairs {
		r := &p.Rows[step.Device[i]]
		r.Idle = false
		for k, column := range pair {
			left := boxLeft + k*cellWidth
			r.Cells[k] = cell{column + 1, left + cellWidth/2, left, leaving[column]}
		}
		works = append(works, fmt.Sprintf("%d: %d and %d", step.Device[i], pair[0]+1, pair[1]+1))
	}
	p.Alt = fmt.Sprintf("Macro step %d. Devices work on block-columns %s. ", p.Number, strings.Join(works, "; "))
	if p.Alt += "Nothing moves."; len(says) > 0 {
		p.Alt = strings.TrimSuffix(p.Alt, "Nothing moves.") + "Then block-columns move: " +
			strings.Join(says, "; ") + "."
	}
	return p
}

// arc draws a move: it leaves a row a little above its middle and arrives a little below the middle of
// another, or the other way round for one that goes up, so that two that cross do not meet.
func (d *drawing) arc(m topology.Move) arc {
	const apart = 3
	y := func(device int) int { return panelTop + rowStep*device + rowStep/2 }
	from, to := y(m.From), y(m.To)
	x := boxLeft + 2*cellWidth + 3
	far := m.To - m.From
	if far < 0 {
		far = -far
	}
	bulge := min(panelWidth-x-4, 22+12*far)
	if m.From < m.To {
		from, to = from+apart, to-apart
	} else {
		from, to, bulge = from-apart, to+apart, bulge-8
	}
	a := arc{Path: fmt.Sprintf("M%d,%d C%d,%d %d,%d %d,%d", x, from, x+bulge, from, x+bulge, to, x+4, to),
		Tip: fmt.Sprintf("M%d,%d l7,-3 v6 z", x, to), Class: "fast"}
	if m.Slow {
		a.Class = "slow"
	}
	return a
}

// moves draws how many macro block-columns move after each macro step.
func (d *drawing) moves(steps []topology.Step) (f figure, err error) {
	fast, slow := make(plotter.Values, len(steps)), make(plotter.Values, len(steps))
	phases, all := 0, 0
	for i, s := range steps {
		for _, m := range s.Moves {
			if all++; m.Slow {
				slow[i]++
			} else {
				fast[i]++
			}
		}
		if slow[i] > 0 {
			phases++
		}
	}
	if all == 0 {
		return f, nil
	}
	p := newPlot("macro step")
	numbered(&p.X, len(steps))
	p.Y.Min = 0
	b := bars{parts: []plotter.Values{fast, slow}, colors: []int{0, 1}, width: barWidth(len(steps))}
	if err := b.add(p); err != nil {
		return f, err
	}
	f = figure{Title: "Block-columns that move after each macro step",
		Legend: []key{{"s0", "on one host"}, {"s1", "between hosts"}},
		Note:   fmt.Sprintf("Exchanges of a sweep: %d. With a move between hosts: %d.", len(steps), phases)}
	alt := fmt.Sprintf("Macro block-columns that move after each of the %d macro steps of the first sweep, as "+
		"stacked bars: %d in all; %d steps have a move between hosts.", len(steps), all, phases)
	f.SVG, err = d.svg(p, plotWidth, plotHeight*3/4, alt)
	return f, err
}
