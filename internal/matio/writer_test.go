package matio

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestHeaderAsNumpyWrites compares the header with the bytes that numpy.save writes.
func TestHeaderAsNumpyWrites(t *testing.T) {
	dir := t.TempDir()
	w, err := CreateNpy(filepath.Join(dir, "a.npy"), 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := WriteVector(filepath.Join(dir, "v.npy"), []float64{1}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.npy": "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }" +
			strings.Repeat(" ", 59) + "\n" + strings.Repeat("\x00", 48),
		"v.npy": "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }" +
			strings.Repeat(" ", 60) + "\n\x00\x00\x00\x00\x00\x00\xf0\x3f",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s: %q, expected %q", name, got, want)
		}
	}
	for _, shape := range []string{"(0, 0)", "(9223372036854775807, 0)"} {
		if h := formatNpyHeader(true, shape); len(h)%64 != 0 || h[len(h)-1] != '\n' {
			t.Errorf("shape %s: header of %d bytes", shape, len(h))
		}
	}
}

// TestParallelWriters: writers with their own file handles write disjoint columns and rows of one
// file at once.
func TestParallelWriters(t *testing.T) {
	const rows, cols, columns, writers = 700, 600, 400, 4 // columns [0, 400) by columns, the rest by rows
	want := newTwin(rows, cols, func(i, j int) float64 { return float64(i) + 1000*float64(j) })
	path := filepath.Join(t.TempDir(), "a.npy")
	first, err := CreateNpy(path, rows, cols)
	if err != nil {
		t.Fatal(err)
	}
	var byRows sync.WaitGroup
	for k := range writers {
		byRows.Go(func() { // the rows first, all columns of them, with a gap of 3 between columns
			const n, gap = rows / writers, 3
			src := make([]float64, (n+gap)*cols)
			for j := range cols {
				copy(src[j*(n+gap):][:n], want.x[j*rows+k*n:])
			}
			for j := range columns { // to be overwritten
				clear(src[j*(n+gap):][:n])
			}
			if err := writeWith(path, func(w *Writer) error {
				return w.WritePart(int64(k*n), 0, n, w.Cols, src, n+gap)
			}); err != nil {
				t.Error(err)
			}
		})
	}
	byRows.Wait()
	var byColumns sync.WaitGroup
	for k := range writers {
		byColumns.Go(func() {
			const n = columns / writers
			src := want.x[k*n*rows:][:n*rows]
			if err := writeWith(path, func(w *Writer) error {
				return w.WriteColumns(int64(k*n), src, rows, n)
			}); err != nil {
				t.Error(err)
			}
		})
	}
	byColumns.Wait()
	if err := errors.Join(first.Sync(), first.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x := make([]float64, rows*cols)
	if err := f.ReadColumns(0, cols, x, rows); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, want.x) {
		t.Error("what is read is not what was written")
	}
}

func writeWith(path string, write func(*Writer) error) error {
	w, err := OpenNpy(path)
	if err != nil {
		return err
	}
	return errors.Join(write(w), w.Sync(), w.Close())
}

func TestWriterArguments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	w, err := CreateNpy(path, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	x := make([]float64, 12)
	for name, err := range map[string]error{
		"column below":  w.WriteColumns(-1, x, 3, 1),
		"column beyond": w.WriteColumns(3, x, 3, 2),
		"row beyond":    w.WritePart(2, 0, 2, w.Cols, x, 2),
		"negative":      w.WritePart(0, 0, -1, w.Cols, x, 3),
		"overflow":      w.WritePart(math.MaxInt64, 0, 1, w.Cols, x, 3),
		"ld":            w.WriteColumns(0, x, 2, 1),
		"memory":        w.WriteColumns(0, x[:11], 3, 4),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if w, err := CreateNpy(path, math.MaxInt64, 2); err == nil {
		t.Error("too large: no error", w.Close())
	}
	for _, c := range []struct{ descr, shape string }{{"<f4", "(3, 4)"}, {"<f8", "(12,)"}, {">f8", "(3, 4)"},
		{"<f8", "(3, 5)"}} {
		if err := os.WriteFile(path, npyImage(1, c.descr, true, c.shape, numbers(12)), 0o666); err != nil {
			t.Fatal(err)
		}
		if w, err := OpenNpy(path); err == nil {
			t.Errorf("%s %s was opened for writing (%v)", c.descr, c.shape, w.Close())
		}
	}
}

// TestFullDisk: an error of the system when data is written comes back with the name of the file.
func TestFullDisk(t *testing.T) {
	file, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &Writer{Rows: 1000, Cols: 1000, file: file}
	defer func() { _ = w.Close() }() // fails, as all that is written does
	x := make([]float64, 1000*1000)
	for name, err := range map[string]error{"columns": w.WriteColumns(0, x, 1000, 1000),
		"rows": w.WritePart(5, 0, 10, w.Cols, x, 1000)} {
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/dev/full") {
			t.Errorf("%s: %v, expected no space left on /dev/full", name, err)
		}
	}
}

