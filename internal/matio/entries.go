package matio

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// read reads p from a stream of the whole file, and tells whether all its numbers are finite. The places and the
// number of all entries are checked; values are converted where p wants them.
func (m *market) read(p part) (bool, error) {
	p.clear()
	lines := m.lines(m.body, m.sizeLine)
	var err error
	ok := true
	if m.coordinate {
		ok, err = m.readCoordinate(p, lines)
	} else {
		ok, err = m.readArray(p, lines)
	}
	if err != nil {
		return false, err
	}
	if _, err := lines.next(); err == nil {
		return false, m.errorf(lines, "more than the %d entries that line %d announces", m.entries, m.sizeLine)
	} else if err != io.EOF {
		return false, err
	}
	return ok, nil
}

// readArray reads the entries of an array file: column by column, of a symmetric matrix from the
// diagonal down, of a skew-symmetric one from below the diagonal down.
func (m *market) readArray(p part, lines *lineReader) (bool, error) {
	ok, done := true, int64(0)
	for j := int64(0); done < m.entries; j++ {
		i := int64(0)
		switch m.symmetry {
		case "symmetric":
			i = j
		case "skew-symmetric":
			i = j + 1
		}
		for ; i < m.rows; i++ {
			fields, err := m.entry(lines, done, "value")
			if err != nil {
				return false, err
			}
			done++
			if !m.wanted(p, i, j) {
				continue
			}
			x, err := m.value(lines, fields[0], i, j)
			if err != nil {
				return false, err
			}
			ok = m.add(p, i, j, x) && ok
		}
	}
	return ok, nil
}

// readCoordinate reads the entries of a coordinate file: row and column, 1-based, and a value unless it is a pattern.
func (m *market) readCoordinate(p part, lines *lineReader) (bool, error) {
	names := []string{"row", "column", "value"}
	if m.field == "pattern" {
		names = names[:2]
	}
	ok := true
	for done := range m.entries {
		fields, err := m.entry(lines, done, names...)
		if err != nil {
			return false, err
		}
		i, errRow := parseCount(fields[0])
		j, errCol := parseCount(fields[1])
		switch {
		case errRow != nil || i < 1 || i > m.rows:
			return false, m.errorf(lines, "row %.30q is not one of 1 to %d", fields[0], m.rows)
		case errCol != nil || j < 1 || j > m.cols:
			return false, m.errorf(lines, "column %.30q is not one of 1 to %d", fields[1], m.cols)
		case m.symmetry == "symmetric" && i < j:
			return false, m.errorf(lines, "entry (%d,%d) is above the diagonal of a symmetric matrix; only the lower triangle is stored", i, j)
		case m.symmetry == "skew-symmetric" && i <= j:
			return false, m.errorf(lines, "entry (%d,%d) is not below the diagonal of a skew-symmetric matrix; only these are stored", i, j)
		case !m.wanted(p, i-1, j-1):
			continue
		}
		x := 1.0
		if len(names) == 3 {
			if x, err = m.value(lines, fields[2], i-1, j-1); err != nil {
				return false, err
			}
		}
		ok = m.add(p, i-1, j-1, x) && ok
	}
	return ok, nil
}

// entry returns the fields of the next entry, after done entries, which must be as many as names.
func (m *market) entry(lines *lineReader, done int64, names ...string) (fields [4][]byte, err error) {
	line, err := lines.next()
	if err == io.EOF {
		return fields, m.errorf(lines, "the file ends after %d entries; line %d announces %d", done, m.sizeLine, m.entries)
	} else if err != nil {
		return fields, err
	}
	if n := splitFields(line, fields[:]); n != len(names) {
		return fields, m.errorf(lines, "expected an entry (%s), found %.60q", strings.Join(names, ", "), line)
	}
	return fields, nil
}

// value converts the value of entry (i,j), 0-based.
func (m *market) value(lines *lineReader, field []byte, i, j int64) (float64, error) {
	x, err := parseReal(field)
	switch {
	case errors.Is(err, errTooLarge):
		return 0, m.errorf(lines, "value %.30q does not fit in a float64", field)
	case errors.Is(err, errNotFinite):
		x, _ = strconv.ParseFloat(string(field), 64) // which takes such words
		return 0, m.errorf(lines, "%v", &NotFiniteError{Row: i + 1, Col: j + 1, Value: x})
	case err != nil:
		return 0, m.errorf(lines, "value %.30q is not a decimal number", field)
	case m.field == "unsigned-integer" && (x < 0 || x != math.Trunc(x)):
		return 0, m.errorf(lines, "value %.30q in a file of unsigned integers", field)
	case m.field == "integer" && x != math.Trunc(x):
		return 0, m.errorf(lines, "value %.30q in a file of integers", field)
	}
	return x, nil
}

// wanted tells whether entry (i,j) of the file is in p, or its mirror image is.
func (m *market) wanted(p part, i, j int64) bool {
	return p.holds(i, j) || m.symmetry != "general" && p.holds(j, i)
}

// add adds x to entry (i,j), and ±x to its mirror image, where they are in p; it tells
// whether the sums are finite.
func (m *market) add(p part, i, j int64, x float64) bool {
	ok := p.add(i, j, x)
	switch {
	case m.symmetry == "symmetric" && i != j:
		ok = p.add(j, i, x) && ok
	case m.symmetry == "skew-symmetric":
		ok = p.add(j, i, -x) && ok
	}
	return ok
}

// clear sets the numbers of the part to 0.
func (p *part) clear() {
	runs, n, stride := p.j1-p.j0, p.i1-p.i0, p.cs
	if p.rs != 1 {
		runs, n, stride = n, runs, p.rs
	}
	if n == 0 {
		return
	}
	for k := range runs {
		clear(p.dst[int(k)*stride:][:n])
	}
}

// holds tells whether entry (i,j) is in the part.
func (p *part) holds(i, j int64) bool {
	return p.i0 <= i && i < p.i1 && p.j0 <= j && j < p.j1
}

// add adds x to entry (i,j) if the part has it, and tells whether the sum is finite.
func (p *part) add(i, j int64, x float64) bool {
	if !p.holds(i, j) {
		return true
	}
	sum := &p.dst[int(i-p.i0)*p.rs+int(j-p.j0)*p.cs]
	*sum += x
	return *sum-*sum == 0
}
