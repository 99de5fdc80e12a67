package matio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// checkReaders reads a part of f in all four ways and compares with the twin; ld leaves a gap that must stay as it was.
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

// TestFlatAgainstTwin reads parts of files of all types, orders and byte orders; the shapes reach
// every way of reading.
func TestFlatAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		short := rapid.IntRange(0, 75).Draw(t, "short side")
		long := rapid.OneOf(rapid.IntRange(0, 75), rapid.IntRange(1000, 9000)).Draw(t, "long side")
		rows, cols := short, long
		if rapid.Bool().Draw(t, "tall") {
			rows, cols = long, short
		}
		descr := rapid.SampledFrom([]string{"<f8", ">f8", "<f4", ">f4", "<f2", ">f2", "<i8", ">i8", "<i4", ">i4",
			"<i2", ">i2", "|i1", "<u8", ">u8", "<u4", ">u4", "<u2", ">u2", "|u1", "|b1"}).Draw(t, "descr")
		want := newTwin(rows, cols, func(i, j int) float64 {
			switch descr[1] {
			case 'b':
				return float64((i*7 + j*3) % 2)
			case 'u':
				return float64((i*31 + j*17) % 251)
			}
			return float64((i*31+j*17)%251 - 125)
		})
		fortran := rapid.Bool().Draw(t, "fortran")
		version := rapid.SampledFrom([]byte{1, 2, 3}).Draw(t, "version")
		image := npyImage(version, descr, fortran, fmt.Sprintf("(%d, %d)", rows, cols), want.encode(descr, fortran))
		f, err := newFile("a.npy", bytes.NewReader(image), int64(len(image)))
		if err != nil {
			t.Fatal(err)
		}
		checkReaders(t, f, want)
	})
}

// TestRoundedIntegers: integers beyond 2⁵³ are rounded to nearest, the largest unsigned one included.
func TestRoundedIntegers(t *testing.T) {
	for _, c := range []struct {
		descr string
		bits  uint64
		want  float64
	}{{"<i8", 1<<53 + 1, 1 << 53}, {"<i8", 1 << 63, -(1 << 63)}, {"<u8", math.MaxUint64, 1 << 64}} {
		image := npyImage(1, c.descr, false, "(1, 1)", binary.LittleEndian.AppendUint64(nil, c.bits))
		if x := readAll(t, "a.npy", image); x[0] != c.want {
			t.Errorf("%s %#x: %v, expected %v", c.descr, c.bits, x[0], c.want)
		}
	}
}

