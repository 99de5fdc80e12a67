package matio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// npyImage returns the bytes of a .npy file, numpy's header around data.
func npyImage(version byte, descr string, fortran bool, shape string, data []byte) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
		map[bool]string{false: "False", true: "True"}[fortran], shape)
	return npyText(version, text, data)
}

// npyText is npyImage with any text for a header.
func npyText(version byte, text string, data []byte) []byte {
	image := append([]byte(npyMagic), version, 0)
	if version == 1 {
		image = binary.LittleEndian.AppendUint16(image, uint16(len(text)+1))
	} else {
		image = binary.LittleEndian.AppendUint32(image, uint32(len(text)+1))
	}
	image = append(image, text...)
	return append(append(image, '\n'), data...)
}

// encode appends x in numpy's type descr, which must hold it exactly.
func encode(data []byte, descr string, x float64) []byte {
	var order interface {
		binary.AppendByteOrder
		binary.ByteOrder
	} = binary.LittleEndian
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	switch descr[1:] {
	case "f8":
		return order.AppendUint64(data, math.Float64bits(x))
	case "f4":
		return order.AppendUint32(data, math.Float32bits(float32(x)))
	case "f2": // small integers only
		if x == 0 {
			return order.AppendUint16(data, 0)
		}
		fraction, exponent := math.Frexp(math.Abs(x))
		h := uint16(exponent+14)<<10 | uint16(fraction*2048)&0x3FF
		if x < 0 {
			h |= 0x8000
		}
		return order.AppendUint16(data, h)
	case "i8", "u8":
		return order.AppendUint64(data, uint64(int64(x)))
	case "i4", "u4":
		return order.AppendUint32(data, uint32(int64(x)))
	case "i2", "u2":
		return order.AppendUint16(data, uint16(int64(x)))
	}
	return append(data, byte(int64(x))) // i1, u1, b1
}

// twin is a matrix in memory, column-major, read without any cleverness.
type twin struct {
	rows, cols int
	x          []float64
}

func newTwin(rows, cols int, entry func(i, j int) float64) twin {
	t := twin{rows, cols, nil}
	for j := range cols {
		for i := range rows {
			t.x = append(t.x, entry(i, j))
		}
	}
	return t
}

func (t twin) at(i, j int) float64 { return t.x[i+j*t.rows] }

// encode returns the entries of the twin as a .npy file has them.
func (t twin) encode(descr string, fortran bool) []byte {
	var data []byte
	if fortran {
		for _, x := range t.x {
			data = encode(data, descr, x)
		}
		return data
	}
	for i := range t.rows {
		for j := range t.cols {
			data = encode(data, descr, t.at(i, j))
		}
	}
	return data
}

// readers are the four ways to read rows or columns k0 ≤ k < k1, with what each makes of the twin.
var readers = []struct {
	name  string
	read  func(*File, int64, int64, []float64, int) error
	count func(twin) int                       // rows or columns in all
	shape func(t twin, k int) (int, int)       // of dst for k of them
	at    func(t twin, k0, a, b int) float64   // entry (a,b) of dst
	place func(k0, a, b int) (row, column int) // in the file's matrix
}{
	{"ReadColumns", (*File).ReadColumns, func(t twin) int { return t.cols },
		func(t twin, k int) (int, int) { return t.rows, k },
		func(t twin, k0, a, b int) float64 { return t.at(a, k0+b) },
		func(k0, a, b int) (int, int) { return a, k0 + b }},
	{"ReadColumnsT", (*File).ReadColumnsT, func(t twin) int { return t.cols },
		func(t twin, k int) (int, int) { return k, t.rows },
		func(t twin, k0, a, b int) float64 { return t.at(b, k0+a) },
		func(k0, a, b int) (int, int) { return b, k0 + a }},
	{"ReadRows", (*File).ReadRows, func(t twin) int { return t.rows },
		func(t twin, k int) (int, int) { return k, t.cols },
		func(t twin, k0, a, b int) float64 { return t.at(k0+a, b) },
		func(k0, a, b int) (int, int) { return k0 + a, b }},
	{"ReadRowsT", (*File).ReadRowsT, func(t twin) int { return t.rows },
		func(t twin, k int) (int, int) { return t.cols, k },
		func(t twin, k0, a, b int) float64 { return t.at(k0+b, a) },
		func(k0, a, b int) (int, int) { return k0 + b, a }},
}

const untouched = 12345.5

// checkReaders reads a part of f in all four ways and compares with the twin; ld leaves a gap that
// must stay as it was.
func checkReaders(t *rapid.T, f *File, want twin) {
	for _, r := range readers {
		count := r.count(want)
		k0 := rapid.IntRange(0, count).Draw(t, "k0")
		k1 := rapid.IntRange(k0, count).Draw(t, "k1")
		height, width := r.shape(want, k1-k0)
		ld := height + rapid.IntRange(0, 3).Draw(t, "gap")
		dst := make([]float64, ld*width)
		for k := range dst {
			dst[k] = untouched
		}
		if err := r.read(f, int64(k0), int64(k1), dst, ld); err != nil {
			t.Fatalf("%s(%d, %d): %v", r.name, k0, k1, err)
		}
		for b := range width {
			for a := range ld {
				expected := untouched
				if a < height {
					expected = r.at(want, k0, a, b)
				}
				if dst[a+b*ld] != expected {
					t.Fatalf("%s(%d, %d): entry (%d,%d) is %v, expected %v", r.name, k0, k1, a, b, dst[a+b*ld], expected)
				}
			}
		}
	}
}

// readAll reads the whole matrix of a file image, column-major.
func readAll(t *testing.T, name string, image []byte) []float64 {
	t.Helper()
	f, err := newFile(name, bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, f.Rows*f.Cols)
	if err := f.ReadColumns(0, f.Cols, x, int(f.Rows)); err != nil {
		t.Fatal(err)
	}
	return x
}
