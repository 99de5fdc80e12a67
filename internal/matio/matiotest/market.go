package matiotest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A number in a text: with a letter before the exponent, or without one after a point.
var (
	number  = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?$`)
	fortran = regexp.MustCompile(`^([+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+))([+-][0-9]+)$`)
	whole   = regexp.MustCompile(`^\+?[0-9]+$`)
	nonzero = regexp.MustCompile(`^[+-]?[0-9.]*[1-9]`)
)

// text is a Matrix Market file as lists of words, without comments and blank lines.
type text struct {
	coordinate bool
	field      string
	symmetry   string
	rows, cols int64
	entries    [][]string
}

// readMarket reads a Matrix Market file.
func readMarket(image []byte) (Matrix, bool) {
	t, announced, ok := parse(image)
	if !ok {
		return Matrix{}, false
	}
	few, countable := known(t.rows, t.cols)
	if !countable || t.symmetry != "general" && t.rows != t.cols {
		return Matrix{}, false
	}
	places := t.coordinates
	if !t.coordinate {
		places = t.columns
	}
	found, values, ok := places(announced)
	if !ok {
		return Matrix{}, false
	}
	m := Matrix{Rows: t.rows, Cols: t.cols}
	if !few {
		return m, true
	}
	m.X = make([]float64, t.rows*t.cols)
	for k, p := range found {
		m.X[p[0]+p[1]*t.rows] = values[k]
		switch {
		case t.symmetry == "symmetric":
			m.X[p[1]+p[0]*t.rows] = values[k]
		case t.symmetry == "skew-symmetric":
			m.X[p[1]+p[0]*t.rows] = -values[k]
		}
	}
	return m, true
}

// parse splits the file, and returns the number of entries that a coordinate file announces.
func parse(image []byte) (t text, announced int64, ok bool) {
	all := strings.ReplaceAll(strings.ReplaceAll(string(image), "\r\n", "\n"), "\r", "\n")
	first, rest, _ := strings.Cut(all, "\n")
	banner := strings.Fields(strings.ToLower(strings.TrimPrefix(strings.Trim(first, " \t\v\f"), "\ufeff")))
	if len(first) > 1<<16 || len(banner) != 5 || banner[0] != "%%matrixmarket" || banner[1] != "matrix" {
		return t, 0, false
	}
	t = text{coordinate: banner[2] == "coordinate", field: banner[3], symmetry: banner[4]}
	if t.symmetry == "hermitian" {
		t.symmetry = "symmetric"
	}
	pattern, unsigned := t.field == "pattern", t.field == "unsigned-integer"
	skew := t.symmetry == "skew-symmetric"
	switch {
	case banner[2] != "array" && !t.coordinate, t.symmetry != "general" && t.symmetry != "symmetric" && !skew,
		t.field != "real" && t.field != "integer" && !unsigned && !pattern,
		pattern && (skew || !t.coordinate), unsigned && skew:
		return t, 0, false
	}
	var lines [][]string
	for _, line := range strings.Split(rest, "\n") {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\v\f", r) })
		if len(line) > 1<<16 {
			return t, 0, false
		}
		if len(words) > 0 && words[0][0] != '%' {
			lines = append(lines, words)
		}
	}
	sizes := map[bool]int{true: 3, false: 2}[t.coordinate]
	if len(lines) == 0 || len(lines[0]) != sizes {
		return t, 0, false
	}
	var n [3]int64
	for k, word := range lines[0] {
		if n[k], ok = count(word); !ok {
			return t, 0, false
		}
	}
	t.rows, t.cols, t.entries = n[0], n[1], lines[1:]
	return t, n[2], true
}

// count reads a number that is not negative.
func count(word string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(word, "+"), 10, 64)
	return n, err == nil && whole.MatchString(word)
}

// columns are the places and values of an array, column by column.
func (t text) columns(int64) (places [][2]int64, values []float64, ok bool) {
	next := 0
	for j := int64(0); t.rows > 0 && j < t.cols; j++ {
		first := map[string]int64{"general": 0, "symmetric": j, "skew-symmetric": j + 1}[t.symmetry]
		for i := first; i < t.rows; i++ {
			if next >= len(t.entries) || len(t.entries[next]) != 1 {
				return nil, nil, false
			}
			x, ok := t.value(t.entries[next][0])
			if !ok {
				return nil, nil, false
			}
			places, values = append(places, [2]int64{i, j}), append(values, x)
			next++
		}
	}
	return places, values, next == len(t.entries)
}

// coordinates are the places and values of a coordinate file.
func (t text) coordinates(announced int64) (places [][2]int64, values []float64, ok bool) {
	words := 3
	if t.field == "pattern" {
		words = 2
	}
	seen := map[[2]int64]bool{}
	for _, entry := range t.entries {
		if len(entry) != words {
			return nil, nil, false
		}
		i, fineRow := count(entry[0])
		j, fineColumn := count(entry[1])
		x := 1.0
		if words == 3 {
			if x, ok = t.value(entry[2]); !ok {
				return nil, nil, false
			}
		}
		place := [2]int64{i - 1, j - 1}
		if !fineRow || !fineColumn || i < 1 || j < 1 || i > t.rows || j > t.cols || seen[place] ||
			t.symmetry == "symmetric" && i < j || t.symmetry == "skew-symmetric" && i <= j {
			return nil, nil, false
		}
		seen[place] = true
		places, values = append(places, place), append(values, x)
	}
	return places, values, announced == int64(len(t.entries))
}

// value reads a number of the file's field.
func (t text) value(word string) (float64, bool) {
	if parts := fortran.FindStringSubmatch(word); parts != nil {
		word = parts[1] + "e" + parts[2]
	} else if !number.MatchString(word) {
		return 0, false
	}
	word = strings.NewReplacer("d", "e", "D", "e").Replace(word)
	x, err := strconv.ParseFloat(word, 64)
	switch {
	case err != nil, x == 0 && nonzero.MatchString(word):
		return 0, false
	case t.field == "unsigned-integer" && (x < 0 || x != math.Trunc(x)):
		return 0, false
	case t.field == "integer" && x != math.Trunc(x):
		return 0, false
	}
	return x, true
}
