package matiotest

import (
	"encoding/binary"
	"math"
	"math/big"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The header of a .npy file: a Python dictionary with three keys.
var (
	descrItem = `['"]descr['"]_:_(?:'([^']*)'|"([^"]*)")`
	orderItem = `['"]fortran_order['"]_:_(True|False)`
	shapeItem = `['"]shape['"]_:_(\([0-9L, \t\r\n]*\))`
	anyItem   = `(?:` + descrItem + `|` + orderItem + `|` + shapeItem + `)_`
	header    = spaced(`^_\{_` + anyItem + `(?:,_` + anyItem + `){2}(?:,_)?\}_$`)
	descr     = spaced(descrItem)
	order     = spaced(orderItem)
	shape     = spaced(shapeItem)
	tuple     = spaced(`^\(_(?:[0-9]+_L?_(?:,_[0-9]+_L?_)*,?_)?\)$`)
	pairOf    = regexp.MustCompile(`^([<>|=]?)([fiub])([1248])$`)
)

// spaced compiles a pattern in which an underscore that stands alone is any white space.
func spaced(pattern string) *regexp.Regexp {
	pattern = strings.ReplaceAll(pattern, "fortran_order", "fortran\x00order")
	pattern = strings.ReplaceAll(pattern, "_", `[ \t\r\n]*`)
	return regexp.MustCompile(strings.ReplaceAll(pattern, "\x00", "_"))
}

// readNpy reads a .npy file.
func readNpy(image []byte) (Matrix, bool) {
	if len(image) < 12 || string(image[:6]) != "\x93NUMPY" {
		return Matrix{}, false
	}
	start, length := 10, int(image[8])|int(image[9])<<8
	switch image[6] {
	case 1:
	case 2, 3:
		start, length = 12, length|int(image[10])<<16|int(image[11])<<24
	default:
		return Matrix{}, false
	}
	if length > 1<<20 || start+length > len(image) {
		return Matrix{}, false
	}
	text := string(image[start : start+length])
	d, o, s := descr.FindStringSubmatch(text), order.FindStringSubmatch(text), shape.FindStringSubmatch(text)
	if !header.MatchString(text) || quotesDiffer(text) || d == nil || o == nil || s == nil {
		return Matrix{}, false
	}
	code := pairOf.FindStringSubmatch(d[1] + d[2])
	dims, fine := dimensions(s[1])
	if code == nil || !fine || len(dims) < 1 || len(dims) > 2 {
		return Matrix{}, false
	}
	size := int64(code[3][0] - '0')
	decode := decoder(code[2]+code[3], code[1] == ">")
	if decode == nil || size > 1 && code[1] == "|" {
		return Matrix{}, false
	}
	rows, cols := dims[0], int64(1)
	if len(dims) == 2 {
		cols = dims[1]
	}
	return dense(image[start+length:], rows, cols, size, o[1] == "True", decode)
}

// quotesDiffer tells whether a key of a header begins with one kind of quotes and ends with the other.
func quotesDiffer(text string) bool {
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		i := strings.Index(text, key)
		if i < 1 || i+len(key) >= len(text) || text[i-1] != text[i+len(key)] {
			return true
		}
	}
	return false
}

// dimensions reads a tuple.
func dimensions(text string) (dims []int64, fine bool) {
	if !tuple.MatchString(text) {
		return nil, false
	}
	digits := regexp.MustCompile(`[0-9]+`).FindAllString(text, -1)
	for _, d := range digits {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return nil, false
		}
		dims = append(dims, n)
	}
	return dims, len(dims) != 1 || strings.Contains(text, ",")
}

// decoder returns what makes a number of the bytes that have a type, nil for an unknown one.
func decoder(code string, big bool) func([]byte) float64 {
	var bytes binary.ByteOrder = binary.LittleEndian
	if big {
		bytes = binary.BigEndian
	}
	switch code {
	case "f8":
		return func(b []byte) float64 { return math.Float64frombits(bytes.Uint64(b)) }
	case "f4":
		return func(b []byte) float64 { return float64(math.Float32frombits(bytes.Uint32(b))) }
	case "f2":
		return func(b []byte) float64 { return half(bytes.Uint16(b)) }
	case "i8":
		return func(b []byte) float64 { return float64(int64(bytes.Uint64(b))) }
	case "i4":
		return func(b []byte) float64 { return float64(int32(bytes.Uint32(b))) }
	case "i2":
		return func(b []byte) float64 { return float64(int16(bytes.Uint16(b))) }
	case "i1":
		return func(b []byte) float64 { return float64(int8(b[0])) }
	case "u8":
		return func(b []byte) float64 { return float64(bytes.Uint64(b)) }
	case "u4":
		return func(b []byte) float64 { return float64(bytes.Uint32(b)) }
	case "u2":
		return func(b []byte) float64 { return float64(bytes.Uint16(b)) }
	case "u1":
		return func(b []byte) float64 { return float64(b[0]) }
	case "b1":
		return func(b []byte) float64 { return float64(min(b[0], 1)) }
	}
	return nil
}

// half is the number with the bits h of IEEE 754 binary16.
func half(h uint16) float64 {
	sign, exponent, fraction := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction == 0:
		return math.Inf(int(sign))
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// dense is the matrix in data, which must be just as long.
func dense(data []byte, rows, cols, size int64, columns bool, decode func([]byte) float64) (Matrix, bool) {
	few, countable := known(rows, cols)
	length := new(big.Int).Mul(big.NewInt(rows), big.NewInt(cols))
	if length.Mul(length, big.NewInt(size)); !countable || length.Cmp(big.NewInt(int64(len(data)))) != 0 {
		return Matrix{}, false
	}
	m := Matrix{Rows: rows, Cols: cols}
	if !few {
		return m, true
	}
	m.X = make([]float64, rows*cols)
	for k := range rows * cols {
		i, j := k/max(1, cols), k%max(1, cols)
		if columns {
			i, j = k%max(1, rows), k/max(1, rows)
		}
		m.X[i+j*rows] = decode(data[k*size:][:size])
	}
	return m, true
}

// readRaw reads a file NAME.MxN.rowmajor.f64 or NAME.MxN.colmajor.f64.
func readRaw(name string, image []byte) (Matrix, bool) {
	parts := strings.Split(filepath.ToSlash(name), ".")
	if len(parts) < 3 {
		return Matrix{}, false
	}
	way := strings.ToLower(parts[len(parts)-2])
	text := parts[len(parts)-3]
	text = text[strings.LastIndex(text, "/")+1:]
	m, n, two := strings.Cut(strings.ToLower(text), "x")
	digits := regexp.MustCompile(`^[0-9]+$`)
	if !two || !digits.MatchString(m) || !digits.MatchString(n) || way != "rowmajor" && way != "colmajor" {
		return Matrix{}, false
	}
	rows, errRows := strconv.ParseInt(m, 10, 64)
	cols, errCols := strconv.ParseInt(n, 10, 64)
	if errRows != nil || errCols != nil {
		return Matrix{}, false
	}
	return dense(image, rows, cols, 8, way == "colmajor", decoder("f8", false))
}
