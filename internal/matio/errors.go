package matio

import (
	"fmt"
	"math"
)

// Error says why a file cannot be used as a matrix.
type Error struct {
	Path string
	Line int64 // 1-based line of a text file, 0 where no line is to blame
	What string

	cause error // nil, or one that callers look for
}

func (e *Error) Unwrap() error { return e.cause }

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s: line %d: %s", e.Path, e.Line, e.What)
	}
	return fmt.Sprintf("%s: %s", e.Path, e.What)
}

// missingError says that there is no file of a name.
type missingError struct {
	path string
	err  error
}

func (e *missingError) Error() string {
	return fmt.Sprintf("%s: there is no such file; check the path, which must be the same on every node", e.path)
}

func (e *missingError) Unwrap() error { return e.err }

// wrongLength is the error of a file whose length is not what its header or name says.
func wrongLength(path string, expected, found int64) error {
	advice := "bytes follow the matrix, so the header or the name is wrong"
	if found < expected {
		advice = "it is truncated, write or copy it again"
	}
	return &Error{Path: path, What: fmt.Sprintf("expected %d bytes, found %d: %s", expected, found, advice)}
}

// NotFiniteError is the first NaN or infinity, in row-major order, of a part that was read.
type NotFiniteError struct {
	Row, Col int64 // 1-based, in the file's matrix
	Value    float64
}

func (e *NotFiniteError) Error() string {
	name := "NaN"
	if !math.IsNaN(e.Value) {
		name = map[bool]string{false: "Inf", true: "-Inf"}[e.Value < 0]
	}
	return fmt.Sprintf("%s at row %d, column %d", name, e.Row, e.Col)
}

const (
	exponentMask = 0x7FF << 52
	exponentOne  = 1 << 52
)

// finite tells whether x has neither a NaN nor an infinity. Only the exponent 0x7FF of these
// carries into bit 63 when 1 is added to it, so no branch is needed.
func finite(x []float64) bool {
	var carry uint64
	for _, v := range x {
		carry |= math.Float64bits(v)&exponentMask + exponentOne
	}
	return carry>>63 == 0
}
