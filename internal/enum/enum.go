// Package enum gives types of a few named values what a flag, a log and JSON need of them. A type
// keeps its names in a table:
//
//	type Scheme int
//
//	const (
//		Flat Scheme = iota
//		Nested
//	)
//
//	var schemes = enum.Names{Flat: "flat", Nested: "nested"}
//
//	func (s Scheme) String() string         { return schemes.Of(int(s)) }
//	func (s *Scheme) Set(text string) error { return enum.Set(s, text, schemes) }
//	func (s Scheme) Type() string           { return schemes.Type() }
//	func (s Scheme) Choices() []string      { return schemes }
package enum

import (
	"fmt"
	"slices"
	"strings"
)

// Names are the names of the values 0, 1, …
type Names []string

// Of returns the name of a value.
func (n Names) Of(value int) string {
	if value < 0 || value >= len(n) {
		return fmt.Sprintf("unknown (%d)", value)
	}
	return n[value]
}

// Type lists the names, for a help text: "auto|on|off".
func (n Names) Type() string { return strings.Join(n, "|") }

// Set gives a value the meaning of its name. The error says what may be chosen.
func Set[E ~int](value *E, text string, names Names) error {
	i := slices.Index(names, text)
	if i < 0 {
		return fmt.Errorf("choose one of %s", strings.Join(names, " "))
	}
	*value = E(i)
	return nil
}
