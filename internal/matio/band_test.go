package matio

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// counted counts the bytes that are read.
type counted struct {
	io.ReaderAt
	bytes atomic.Int64
}

func (r *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, at)
	r.bytes.Add(int64(n))
	return n, err
}

// A text is read once for each band, not for each few columns or rows, in whatever order they are asked for.
func TestBand(t *testing.T) {
	const rows, cols, width = 70, 90, 8
	var text strings.Builder
	fmt.Fprintf(&text, "%%%%MatrixMarket matrix array real general\n%d %d\n", rows, cols)
	for k := range rows * cols {
		fmt.Fprintln(&text, k)
	}
	r := &counted{ReaderAt: strings.NewReader(text.String())}
	f, err := newFile("a.mtx", r, int64(text.Len()))
	if err != nil {
		t.Fatal(err)
	}
	r.bytes.Store(0)
	got, want := make([]float64, rows*cols), make([]float64, rows*cols)
	for k := range want {
		want[k] = float64(k)
	}
	for j := int64(0); j < cols; j += width {
		if err := f.ReadColumns(j, min(j+width, cols), got[j*rows:], rows); err != nil {
			t.Fatal(err)
		}
	}
	for i := int64(0); i < rows; i += width {
		x := make([]float64, width*cols)
		if err := f.ReadRows(i, min(i+width, rows), x, width); err != nil {
			t.Fatal(err)
		}
		for k, y := range x {
			if at := i + int64(k%width); at < rows && y != want[at+int64(k/width)*rows] {
				t.Fatalf("row %d, column %d: %g", at, k/width, y)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Error("wrong numbers")
	}
	if most := int64(3 * text.Len()); r.bytes.Load() > most {
		t.Errorf("%d bytes of a file of %d were read", r.bytes.Load(), text.Len())
	}
}

// Bands end with the matrix, and hold no more than they may.
func TestWidened(t *testing.T) {
	for _, c := range []struct {
		p          part
		rows, cols int64
		want       part
		larger     bool
	}{
		{part{0, 10, 2, 3, nil, 0, 0}, 10, 20, part{0, 10, 2, 20, nil, 1, 10}, true},
		{part{4, 5, 0, 20, nil, 0, 0}, 10, 20, part{4, 10, 0, 20, nil, 20, 1}, true},
		{part{0, 1 << 20, 0, 1, nil, 0, 0}, 1 << 20, 100, part{0, 1 << 20, 0, 8, nil, 1, 1 << 20}, true},
		{part{0, 1 << 20, 0, 9, nil, 0, 0}, 1 << 20, 100, part{0, 1 << 20, 0, 9, nil, 1, 1 << 20}, false},
		{part{0, 9, 0, 1, nil, 0, 0}, 10, 20, part{0, 9, 0, 1, nil, 0, 0}, false},
		{part{0, 0, 0, 1, nil, 0, 0}, 0, 20, part{0, 0, 0, 1, nil, 0, 0}, false},
	} {
		got, larger := c.p.widened(c.rows, c.cols)
		if larger != c.larger || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v of %d×%d: %v, %t; want %v", c.p, c.rows, c.cols, got, larger, c.want)
		}
	}
}
