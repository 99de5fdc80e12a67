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
