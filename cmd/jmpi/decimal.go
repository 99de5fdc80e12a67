package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// decimal is the value of a flag, a float64. One that is not 0 but would become 0 is refused.
type decimal float64

// errTooSmall says that float64 has no number that is so small.
var errTooSmall = errors.New("would become 0")

// decimalVar makes a flag of a number.
func decimalVar(flags *pflag.FlagSet, x *float64, name string, value float64, usage string) {
	*x = value
	flags.Var((*decimal)(x), name, usage)
}

func (x *decimal) String() string { return strconv.FormatFloat(float64(*x), 'g', -1, 64) }

// Type returns what the value is, as pflag calls it.
func (x *decimal) Type() string { return "float64" }

// Set reads the number.
func (x *decimal) Set(text string) error {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	digits := text
	if i := strings.IndexAny(text, "eEpP"); i >= 0 {
		digits = text[:i]
	}
	if value == 0 && strings.ContainsAny(digits, "123456789") {
		return errTooSmall
	}
	*x = decimal(value)
	return nil
}