// TestHalf compares all finite binary16 numbers with their definition, (−1)^s·2^(e−25)·(1024+f), e > 0, or
// (−1)^s·2^(−24)·f.
func TestHalf(t *testing.T) {
	x := make([]float64, 1)
	for h := range 1 << 16 {
		fraction, exponent := float64(h&0x3FF), h>>10&0x1F
		want := math.Ldexp(fraction, -24)
		if exponent > 0 {
			want = math.Ldexp(1024+fraction, exponent-25)
		}
		if exponent == 31 {
			want = math.Inf(1)
			if fraction > 0 {
				want = math.NaN()
			}
		}
		if h>>15 == 1 {
			want = -want
		}
		widenHalf(x, binary.NativeEndian.AppendUint16(nil, uint16(h)))
		same := x[0] == want && math.Signbit(x[0]) == math.Signbit(want) || math.IsNaN(want) && math.IsNaN(x[0])
		if !same {
			t.Fatalf("%#04x is %v, expected %v", h, x[0], want)
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

// TestNotFinite: the first bad number in row-major order of the part is found in every way of reading;
// bad numbers outside the part are not seen, though the reader may read through them.
func TestNotFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(5000, 6000)).Draw(t, "rows")
		cols := rapid.IntRange(1, 40).Draw(t, "columns")
		if rapid.Bool().Draw(t, "turn") {
			rows, cols = cols, rows
		}
		want := newTwin(rows, cols, func(i, j int) float64 { return float64(i - j) })
		for range rapid.IntRange(1, 3).Draw(t, "bad numbers") {
			k := rapid.IntRange(0, rows*cols-1).Draw(t, "place")
			want.x[k] = rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "value")
		}
		fortran := rapid.Bool().Draw(t, "fortran")
		descr := rapid.SampledFrom([]string{"<f8", ">f4"}).Draw(t, "descr")
		image := npyImage(1, descr, fortran, fmt.Sprintf("(%d, %d)", rows, cols), want.encode(descr, fortran))
		f, err := newFile("a.npy", bytes.NewReader(image), int64(len(image)))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range readers {
			count := r.count(want)
			k0 := rapid.IntRange(0, count).Draw(t, "k0")
			k1 := rapid.IntRange(k0, count).Draw(t, "k1")
			height, width := r.shape(want, k1-k0)
			var first *NotFiniteError
			for a := range height {
				for b := range width {
					x := r.at(want, k0, a, b)
					i, j := r.place(k0, a, b)
					if (math.IsNaN(x) || math.IsInf(x, 0)) &&
						(first == nil || int64(i+1) < first.Row || int64(i+1) == first.Row && int64(j+1) < first.Col) {
						first = &NotFiniteError{Row: int64(i + 1), Col: int64(j + 1), Value: x}
					}
				}
			}
			err := r.read(f, int64(k0), int64(k1), make([]float64, height*width), height)
			var found *NotFiniteError
			if errors.As(err, &found) != (first != nil) || first != nil && found.Error() != first.Error() {
				t.Fatalf("%s(%d, %d) of a %d×%d matrix: %v, expected %v", r.name, k0, k1, rows, cols, err, first)
			}
		}
	})
}

func TestNotFiniteText(t *testing.T) {
	for text, err := range map[string]*NotFiniteError{
		"NaN at row 3, column 17": {3, 17, math.NaN()},
		"Inf at row 1, column 2":  {1, 2, math.Inf(1)},
		"-Inf at row 2, column 1": {2, 1, math.Inf(-1)},
	} {
		if err.Error() != text {
			t.Errorf("%q, expected %q", err, text)
		}
	}
}

// meter counts what is read.
type meter struct {
	r            io.ReaderAt
	calls, bytes int
}

func (m *meter) ReadAt(p []byte, at int64) (int, error) {
	m.calls++
	m.bytes += len(p)
	return m.r.ReadAt(p, at)
}

// TestBytesRead: where segments are far apart only their bytes are read; where they are close, in few calls.
func TestBytesRead(t *testing.T) {
	for _, c := range []struct {
		rows, cols, j0, j1 int
		calls, bytes       int // at most
	}{
		{64, 6000, 1500, 3000, 64, 64 * 1500 * 8},
		{6000, 64, 16, 32, 4, 6000 * 64 * 8},
	} {
		want := newTwin(c.rows, c.cols, func(i, j int) float64 { return float64(i + j) })
		image := npyImage(1, "<f8", false, fmt.Sprintf("(%d, %d)", c.rows, c.cols), want.encode("<f8", false))
		m := &meter{r: bytes.NewReader(image)}
		f, err := newFile("a.npy", m, int64(len(image)))
		if err != nil {
			t.Fatal(err)
		}
		m.calls, m.bytes = 0, 0
		if err := f.ReadColumns(int64(c.j0), int64(c.j1), make([]float64, c.rows*(c.j1-c.j0)), c.rows); err != nil {
			t.Fatal(err)
		}
		if m.calls > c.calls || m.bytes > c.bytes {
			t.Errorf("%d×%d, columns [%d, %d): %d bytes in %d calls, expected at most %d in %d",
				c.rows, c.cols, c.j0, c.j1, m.bytes, m.calls, c.bytes, c.calls)
		}
	}
}
