package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The size of a plot in points. On a phone a point is about a pixel.
const (
	plotWidth  = 380
	plotHeight = 230
	fontSize   = 12
	rowHeight  = 18 // of a horizontal bar
	mostTicks  = 8
	mostPoints = 400 // of a line
)

// newPlot returns an empty plot in the style of the page. x is what its horizontal axis counts; the title of
// the figure says what the other one has.
func newPlot(x string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	style := text.Style{Color: ink, Font: font.From(plot.DefaultFont, fontSize),
		Handler: plot.DefaultTextHandler}
	style.Font.Variant = "Sans"
	p.X.Label.Text = x
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		align := axis.Tick.Label
		axis.Label.TextStyle, axis.Tick.Label = style, style
		axis.Label.TextStyle.XAlign = draw.XCenter
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = align.XAlign, align.YAlign
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = ink, ink
		axis.Padding = 2
	}
	p.X.Label.TextStyle.YAlign = draw.YBottom
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = faint
	p.Add(grid)
	return p
}

// line adds a line through points, with dots where there are few.
func line(p *plot.Plot, of plotter.XYs, number int) error {
	if len(of) == 0 {
		return nil
	}
	l, dots, err := plotter.NewLinePoints(of)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	l.Color, l.Width = series[number], 1.8
	p.Add(l)
	if len(of) <= 60 {
		dots.Color, dots.Shape, dots.Radius = series[number], shapes[number%len(shapes)], 2.8
		p.Add(dots)
	}
	return nil
}

var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}}

// bars adds bars of several parts, one on the other: parts[i] has the values of one color.
type bars struct {
	parts      []plotter.Values
	colors     []int
	width      vg.Length
	offset     vg.Length // across the bars
	horizontal bool      // rows, the first on top; otherwise columns from 1 on
}

// add draws them.
func (b bars) add(p *plot.Plot) error {
	var below *plotter.BarChart
	for i, v := range b.parts {
		if b.horizontal {
			v = slices.Clone(v)
			slices.Reverse(v)
		}
		chart, err := plotter.NewBarChart(v, b.width)
		if err != nil {
			return fmt.Errorf("page: %w", err)
		}
		chart.Color, chart.LineStyle.Width = series[b.colors[i]], 0
		chart.Horizontal, chart.Offset = b.horizontal, b.offset
		if !b.horizontal {
			chart.XMin = 1
		}
		if below != nil {
			chart.StackOn(below)
		}
		p.Add(chart)
		below = chart
	}
	return nil
}

// numbered puts whole numbers from 1 to n at an axis.
func numbered(a *plot.Axis, n int) {
	every := max(1, (n+11)/12)
	var ticks plot.ConstantTicks
	for i := 1; i <= n; i++ {
		if (i-1)%every == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: strconv.Itoa(i)})
		}
	}
	a.Tick.Marker = ticks
	a.Min, a.Max = 0.5, float64(n)+0.5
}

// counting puts a few round numbers at an axis of whole numbers up to n.
func counting(a *plot.Axis, n int) {
	step := 1
	for k := 0; n/step > mostTicks-2; k++ {
		step = step * []int{2, 5, 10}[k%3] / []int{1, 2, 5}[k%3] // 1, 2, 5, 10, 20, 50, …
	}
	var ticks plot.ConstantTicks
	for i := 0; i <= n; i += step {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: strconv.Itoa(i)})
	}
	a.Tick.Marker = ticks
	a.Min, a.Max = 0, float64(n)+1
}

// logarithmic makes an axis one of powers of ten that has all from low to high > 0.
func logarithmic(a *plot.Axis, low, high float64) {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	last = max(last, first+1)
	first = max(first, -307) // below, powers of ten lose digits
	every := (last-first)/mostTicks + 1
	var ticks plot.ConstantTicks
	for d := first; d <= last; d++ {
		tick := plot.Tick{Value: math.Pow10(d)}
		if (last-d)%every == 0 {
			tick.Label = fmt.Sprintf("1e%d", d)
		}
		if tick.Label != "" || every < 4 {
			ticks = append(ticks, tick)
		}
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, ticks
	a.Min, a.Max = math.Pow10(first), math.Pow10(last)
}

// thinned returns at most mostPoints of the points, the first and the last among them.
func thinned(of plotter.XYs) plotter.XYs {
	if len(of) <= mostPoints {
		return of
	}
	few := make(plotter.XYs, mostPoints)
	for i := range few {
		few[i] = of[i*(len(of)-1)/(mostPoints-1)]
	}
	return few
}

// named puts names at the rows of horizontal bars, the first on top.
func named(p *plot.Plot, names []string) {
	var ticks plot.ConstantTicks
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(len(names) - 1 - i), Label: name + "  "})
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.LineStyle.Width = ticks, 0, 0
	p.Y.Min, p.Y.Max, p.X.Min = -0.6, float64(len(names))-0.4, 0
}