// TestReserve: the disk space of a file is its from the start, and a vector that is written into it keeps it.
func TestReserve(t *testing.T) {
	const n = 100_000
	dir := t.TempDir()
	vector, err := CreateVector(filepath.Join(dir, "s.npy"), n)
	if err != nil {
		t.Fatal(err)
	}
	matrix, err := CreateNpy(filepath.Join(dir, "a.npy"), n, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Writer{vector, matrix} {
		path := w.file.Name()
		if s := stat(t, path); 512*s.Blocks >= s.Size {
			t.Errorf("%s: %d blocks before the reservation", path, s.Blocks)
		}
		if err := errors.Join(w.Reserve(), w.Close()); err != nil {
			t.Fatal(err)
		}
		if s := stat(t, path); s.Size != w.Size() || 512*s.Blocks < s.Size {
			t.Errorf("%s: %d bytes, %d blocks, expected %d bytes", path, s.Size, s.Blocks, w.Size())
		}
	}
	before := stat(t, vector.file.Name())
	if err := WriteVector(vector.file.Name(), make([]float64, n)); err != nil {
		t.Fatal(err)
	}
	if after := stat(t, vector.file.Name()); after.Ino != before.Ino || after.Blocks != before.Blocks {
		t.Errorf("%+v after the writing, %+v before", after, before)
	}
	if err := WriteVector(vector.file.Name(), []float64{1, 2}); err != nil {
		t.Fatal(err)
	}
	if x, err := ReadVector(vector.file.Name()); err != nil || !slices.Equal(x, []float64{1, 2}) {
		t.Errorf("%v is read from a file that was longer, error %v", x, err)
	}
}

func stat(t *testing.T, path string) (s syscall.Stat_t) {
	t.Helper()
	if err := syscall.Stat(path, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVectors(t *testing.T) {
	dir := t.TempDir()
	long := make([]float64, 200_000) // more than a write buffer
	for k := range long {
		long[k] = float64(k)
	}
	for _, x := range [][]float64{{}, {3}, {1, -2, 3}, long} {
		path := filepath.Join(dir, "s.npy")
		if err := WriteVector(path, x); err != nil {
			t.Fatal(err)
		}
		got, err := ReadVector(path)
		if err != nil || !slices.Equal(got, x) {
			t.Errorf("%d numbers: %d are read, %v", len(x), len(got), err)
		}
	}
	for name, image := range map[string]string{
		"row.npy":            string(npyImage(1, "<f8", true, "(1, 3)", numbers(3))),
		"column.npy":         string(npyImage(1, "|i1", false, "(3, 1)", []byte{1, 2, 3})),
		"a.1x3.rowmajor.f64": string(numbers(3)),
		"column.mtx":         "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n",
		"matrix.npy":         string(npyImage(1, "<f8", true, "(2, 2)", numbers(4))),
		"sparse.mtx":         "%%MatrixMarket matrix coordinate real general\n1000000000000000 1 1\n1 1 1\n",
		"matrix2.mtx":        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(image), 0o666); err != nil {
			t.Fatal(err)
		}
		x, err := ReadVector(path)
		if strings.HasPrefix(name, "matrix") || strings.HasPrefix(name, "sparse") {
			checkError(t, err, path, 0, "where a vector is expected")
		} else if err != nil || !slices.Equal(x, []float64{1, 2, 3}) {
			t.Errorf("%s: %v, %v", name, x, err)
		}
	}
}

// A matrix is made one of its first columns, which keep what was written, and the disk space of the others is
// given back.
func TestNarrow(t *testing.T) {
	const rows = 3000
	path := filepath.Join(t.TempDir(), "a.npy")
	w, err := CreateNpy(path, rows, 40)
	if err == nil {
		err = w.Reserve()
	}
	x := make([]float64, 2*rows)
	for i := range x {
		x[i] = float64(i)
	}
	if err == nil {
		err = w.WriteColumns(0, x, rows, 2)
	}
	if err == nil {
		err = w.Narrow(2)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteColumns(1, x, rows, 2); err == nil {
		t.Error("a column that is not there was written")
	}
	if err := w.Narrow(3); err == nil {
		t.Error("the matrix was made wider")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]float64, 2*rows)
	if err := f.ReadColumns(0, f.Cols, got, rows); err != nil || f.Cols != 2 || !slices.Equal(got, x) {
		t.Errorf("%d×%d, error %v, or other numbers", f.Rows, f.Cols, err)
	}
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil || s.Size != 128+16*rows || 512*s.Blocks > s.Size+1<<16 {
		t.Errorf("%d bytes, %d on the disk, error %v", s.Size, 512*s.Blocks, err)
	}
}
