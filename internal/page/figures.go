package page

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// drawing makes the figures of a run.
type drawing struct {
	*run
	numbers
}

// rotations draws how many rotations there were in each sweep.
func (d *drawing) rotations() (f figure, err error) {
	p := newPlot("sweep")
	all, proper := make(plotter.XYs, len(d.Sweep)), make(plotter.XYs, len(d.Sweep))
	most := 1.0
	for _, s := range d.Sweep {
		most = max(most, float64(s.Rotations))
	}
	none := math.Pow(most+2, -0.1) * 0.5 // where 0 stands, below 1
	for i, s := range d.Sweep {
		x := float64(i + 1)
		all[i] = plotter.XY{X: x, Y: max(none, float64(s.Rotations))}
		proper[i] = plotter.XY{X: x, Y: max(none, float64(s.Proper))}
	}
	logarithmic(&p.Y, 1, most)
	p.Y.Min = none * 0.8
	p.Y.Tick.Marker = append(plot.ConstantTicks{{Value: none, Label: "0"}}, p.Y.Tick.Marker.Ticks(1, most)...)
	numbered(&p.X, len(d.Sweep))
	for i, points := range []plotter.XYs{all, proper} {
		if err := line(p, points, i); err != nil {
			return f, err
		}
	}
	last := d.Sweep[len(d.Sweep)-1]
	f = figure{Title: "Rotations", Legend: []key{{"s0", "rotations"}, {"s1", "proper rotations"}},
		Note: "A proper rotation turns two columns that were clearly not orthogonal. A sweep without any ends " +
			"the method."}
	alt := fmt.Sprintf("Rotations by sweep, on a logarithmic scale. First sweep: %d, of these proper %d. Last "+
		"sweep, number %d: %d, of these proper %d.", d.Sweep[0].Rotations, d.Sweep[0].Proper, len(d.Sweep),
		last.Rotations, last.Proper)
	f.SVG, err = d.svg(p, plotWidth, plotHeight, alt)
	return f, err
}

// active draws the share of active pivots in each sweep.
func (d *drawing) active() (f figure, err error) {
	p := newPlot("sweep")
	shares := make(plotter.Values, len(d.Sweep))
	for i, s := range d.Sweep {
		shares[i] = 100 * s.Active
	}
	numbered(&p.X, len(shares))
	p.Y.Min, p.Y.Max = 0, 100
	err = bars{parts: []plotter.Values{shares}, colors: []int{0}, width: barWidth(len(shares))}.add(p)
	if err != nil {
		return f, err
	}
	f = figure{Title: "Active pivots, %",
		Note: "The share of pairs of block-columns that were not orthogonal yet. The others were skipped."}
	f.SVG, err = d.svg(p, plotWidth, plotHeight, fmt.Sprintf("Share of active pivots by sweep, as bars. "+
		"First sweep: %s. Last sweep: %s.", percent(d.Sweep[0].Active), percent(d.Sweep[len(d.Sweep)-1].Active)))
	return f, err
}

// barWidth is the width of so many bars beside each other.
func barWidth(n int) vg.Length { return vg.Length(0.7 * (plotWidth - 60) / float64(max(n, 3))) }

// largest draws the largest cosine of an angle between two columns that each sweep has met. Sweeps of a run
// that has gone on from a checkpoint of an earlier version do not tell theirs.
func (d *drawing) largest() (f figure, err error) {
	f = figure{Title: "Largest cosine",
		Note: "Of the angles between two columns, just before the sweep turns them. 1 is parallel, 0 orthogonal."}
	var points plotter.XYs
	for i, s := range d.Sweep {
		points = append(points, plotter.XY{X: float64(i + 1), Y: s.Cosine})
	}
	return d.curve(f, points, "sweep")
}

// cosines draws the largest cosine of an angle between two columns before each step of the refinement of a
// result of float32.
func (d *drawing) cosines() (f figure, err error) {
	f = figure{Title: "Largest cosine while float32 is refined",
		Note: "Of the angles between two columns, by products of all columns with each other."}
	var points plotter.XYs
	for _, step := range d.Refined {
		if step.Cosine > 0 {
			points = append(points, plotter.XY{X: float64(len(points) + 1), Y: step.Cosine})
		}
	}
	return d.curve(f, points, "look at all columns")
}

