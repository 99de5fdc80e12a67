package main

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"a matrix of 3×4, ‖A‖ ≤ ε": "a matrix of 3×4, ‖A‖ ≤ ε",
		`C:\new "name"`:            `C:\new "name"`,
		"two\nlines\r\tof":         `two\nlines\r\tof`,
		"\x1b[31mred\x07\x00\x7f":  `\x1b[31mred\a\x00\x7f`,
		"caf\xe9":                  `caf\xe9`,
		"right\u202eto left\u200b": `right\u202eto left\u200b`,
		"\ufffd":                   "\ufffd",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	a, b := errors.New("first"), errors.New("second")
	for _, test := range []struct {
		err  error
		want string
	}{
		{a, "first"},
		{errors.Join(a, b), "first; second"},
		{exit(exitInput, errors.Join(a, b)), "first; second"},
		{errors.Join(a, nil), "first"},
		{fmt.Errorf("%w (and %w)", a, b), "first (and second)"},
		{&fs.PathError{Op: "open", Path: "a\nb", Err: fs.ErrNotExist}, "open a\nb: file does not exist"},
	} {
		if got := oneLine(test.err); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
