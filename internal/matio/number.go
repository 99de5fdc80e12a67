package matio

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
)

// What a field of a text file may be instead of a number.
var (
	errNoNumber  = errors.New("not a number")
	errNotFinite = errors.New("not a finite number")
	errTooLarge  = errors.New("too large")
	errTooSmall  = errors.New("too small")
)

// parseReal converts a decimal number as C or Fortran writes it: a sign, digits with a point, and an
// exponent. The letter of the exponent is e, E, d or D. Fortran leaves it out before three digits: 0.5-101 is
// 0.5e-101. What only Go takes for a number, as 0x1p3 and 1_000, is none. The error is one of the above.
func parseReal(field []byte) (float64, error) {
	decimal, fortran := true, false
	for _, c := range field {
		switch c {
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '-', '+', 'e', 'E':
		case 'd', 'D':
			fortran = true
		default:
			decimal = false
		}
	}
	switch {
	case !decimal && notFinite(field):
		return 0, errNotFinite
	case !decimal:
		return 0, errNoNumber
	case fortran:
		field = bytes.Replace(bytes.ToLower(field), []byte("d"), []byte("e"), 1)
	}
	x, err := strconv.ParseFloat(string(field), 64)
	if errors.Is(err, strconv.ErrSyntax) {
		x, err = strconv.ParseFloat(withLetter(field), 64)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errTooLarge
	case err != nil:
		return 0, errNoNumber
	case x == 0 && bytes.ContainsAny(mantissa(field), "123456789"):
		return 0, errTooSmall
	}
	return x, nil
}

// mantissa returns a number of C or Fortran without its exponent.
func mantissa(field []byte) []byte {
	for k, c := range field {
		if c == 'e' || c == 'E' || k > 0 && (c == '+' || c == '-') {
			return field[:k]
		}
	}
	return field
}

// withLetter returns a number of Fortran with the letter that its exponent lacks. The digits before such
// an exponent have a point.
func withLetter(field []byte) string {
	sign := bytes.LastIndexAny(field, "+-")
	if sign < 1 || !bytes.Contains(field[:sign], []byte(".")) {
		return string(field)
	}
	return string(slices.Insert(slices.Clone(field), sign, 'e'))
}

// notFinite tells whether the field is a word for NaN or infinity.
func notFinite(field []byte) bool {
	switch string(bytes.ToLower(bytes.TrimLeft(field, "+-"))) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

// parseCount converts decimal digits, which may have a plus sign. The error is errNoNumber or errTooLarge.
func parseCount(field []byte) (int64, error) {
	digits := field
	if len(digits) > 0 && digits[0] == '+' {
		digits = digits[1:]
	}
	if len(digits) == 0 {
		return 0, errNoNumber
	}
	var n int64
	var err error
	for _, d := range digits {
		switch digit := int64(d) - '0'; {
		case digit < 0 || digit > 9:
			return 0, errNoNumber
		case n > (math.MaxInt64-digit)/10:
			err = errTooLarge
		default:
			n = 10*n + digit
		}
	}
	return n, err
}