// curve draws the largest cosine of each sweep or look, but where it is 0. If it always is, there is no
// figure.
func (d *drawing) curve(f figure, all plotter.XYs, what string) (figure, error) {
	var points plotter.XYs
	low, high := math.Inf(1), 0.0
	for _, at := range all {
		if at.Y > 0 {
			points = append(points, at)
			low, high = min(low, at.Y), max(high, at.Y)
		}
	}
	if len(points) == 0 {
		return figure{}, nil
	}
	p := newPlot(what)
	logarithmic(&p.Y, low, high)
	numbered(&p.X, len(all))
	if err := line(p, points, 0); err != nil {
		return f, err
	}
	var err error
	f.SVG, err = d.svg(p, plotWidth, plotHeight, fmt.Sprintf("Largest cosine by %s, on a logarithmic scale, "+
		"from %s to %s.", what, digits(points[0].Y), digits(points[len(points)-1].Y)))
	return f, err
}

// values draws the singular values.
func (d *drawing) values() (f figure, err error) {
	p := newPlot("number")
	parts := []plotter.XYs{nil}
	low, high, zeros := math.Inf(1), 0.0, 0
	for i, s := range d.sigma {
		if d.Signature != nil && int64(i) == d.Signature.Positive {
			parts = append(parts, nil)
		}
		if s <= 0 {
			zeros++
			continue
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], plotter.XY{X: float64(i + 1), Y: s})
		low, high = min(low, s), max(high, s)
	}
	if high == 0 {
		return figure{Title: "Singular values", Note: "All singular values are zero."}, nil
	}
	logarithmic(&p.Y, low, high)
	counting(&p.X, len(d.sigma))
	for i, part := range parts {
		if err := line(p, thinned(part), i%2); err != nil {
			return f, err
		}
	}
	f = figure{Title: "In their order"}
	if zeros == 0 && len(parts) == 1 {
		f.Note = fmt.Sprintf("The largest is %s times the smallest.", digits(high/low))
	}
	if len(parts) > 1 {
		f.Legend = []key{{"s0", "of sign +1"}, {"s1", "of sign −1"}}
	}
	if zeros > 0 {
		f.Note = count(zeros, "singular value is zero, and is", "singular values are zero, and are") +
			" not in the figure."
	}
	f.SVG, err = d.svg(p, plotWidth, plotHeight, fmt.Sprintf("%d singular values in their order, on a "+
		"logarithmic scale. Largest: %s. Smallest: %s. Zero: %d.", len(d.sigma), digits(slices.Max(d.sigma)),
		digits(slices.Min(d.sigma)), zeros))
	return f, err
}

// traffic draws what was exchanged between devices in each sweep, by level.
func (d *drawing) traffic() (f figure, err error) {
	fast, slow := make(plotter.Values, len(d.Sweep)), make(plotter.Values, len(d.Sweep))
	var all [2]int64
	most := int64(0)
	for _, s := range d.Sweep {
		all[0], all[1] = all[0]+s.BytesFast, all[1]+s.BytesSlow
		most = max(most, s.BytesFast+s.BytesSlow)
	}
	if most == 0 {
		return f, nil
	}
	unit, name := unitOf(most)
	for i, s := range d.Sweep {
		fast[i], slow[i] = float64(s.BytesFast)/unit, float64(s.BytesSlow)/unit
	}
	p := newPlot("sweep")
	numbered(&p.X, len(d.Sweep))
	p.Y.Min = 0
	err = bars{parts: []plotter.Values{fast, slow}, colors: []int{0, 1}, width: barWidth(len(fast))}.add(p)
	if err != nil {
		return f, err
	}
	f = figure{Title: "Traffic between devices, " + name, Legend: []key{{"s0", "on one host: " + size(all[0])},
		{"s1", "between hosts: " + size(all[1])}},
		Note: "What the devices have received in each sweep, all of them together."}
	alt := fmt.Sprintf("Bytes received by sweep, as stacked bars. In all: %s on one host, %s between hosts.",
		size(all[0]), size(all[1]))
	f.SVG, err = d.svg(p, plotWidth, plotHeight, alt)
	return f, err
}
