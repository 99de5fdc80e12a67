package matio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// market is a Matrix Market file.
type market struct {
	r          io.ReaderAt
	path       string
	size       int64
	coordinate bool
	field      string // "real", "integer", "unsigned-integer" or "pattern"
	symmetry   string // "general", "symmetric" or "skew-symmetric"
	rows, cols int64
	entries    int64 // that the file must have
	sizeLine   int64 // number of the line with the sizes
	body       int64 // bytes before the first entry
	band       band
}

// openMarket makes f the matrix of the Matrix Market file r.
func (f *File) openMarket(r io.ReaderAt) error {
	m := &market{r: r, path: f.path, size: f.size}
	lines := m.lines(0, 0)
	if err := m.readBanner(lines); err != nil {
		return err
	}
	if err := m.readSizes(f, lines); err != nil {
		return err
	}
	m.sizeLine, m.body = lines.number, lines.bytes
	shortest := int64(len("0\n")) // array
	if m.coordinate {
		shortest = int64(len("1 1\n"))
	}
	if room := m.size - m.body; m.entries > (room+1)/shortest {
		return m.errorf(lines, "%d entries are announced, but only %d bytes follow: the file is truncated, write "+
			"or copy it again", m.entries, room)
	}
	f.Dtype, f.Order, f.read = m.field, ColMajor, m.read
	if m.coordinate {
		f.Order = Coordinate
	}
	if m.rows == 0 || m.cols == 0 { // nobody reads a part of it
		return m.stream(part{j1: m.cols, i1: m.rows})
	}
	return nil
}

// readBanner reads the first line: %%MatrixMarket matrix FORMAT FIELD SYMMETRY, in any case.
func (m *market) readBanner(lines *lineReader) error {
	line, err := lines.read()
	if err != nil && err != io.EOF {
		return err
	}
	if bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff")) {
		return m.errorf(lines, "the text is UTF-16; save the file as ASCII or UTF-8")
	}
	if err := lines.checkText(line); err != nil {
		return err
	}
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // the byte-order mark of UTF-8
	words := strings.Fields(strings.ToLower(string(line)))
	if len(words) == 0 || words[0] != "%%matrixmarket" {
		return m.errorf(lines, "a Matrix Market file begins with %%%%MatrixMarket; add the line %%%%MatrixMarket "+
			"matrix array real general if rows and columns follow, then the numbers column by column")
	}
	if len(words) != 5 || words[1] != "matrix" {
		return m.errorf(lines, "expected %%%%MatrixMarket matrix FORMAT FIELD SYMMETRY")
	}
	m.coordinate, m.field, m.symmetry = words[2] == "coordinate", words[3], words[4]
	if m.symmetry == "hermitian" && m.field != "complex" {
		m.symmetry = "symmetric" // which it is in real numbers
	}
	switch {
	case !m.coordinate && words[2] != "array":
		return m.errorf(lines, "format %.20q is neither array nor coordinate", words[2])
	case m.field == "complex":
		return m.errorf(lines, "complex numbers; only real matrices are decomposed")
	case m.field != "real" && m.field != "integer" && m.field != "unsigned-integer" && m.field != "pattern":
		return m.errorf(lines, "field %.20q is not real, integer, unsigned-integer or pattern", m.field)
	case m.symmetry != "general" && m.symmetry != "symmetric" && m.symmetry != "skew-symmetric":
		return m.errorf(lines, "symmetry %.20q is not general, symmetric, skew-symmetric or hermitian", m.symmetry)
	case m.field == "pattern" && !m.coordinate:
		return m.errorf(lines, "an array has no pattern; use coordinate")
	case m.symmetry == "skew-symmetric" && (m.field == "pattern" || m.field == "unsigned-integer"):
		return m.errorf(lines, "a matrix of field %s cannot be skew-symmetric: its entries have no sign", m.field)
	}
	return nil
}

// readSizes reads the line of the sizes: rows and columns, for a coordinate file the number of entries too.
func (m *market) readSizes(f *File, lines *lineReader) error {
	names := []string{"rows", "columns", "entries"}
	if !m.coordinate {
		names = names[:2]
	}
	line, err := lines.next()
	if err == io.EOF {
		return m.errorf(lines, "the file ends before the line with the numbers of %s", strings.Join(names, ", "))
	} else if err != nil {
		return err
	}
	var words [4][]byte
	n := splitFields(line, words[:])
	if n != len(names) {
		return m.errorf(lines, "expected %d numbers (%s), found %.60q", len(names), strings.Join(names, ", "), line)
	}
	var sizes [3]int64
	for k := range n {
		sizes[k], err = parseCount(words[k])
		if errors.Is(err, errTooLarge) {
			return m.errorf(lines, "number of %s is %.30q, which is too large: at most %d", names[k], words[k],
				math.MaxInt64)
		} else if err != nil {
			return m.errorf(lines, "number of %s is %.30q, expected an integer ≥ 0", names[k], words[k])
		}
	}
	m.rows, m.cols, m.entries = sizes[0], sizes[1], sizes[2]
	if m.symmetry != "general" && m.rows != m.cols {
		return m.errorf(lines, "a %s matrix must be square, not %d×%d", m.symmetry, m.rows, m.cols)
	}
	if err := f.setShape(m.rows, m.cols); err != nil {
		return m.errorf(lines, "a %d×%d matrix is too large", m.rows, m.cols)
	}
	if !m.coordinate {
		m.entries = m.rows * m.cols
		switch m.symmetry {
		case "symmetric":
			m.entries = (m.entries + m.rows) / 2
		case "skew-symmetric":
			m.entries = (m.entries - m.rows) / 2
		}
	}
	return nil
}

// errorf returns an error about the line that was read last.
func (m *market) errorf(lines *lineReader, format string, args ...any) error {
	return &Error{Path: m.path, Line: max(1, lines.number), What: fmt.Sprintf(format, args...)}
}

// lines returns a reader of the file from byte offset on, which comes after the given number of lines.
func (m *market) lines(offset, number int64) *lineReader {
	return newLineReader(io.NewSectionReader(m.r, offset, m.size-offset), m.path, number)
}
