package matio

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestParseReal: decimal numbers of C and Fortran are read, and nothing else.
func TestParseReal(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0": math.Copysign(0, -1), "+7": 7, "1.": 1, ".5": 0.5, "-1.5e3": -1500, "2E+01": 20, "0e-400": 0,
		"-0.0-400": math.Copysign(0, -1),
		"0.3D+01":  3, "0.3d+01": 3, "4D0": 4, "-.5d-1": -0.05,
		"0.5-101": 0.5e-101, "-1.5+100": -1.5e100, "1.+2": 100,
	} {
		if x, err := parseReal([]byte(text)); err != nil || math.Float64bits(x) != math.Float64bits(want) {
			t.Errorf("%s: %v, %v, want %v", text, x, err, want)
		}
	}
	for text, want := range map[string]error{
		"": errNoNumber, "+": errNoNumber, ".": errNoNumber, "e5": errNoNumber, "D5": errNoNumber,
		"1e": errNoNumber, "1d+": errNoNumber,
		"1_000": errNoNumber, "1_0.5": errNoNumber, "0x10": errNoNumber, "0x1p3": errNoNumber, "0b1": errNoNumber,
		"1,5":  errNoNumber,
		"1.5f": errNoNumber, "1i": errNoNumber, "1 2": errNoNumber, "1\x00": errNoNumber, "١": errNoNumber,
		"1-2": errNoNumber, "--1": errNoNumber, "1.5-": errNoNumber, "1.5d3d": errNoNumber, "1.5e3d2": errNoNumber,
		"1.5e3-2": errNoNumber,
		"1.5+-2":  errNoNumber, "1.5+2+3": errNoNumber, "1.#INF": errNoNumber, "nanny": errNoNumber,
		"nan": errNotFinite, "-NaN": errNotFinite, "Inf": errNotFinite, "+inf": errNotFinite,
		"INFINITY": errNotFinite,
		"1e-400":   errTooSmall, "-1.5D-999": errTooSmall, "0.5-999": errTooSmall,
		"1e999": errTooLarge, "-1D999": errTooLarge, "1.5+999": errTooLarge,
	} {
		if x, err := parseReal([]byte(text)); err != want {
			t.Errorf("%q: %v, %v, want the error %v", text, x, err, want)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "+12": 12, "007": 7, "9223372036854775807": math.MaxInt64} {
		if n, err := parseCount([]byte(text)); err != nil || n != want {
			t.Errorf("%s: %d, %v, want %d", text, n, err, want)
		}
	}
	for text, want := range map[string]error{
		"": errNoNumber, "+": errNoNumber, "++1": errNoNumber, "-1": errNoNumber, "1_0": errNoNumber,
		"0x1": errNoNumber, "1.0": errNoNumber,
		"9223372036854775808": errTooLarge, "19223372036854775808": errTooLarge,
		"99999999999999999999999":  errTooLarge,
		"99999999999999999999999x": errNoNumber,
	} {
		if n, err := parseCount([]byte(text)); err != want {
			t.Errorf("%q: %d, %v, want the error %v", text, n, err, want)
		}
	}
}

// TestMarketLong: a text of several buffers is read alike wherever a line crosses from one to the next.
func TestMarketLong(t *testing.T) {
	const entries = 3 * maxLine / 8
	values := make([]float64, entries)
	for k := range values {
		values[k] = float64(k%100_000) / 8
	}
	for _, end := range []string{"\n", "\r\n", "\r"} {
		for pad := range 9 {
			var b strings.Builder
			fmt.Fprintf(&b, "%%%%MatrixMarket matrix array real general%s%%%s%s%d 1%s", end, strings.Repeat("-", pad),
				end, entries, end)
			for _, x := range values {
				fmt.Fprintf(&b, "%g%s", x, end)
			}
			if x := readAll(t, "a.mtx", []byte(b.String())); !slices.Equal(x, values) {
				t.Errorf("lines that end with %q after a comment of %d bytes: %d numbers differ", end, pad, len(x))
			}
		}
	}
}
