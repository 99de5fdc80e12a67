package page

import (
	"testing"

	"gonum.org/v1/plot"
)

// Axes have a few round numbers, whatever they count.
func TestAxes(t *testing.T) {
	for n := 1; n < 3e6; n += 1 + n/3 {
		var a plot.Axis
		counting(&a, n)
		ticks := a.Tick.Marker.Ticks(a.Min, a.Max)
		if len(ticks) < 2 || len(ticks) > mostTicks || ticks[1].Value > float64(n) {
			t.Errorf("%d: %v", n, ticks)
		}
		numbered(&a, min(n, 200))
		if ticks := a.Tick.Marker.Ticks(a.Min, a.Max); len(ticks) > 12 || ticks[0].Label != "1" {
			t.Errorf("%d: %v", n, ticks)
		}
	}
	for low := 1e-300; low < 1e300; low *= 1e17 {
		for high := low; high < 1e300; high *= 1e13 {
			var a plot.Axis
			logarithmic(&a, low, high)
			labels := 0
			for _, tick := range a.Tick.Marker.Ticks(a.Min, a.Max) {
				if tick.Label != "" {
					labels++
				}
			}
			if labels < 2 || labels > mostTicks+1 || a.Min > low*(1+1e-12) || a.Max < high*(1-1e-12) {
				t.Errorf("%g to %g: %d labels, from %g to %g", low, high, labels, a.Min, a.Max)
			}
		}
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		seconds(0.00123): "1.23 ms", seconds(0): "0 ms", seconds(1.5): "1.5 s", seconds(123.4): "123 s",
		seconds(3725): "62 min 05 s", seconds(7384): "2 h 03 min",
		size(0): "0 bytes", size(1023): "1023 bytes", size(5 << 20): "5 MiB", size(3 << 40): "3 TiB",
		whole(7): "7", whole(-1234567): "-1\u202f234\u202f567", whole(123): "123",
		percent(1): "100 %", percent(0.9999): "> 99.9 %", percent(1e-5): "< 0.1 %", percent(0.1234): "12.3 %",
		digits(0.00012345): "0.000123", digits(1234567): "1.23e+06", digits(1234): "1230",
		count(1, "rank", "ranks"): "1 rank", count(0, "rank", "ranks"): "0 ranks",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
