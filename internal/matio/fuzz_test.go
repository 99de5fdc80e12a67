package matio

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

// FuzzNpy: no file makes the reader panic or take more memory than the file's length supports, and the
// readers of columns and of rows agree.
func FuzzNpy(f *testing.F) {
	f.Add(npyImage(1, "<f8", false, "(2, 3)", numbers(6)))
	f.Add(npyImage(2, ">f4", true, "(3, 4)", numbers(6)))
	f.Add(npyImage(3, "|b1", false, "(48,)", numbers(6)))
	f.Add(npyImage(1, "<f8", false, "(184)", nil))
	f.Add(npyImage(1, "<c16", false, "(9223372036854775807, 9223372036854775807)", nil))
	f.Add(npyImage(1, "<f2", true, "(0, 9223372036854775807)", nil))
	f.Add(npyImage(1, "=i2", false, "(2, 12)", numbers(6)))
	f.Add(npyText(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", nil))
	f.Add([]byte(npyMagic + "\x02\x00\xff\xff\xff\xff{"))
	f.Fuzz(func(t *testing.T, image []byte) { fuzzReaders(t, "a.npy", image) })
}

// FuzzMtx is FuzzNpy for Matrix Market.
func FuzzMtx(f *testing.F) {
	for _, text := range []string{
		"%%MatrixMarket matrix array real general\n2 2\n1\n-2.5\n3e2\n4\n",
		"%%MatrixMarket matrix array integer skew-symmetric\r\n%c\r\n\r\n3 3\r\n1\r\n2\r\n3\r\n",
		"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 nan\n",
		"%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 1\n1 1",
		"%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 1e308\n1 1 1e308\n",
		"%%MatrixMarket matrix array real general\n1 1\n1e-999\n",
		"%%MatrixMarket matrix coordinate real general\n99999 9999999999 9223372036854775807\n1 1 1\n",
		"%%MatrixMarket matrix array real general\n0 9223372036854775807\n",
		"%%MatrixMarket matrix array complex hermitian\n1 1\n1 0\n",
		"\ufeff%%MatrixMarket matrix array unsigned-integer general\r+1 2\r3\r\n-4\n",
		"%%MatrixMarket matrix coordinate real hermitian\n2 2 3\n1 1 0.3D+01\n2 1 1.5-300\n2 2 1_0\n",
		"\xff\xfe%\x00",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, image []byte) { fuzzReaders(t, "a.mtx", image) })
}

func fuzzReaders(t *testing.T, name string, image []byte) {
	f, err := newFile(name, bytes.NewReader(image), int64(len(image)))
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Path != name {
			t.Fatalf("not an *Error: %v", err)
		}
		return
	}
	size := f.Rows * f.Cols
	if size > int64(len(image)) && f.Format == "npy" {
		t.Fatalf("a %d×%d matrix in %d bytes", f.Rows, f.Cols, len(image))
	}
	if size > 1<<16 || max(f.Rows, f.Cols) > 1<<16 {
		return // a sparse matrix, or an empty one: its parts are the caller's to allocate
	}
	byColumns, byRows := make([]float64, size), make([]float64, size)
	for j := range f.Cols {
		err = errors.Join(err, f.ReadColumns(j, j+1, byColumns[j*f.Rows:], int(f.Rows)))
	}
	errRows := f.ReadRows(0, f.Rows, byRows, int(f.Rows))
	if f.Rows*f.Cols > 0 && (err == nil) != (errRows == nil) {
		t.Fatalf("by columns: %v; by rows: %v", err, errRows)
	}
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if err == nil && !slices.EqualFunc(byColumns, byRows, same) {
		t.Fatalf("by columns: %v; by rows: %v", byColumns, byRows)
	}
}
