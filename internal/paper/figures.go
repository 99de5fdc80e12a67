package paper

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Figure is one of the figures: a panel for each spectrum, in which a line for each strategy and
// variant runs over the orders.
type Figure struct {
	Name  string // as 6.1
	title string // of the vertical axis
	value func(Row) float64
	log   bool // vertical axis
}

// Figures returns those of the paper.
func Figures() []Figure {
	return []Figure{
		{Name: "6.1", title: "time over that of " + Base, value: func(r Row) float64 { return r.Ratio }},
		{Name: "6.2", title: "relative error (6.1)", value: func(r Row) float64 { return max(r.Error, unit) },
			log: true},
	}
}

// unit is the relative rounding error of float64: no smaller error is drawn.
const unit = 0x1p-53

const (
	panelWidth  = 10 * vg.Centimeter
	panelHeight = 8 * vg.Centimeter
	legendWidth = 5 * vg.Centimeter
	resolution  = 150 // dots per inch
)

// colors of the lines, in the order of the rows.
var colors = append([]color.Color{color.Black}, plotutil.DarkColors...)

// WritePNG draws the figure of the rows of strategies; there must be one.
func (f Figure) WritePNG(w io.Writer, rows []Row) error {
	rows = pick(rows, func(r Row) bool { return r.Variant != None })
	if len(rows) == 0 {
		return fmt.Errorf("paper: figure %s: there are no rows", f.Name)
	}
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.label()) {
			names = append(names, r.label())
		}
	}
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	panels, err := f.panels(rows, names, &legend)
	if err != nil {
		return fmt.Errorf("paper: figure %s: %w", f.Name, err)
	}
	tiles := draw.Tiles{Rows: len(panels), Cols: len(panels[0]), PadX: vg.Centimeter / 2,
		PadY: vg.Centimeter / 2}
	canvas := vgimg.NewWith(vgimg.UseDPI(resolution),
		vgimg.UseWH(panelWidth*vg.Length(tiles.Cols)+legendWidth, panelHeight*vg.Length(tiles.Rows)))
	area := draw.New(canvas)
	for i, line := range plot.Align(panels, tiles, draw.Crop(area, 0, -legendWidth, 0, 0)) {
		for j, c := range line {
			if panels[i][j] != nil {
				panels[i][j].Draw(c)
			}
		}
	}
	legend.Draw(draw.Crop(area, area.Size().X-legendWidth+vg.Centimeter/2, 0, 0, -vg.Centimeter/2))
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("paper: figure %s: %w", f.Name, err)
	}
	return nil
}

// panels makes a panel for each spectrum, two in a row, and the legend of the lines with these
// names, once for all.
func (f Figure) panels(rows []Row, names []string, legend *plot.Legend) (panels [][]*plot.Plot, err error) {
	for i, spectrum := range spectra(rows) {
		of := pick(rows, func(r Row) bool { return r.Spectrum == spectrum })
		if i > 0 {
			legend = nil
		}
		p, err := f.panel(of, names, legend)
		if err != nil {
			return nil, fmt.Errorf("spectrum %d: %w", spectrum, err)
		}
		p.Title.Text = fmt.Sprintf("spectrum %d", spectrum)
		if i%2 == 0 {
			panels = append(panels, nil)
		}
		last := len(panels) - 1
		panels[last] = append(panels[last], p)
	}
	if last := len(panels) - 1; len(panels[last]) < len(panels[0]) {
		panels[last] = append(panels[last], nil)
	}
	return panels, nil
}

// panel draws the lines of one spectrum. The orders stand at equal distances.
func (f Figure) panel(rows []Row, names []string, legend *plot.Legend) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "n", f.title
	p.Add(plotter.NewGrid())
	at := orders(rows)
	var ticks plot.ConstantTicks
	for i, n := range at {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = ticks
	for i, name := range names {
		var points plotter.XYs
		for _, r := range rows {
			if r.label() == name {
				points = append(points, plotter.XY{X: float64(slices.Index(at, r.N)), Y: f.value(r)})
			}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line.Color, line.Width, line.Dashes = colors[i%len(colors)], vg.Points(1.5), plotutil.Dashes(i)
		dots.Color, dots.Shape = line.Color, plotutil.Shape(i)
		p.Add(line, dots)
		if legend != nil {
			legend.Add(name, line, dots)
		}
	}
	p.X.Min, p.X.Max = -0.5, float64(len(at))-0.5
	if f.log {
		low, high := decade(p.Y.Min, math.Floor), decade(p.Y.Max, math.Ceil)
		high = max(high, low+1)
		p.Y.Min, p.Y.Max = math.Pow10(low), math.Pow10(high)
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades(low, high)
	}
	return p, nil
}

// decade returns the exponent of the power of ten to which x is rounded.
func decade(x float64, round func(float64) float64) int { return int(round(math.Log10(x))) }

// decades are ticks with labels at the powers of ten from low to high, and without in between.
func decades(low, high int) (ticks plot.ConstantTicks) {
	for d := low; d <= high; d++ {
		ticks = append(ticks, plot.Tick{Value: math.Pow10(d), Label: fmt.Sprintf("1e%d", d)})
		for i := 2; i < 10 && d < high; i++ {
			ticks = append(ticks, plot.Tick{Value: float64(i) * math.Pow10(d)})
		}
	}
	return ticks
}
