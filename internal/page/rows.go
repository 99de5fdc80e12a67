package page

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// mostRows is the largest number of ranks that a figure has rows for.
const mostRows = 48

// part is a group of phases of a run that are drawn as one.
type part struct {
	name   string
	phases []string
	color  int
}

// parts are the groups, in the order of a run. Phases of the sweeps are summed over the devices of a rank.
var parts = []part{
	{"start", []string{"mpi", "devices", "reserve"}, 6},
	{"read", []string{"read", "upload"}, 2},
	{"precondition", []string{"precondition"}, 3},
	{"sweeps: compute", []string{"shorten", "inner", "postmultiply", "compute"}, 0},
	{"sweeps: wait for messages", []string{"exchange"}, 1},
	{"refine", []string{"refine"}, 4},
	{"vectors", []string{"vectors", "verify"}, 5},
	{"write", []string{"download", "write", "sync"}, 7},
}

// rest is what the phases of a rank leave of the time that has passed.
var rest = part{"everything else", nil, 8}

// perDevice are the phases whose seconds are summed over the devices of a rank.
var perDevice = []string{"shorten", "inner", "postmultiply", "compute", "exchange"}

// shown are the ranks that have a row, evenly chosen, and words if they are not all.
func shown(ranks int) (numbers []int, note string) {
	for i := range min(ranks, mostRows) {
		numbers = append(numbers, i*ranks/min(ranks, mostRows))
	}
	if ranks > mostRows {
		note = fmt.Sprintf(" %d of the %d ranks are shown.", mostRows, ranks)
	}
	return numbers, note
}

// rowNames names the rows of ranks.
func (d *drawing) rowNames(ranks []int) (names []string) {
	several := len(d.hosts()) > 1
	for _, r := range ranks {
		name := fmt.Sprintf("rank %d", r)
		if host := d.hostOf(r); several && host != "" {
			name = fmt.Sprintf("%d %.12s", r, host)
		}
		names = append(names, name)
	}
	return names
}

// times draws where the time of each rank went.
func (d *drawing) times() (f figure, err error) {
	phases := d.phases()
	if len(phases) == 0 {
		return f, nil
	}
	ranks, note := shown(len(phases))
	values := make([]plotter.Values, len(parts)+1)
	for _, r := range ranks {
		left := d.WallSeconds
		for i, group := range parts {
			s := 0.0
			for _, name := range group.phases {
				x := phases[r][name]
				if slices.Contains(perDevice, name) {
					x /= float64(max(1, d.devicesOf(r)))
				}
				s += x
			}
			left -= s
			values[i] = append(values[i], s)
		}
		values[len(parts)] = append(values[len(parts)], max(0, left))
	}
	b := bars{width: rowHeight - 5, horizontal: true}
	f = figure{Title: "Time by phase and rank", Note: "Seconds that passed. Of a rank with several devices, " +
		"their mean counts in the sweeps." + note}
	for i, group := range append(slices.Clone(parts), rest) {
		if slices.Max(values[i]) > 0.002*d.WallSeconds {
			b.parts, b.colors = append(b.parts, values[i]), append(b.colors, group.color)
			f.Legend = append(f.Legend, key{fmt.Sprintf("s%d", group.color), group.name})
		}
	}
	p := newPlot("seconds")
	if err := b.add(p); err != nil {
		return f, err
	}
	named(p, d.rowNames(ranks))
	alt := "Seconds of each rank in each phase, as stacked bars. Rank 0:"
	for i, group := range append(slices.Clone(parts), rest) {
		if values[i][0] > 0.002*d.WallSeconds {
			alt += fmt.Sprintf(" %s %s,", group.name, seconds(values[i][0]))
		}
	}
	f.SVG, err = d.svg(p, plotWidth, vg.Length(55+rowHeight*len(ranks)), alt[:len(alt)-1]+".")
	return f, err
}

// memory draws what ranks, or GPUs, have taken, beside what was expected.
func (d *drawing) memory(title, note string, names []string, peaks, expected []int64) (f figure, err error) {
	if len(peaks) == 0 || len(peaks) != len(expected) {
		return f, nil
	}
	most := max(1, slices.Max(peaks), slices.Max(expected))
	unit, word := unitOf(most)
	rows, left := shown(len(peaks))
	var took, planned plotter.Values
	var labels []string
	for _, r := range rows {
		took, planned = append(took, float64(peaks[r])/unit), append(planned, float64(expected[r])/unit)
		labels = append(labels, names[r])
	}
	p := newPlot(word)
	for i, v := range []plotter.Values{took, planned} {
		b := bars{parts: []plotter.Values{v}, colors: []int{i}, width: 6, horizontal: true,
			offset: vg.Length(3.5 - 7*float64(i))}
		if err := b.add(p); err != nil {
			return f, err
		}
	}
	named(p, labels)
	f = figure{Title: title, Note: note + left, Legend: []key{{"s0", "peak, at most " + size(slices.Max(peaks))},
		{"s1", "expected, at most " + size(slices.Max(expected))}}}
	alt := fmt.Sprintf("%s: peak and what was expected, as bars. The largest peak is %s, the most that was "+
		"expected %s.", title, size(slices.Max(peaks)), size(slices.Max(expected)))
	f.SVG, err = d.svg(p, plotWidth, vg.Length(55+(rowHeight+2)*len(rows)), alt)
	return f, err
}

// ranksMemory draws the memory of hosts.
func (d *drawing) ranksMemory() (figure, error) {
	ranks := make([]int, len(d.PeakBytes))
	for i := range ranks {
		ranks[i] = i
	}
	note := "On CPUs the matrices are in it."
	if d.gpus() {
		note = "The matrices are on the GPUs."
	}
	return d.memory("Memory of the hosts, by rank", note, d.rowNames(ranks), d.PeakBytes, d.EstimatedBytes)
}

// gpusMemory draws the memory of GPUs.
func (d *drawing) gpusMemory() (figure, error) {
	var names []string
	for i := range d.DevicePeakBytes {
		names = append(names, fmt.Sprintf("GPU %d", i))
	}
	note := ""
	if len(d.Devices) > 0 {
		note = fmt.Sprintf("Each has %s.", size(d.Devices[0].Memory))
	}
	return d.memory("Memory of the GPUs", note, names, d.DevicePeakBytes,
		slices.Repeat([]int64{d.DeviceEstimatedBytes}, len(names)))
}
