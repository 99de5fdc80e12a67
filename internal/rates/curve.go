package rates

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Point is what one call was measured to take.
type Point struct {
	Work    float64 // operations, or bytes where memory is the limit
	Seconds float64
}

// Curve says how long a call takes by its work, from the least measured to the largest. As text it is
// "WORK:SECONDS WORK:SECONDS …".
type Curve []Point

// Add adds a point, in place of one of the same work, to four digits.
func (c *Curve) Add(p Point) {
	p.Work = rounded(p.Work)
	at, found := slices.BinarySearchFunc(*c, p.Work, func(q Point, work float64) int {
		switch {
		case q.Work < work:
			return -1
		case q.Work > work:
			return 1
		}
		return 0
	})
	if found {
		(*c)[at] = p
		return
	}
	*c = slices.Insert(*c, at, p)
}

// rounded returns a number as files have it.
func rounded(x float64) float64 {
	text := strconv.FormatFloat(x, 'g', 4, 64)
	x, _ = strconv.ParseFloat(text, 64) // which is a number
	return x
}

// Seconds returns the time of a call: on straight lines between the points, and beyond the last one at the
// rate of that. Below the first it takes as long as that one, if the lines say that launching is most of it.
func (c Curve) Seconds(work float64) float64 {
	switch {
	case len(c) == 0 || work <= 0:
		return 0
	case work >= c[len(c)-1].Work:
		last := c[len(c)-1]
		return last.Seconds * work / last.Work
	case work <= c[0].Work:
		return c.below(work)
	}
	at := 1
	for c[at].Work < work {
		at++
	}
	p, q := c[at-1], c[at]
	return p.Seconds + (q.Seconds-p.Seconds)*(work-p.Work)/(q.Work-p.Work)
}

// below is Seconds for less work than was measured: the line through the first two points, but neither less
// than the work's part of the first one nor more than it.
func (c Curve) below(work float64) float64 {
	first := c[0]
	least := first.Seconds * work / first.Work
	if len(c) == 1 {
		return least
	}
	slope := (c[1].Seconds - first.Seconds) / (c[1].Work - first.Work)
	return min(first.Seconds, max(least, first.Seconds-slope*(first.Work-work)))
}

// MarshalText writes the points.
func (c Curve) MarshalText() ([]byte, error) {
	var points []string
	for _, p := range c {
		points = append(points, fmt.Sprintf("%.4g:%.4g", p.Work, p.Seconds))
	}
	return []byte(strings.Join(points, " ")), nil
}

// UnmarshalText is the inverse of MarshalText.
func (c *Curve) UnmarshalText(text []byte) error {
	*c = nil
	for _, field := range strings.Fields(string(text)) {
		work, seconds, _ := strings.Cut(field, ":")
		var p Point
		var err error
		if p.Work, err = strconv.ParseFloat(work, 64); err == nil {
			p.Seconds, err = strconv.ParseFloat(seconds, 64)
		}
		least := 0.0 // of the work
		if len(*c) > 0 {
			least = (*c)[len(*c)-1].Work
		}
		if err != nil || !(p.Work > least && p.Work < huge*huge*huge && p.Seconds >= 0 && p.Seconds <= huge) {
			return fmt.Errorf("%q: write WORK:SECONDS, positive numbers, by increasing work", field)
		}
		*c = append(*c, p)
	}
	return nil
}
