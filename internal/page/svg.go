package page

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figure is a drawing with the words that go with it.
type figure struct {
	Title  string
	Note   string // what the reader should know, below the drawing
	Legend []key
	SVG    template.HTML
}

// key is an entry of a legend.
type key struct {
	Class string // of the style sheet
	Name  string
}

// The colors of plots are numbers that stand for variables of the style sheet.
var (
	ink    = color.RGBA{1, 1, 1, 255}
	faint  = color.RGBA{2, 2, 2, 255}
	series = []color.RGBA{{3, 3, 3, 255}, {4, 4, 4, 255}, {5, 5, 5, 255}, {6, 6, 6, 255}, {7, 7, 7, 255},
		{8, 8, 8, 255}, {9, 9, 9, 255}, {16, 16, 16, 255}, {17, 17, 17, 255}}
)

// themed turns the colors of vgsvg's output into variables.
var themed = func() *strings.Replacer {
	pairs := []string{"#010101", "var(--ink)", "#020202", "var(--grid)"}
	for i := range series {
		pairs = append(pairs, fmt.Sprintf("#%02[1]x%02[1]x%02[1]x", series[i].R), fmt.Sprintf("var(--s%d)", i))
	}
	return strings.NewReplacer(pairs...)
}()

// fonts are what vgsvg says of the font, the size excepted: the page has its own.
var fonts = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;?`)

// blanks are white space in markup.
var blanks = regexp.MustCompile(`\s*\n\s*`)

// numbers counts the drawings of a page, whose titles have identifiers.
type numbers struct{ last int }

// svg draws a plot of so many points in width and height. alt says what it shows.
func (n *numbers) svg(p *plot.Plot, width, height vg.Length, alt string) (template.HTML, error) {
	c := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(c), 2, -fontSize, 0, -fontSize/2)) // the last number of an axis goes beyond it
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	_, body, found := strings.Cut(b.String(), "xmlns:xlink=\"http://www.w3.org/1999/xlink\">")
	if !found {
		return "", fmt.Errorf("page: the library that draws has another form: %.200s", b.String())
	}
	body = blanks.ReplaceAllString(fonts.ReplaceAllString(themed.Replace(body), ""), " ")
	n.last++
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img" aria-labelledby="f%d">`+
		`<title id="f%d">%s</title>%s`, width.Points(), height.Points(), n.last, n.last,
		template.HTMLEscapeString(alt), body)), nil
}
