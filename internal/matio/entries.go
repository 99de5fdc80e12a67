package matio

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// read reads p, and tells that all its numbers are finite: one that is not is an error of its line.
func (m *market) read(p part) (bool, error) {
	err := m.band.read(p, m.rows, m.cols, m.stream)
	return err == nil, err
}

// stream reads p from a stream of the whole file. The places and the number of all entries are checked;
// values are converted where p wants them.
func (m *market) stream(p part) error {
	p.clear()
	lines := m.lines(m.body, m.sizeLine)
	list := m.readArray
	if m.coordinate {
		list = m.readCoordinate
	}
	if err := list(p, lines); err != nil {
		return err
	}
	if _, err := lines.next(); err == nil {
		return m.errorf(lines, "more than the %d entries that line %d announces", m.entries, m.sizeLine)
	} else if err != io.EOF {
		return err
	}
	return nil
}

// readArray reads the entries of an array file: column by column, of a symmetric matrix from the
// diagonal down, of a skew-symmetric one from below the diagonal down.
func (m *market) readArray(p part, lines *lineReader) error {
	done := int64(0)
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
				return err
			}
			done++
			if !m.wanted(p, i, j) {
				continue
			}
			x, err := m.value(lines, fields[0], i, j)
			if err != nil {
				return err
			}
			m.put(p, i, j, x)
		}
	}
	return nil
}

// readCoordinate reads the entries of a coordinate file: row and column, 1-based, and a value
// unless it is a pattern.
func (m *market) readCoordinate(p part, lines *lineReader) error {
	names := m.names()
	places := newPlaces(p)
	for done := range m.entries {
		fields, err := m.entry(lines, done, names...)
		if err != nil {
			return err
		}
		i, errRow := parseCount(fields[0])
		j, errCol := parseCount(fields[1])
		switch {
		case errRow == nil && i == 0 || errCol == nil && j == 0:
			return m.errorf(lines, "entry (%.30s,%.30s): rows and columns are counted from 1", fields[0], fields[1])
		case errRow != nil || i > m.rows:
			return m.errorf(lines, "row %.30q is not one of 1 to %d", fields[0], m.rows)
		case errCol != nil || j > m.cols:
			return m.errorf(lines, "column %.30q is not one of 1 to %d", fields[1], m.cols)
		case m.symmetry == "symmetric" && i < j:
			return m.errorf(lines, "entry (%d,%d) is above the diagonal of a symmetric matrix; only the "+
				"lower triangle is stored", i, j)
		case m.symmetry == "skew-symmetric" && i <= j:
			return m.errorf(lines, "entry (%d,%d) is not below the diagonal of a skew-symmetric matrix; "+
				"only these are stored", i, j)
		case !m.wanted(p, i-1, j-1):
			continue
		}
		x := 1.0
		if len(names) == 3 {
			if x, err = m.value(lines, fields[2], i-1, j-1); err != nil {
				return err
			}
		}
		if !places.take(i-1, j-1) {
			return m.twice(lines, i, j)
		}
		m.put(p, i-1, j-1, x)
	}
	return nil
}

// twice is the error of the entry (i,j), 1-based, in the line that was read last: an earlier line has it too.
func (m *market) twice(lines *lineReader, i, j int64) error {
	again := m.lines(m.body, m.sizeLine)
	for done := range m.entries {
		fields, err := m.entry(again, done, m.names()...)
		if err != nil {
			return err
		}
		row, _ := parseCount(fields[0]) // which were parsed before
		column, _ := parseCount(fields[1])
		if row == i && column == j {
			break
		}
	}
	return m.errorf(lines, "entry (%d,%d) is in line %d already; programs differ in what two entries of one "+
		"place mean: write one, their sum if that is meant", i, j, again.number)
}

// names are the fields of an entry of a coordinate file.
func (m *market) names() []string {
	if m.field == "pattern" {
		return []string{"row", "column"}
	}
	return []string{"row", "column", "value"}
}

// entry returns the fields of the next entry, after done entries, which must be as many as names.
func (m *market) entry(lines *lineReader, done int64, names ...string) (fields [4][]byte, err error) {
	line, err := lines.next()
	if err == io.EOF {
		return fields, m.errorf(lines, "the file ends after %d entries; line %d announces %d", done, m.sizeLine,
			m.entries)
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
	case errors.Is(err, errTooSmall):
		return 0, m.errorf(lines, "value %.30q would become 0: float64 ends at 4.9e-324; write 0, or multiply "+
			"the matrix by a power of two", field)
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

// put sets entry (i,j) to x, and its mirror image to ±x, where they are in p.
func (m *market) put(p part, i, j int64, x float64) {
	p.put(i, j, x)
	switch {
	case m.symmetry == "symmetric" && i != j:
		p.put(j, i, x)
	case m.symmetry == "skew-symmetric":
		p.put(j, i, -x)
	}
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

// put sets entry (i,j) to x if the part has it.
func (p *part) put(i, j int64, x float64) {
	if p.holds(i, j) {
		p.dst[int(i-p.i0)*p.rs+int(j-p.j0)*p.cs] = x
	}
}

// places has a bit for each entry of a part: whether the file has given it.
type places struct {
	part part
	bits []uint64
}

func newPlaces(p part) *places {
	return &places{p, make([]uint64, ((p.i1-p.i0)*(p.j1-p.j0)+63)/64)}
}

// take notes that the file has given entry (i,j), and tells whether it is the first time. The entry or its
// mirror image is in the part. Of a symmetric matrix a file has only one of the two.
func (s *places) take(i, j int64) bool {
	if !s.part.holds(i, j) {
		i, j = j, i
	}
	k := (i-s.part.i0)*(s.part.j1-s.part.j0) + j - s.part.j0
	word, bit := &s.bits[k/64], uint64(1)<<(k%64)
	first := *word&bit == 0
	*word |= bit
	return first
}
