package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// seconds writes a time.
func seconds(s float64) string {
	switch {
	case s >= 7200:
		return fmt.Sprintf("%d h %02d min", int(s)/3600, int(s)/60%60)
	case s >= 600:
		return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60)
	case s >= 100:
		return fmt.Sprintf("%.0f s", s)
	case s >= 0.1:
		return digits(s) + " s"
	}
	return digits(s*1e3) + " ms"
}

// digits writes a number with three significant digits.
func digits(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil || rounded != 0 && (math.Abs(rounded) < 1e-3 || math.Abs(rounded) >= 1e6) {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// unitOf is the largest power of 1024 that a number of bytes reaches, and its name.
func unitOf(bytes int64) (unit float64, name string) {
	unit, name = 1, "bytes"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if float64(bytes) >= 1024*unit {
			unit, name = 1024*unit, next
		}
	}
	return unit, name
}

// size writes a number of bytes.
func size(bytes int64) string {
	unit, name := unitOf(bytes)
	if unit == 1 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return digits(float64(bytes)/unit) + " " + name
}

// whole writes a whole number with its thousands apart.
func whole(n int64) string {
	text := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 && text[i-1] != '-' {
			b.WriteRune('\u202f') // a narrow blank
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// percent writes a share.
func percent(x float64) string {
	switch {
	case x > 0 && x < 0.001:
		return "< 0.1 %"
	case x < 1 && x > 0.999:
		return "> 99.9 %"
	}
	return digits(100*x) + " %"
}

// count writes a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return whole(int64(n)) + " " + many
}
