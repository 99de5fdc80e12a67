package matio

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"jmpi/internal/matio/matiotest"
)

// FuzzNpy: of any file the reader gives the numbers that another, simple reader finds, or an error where that
// one finds none. It takes no more memory than the file's length supports, and ends soon.
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

// FuzzRaw is FuzzNpy for raw files, whose name tells what they are.
func FuzzRaw(f *testing.F) {
	f.Add("a.2x3.rowmajor", numbers(6))
	f.Add("b/4x1.colmajor", numbers(4))
	f.Add("a.0x9223372036854775807.RowMajor", []byte{})
	f.Add("a.4294967296x4294967297.colmajor", numbers(1))
	f.Add("a.99999999999999999999x1.colmajor", numbers(1))
	f.Add("a.2x2", numbers(4))
	f.Add("a.2X2.rowmajor.colmajor", numbers(4))
	f.Add("a.1x2.rowmajor", numbers(1))
	f.Add("a.1x1.rowmajor", []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f})
	f.Fuzz(func(t *testing.T, stem string, image []byte) { fuzzReaders(t, stem+".f64", image) })
}

// What a reader may allocate besides a share of the file: buffers of fixed sizes, and texts.
const (
	openBuffers = 1 << 20
	readBuffers = 4 << 20
)

// allocated returns the bytes that were allocated since the program was started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// within asserts that f ends soon, and allocates no more than so many bytes.
func within(t *testing.T, what string, bytes int, f func()) {
	t.Helper()
	begin, before := time.Now(), allocated()
	f()
	if took := allocated() - before; took > uint64(bytes) {
		t.Fatalf("%s allocates %d bytes, at most %d are expected", what, took, bytes)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Fatalf("%s takes %v", what, took)
	}
}

// fuzzReaders compares what is made of a file with what is in it.
func fuzzReaders(t *testing.T, name string, image []byte) {
	var f *File
	var err error
	within(t, "newFile", 8*len(image)+openBuffers, func() {
		f, err = newFile(name, bytes.NewReader(image), int64(len(image)))
	})
	want, good := matiotest.Read(name, image)
	var e *Error
	switch {
	case err != nil && (!errors.As(err, &e) || e.Path != name):
		t.Fatalf("not an *Error: %v", err)
	case err != nil && good:
		t.Fatalf("refused: %v", err)
	case err != nil:
		return
	case good && (f.Rows != want.Rows || f.Cols != want.Cols):
		t.Fatalf("%d×%d, which is %d×%d", f.Rows, f.Cols, want.Rows, want.Cols)
	case (f.Format != "mtx" || f.Rows == 0 || f.Cols == 0) && !good: // nobody reads what is empty
		t.Fatalf("a %d×%d matrix in what is none", f.Rows, f.Cols)
	}
	size := f.Rows * f.Cols
	if size > matiotest.Most {
		return // zeros: they are the caller's to allocate
	}
	byColumns, byRows := make([]float64, size), make([]float64, size)
	var errRows error
	within(t, "reading", 8*len(image)+int(size)+readBuffers, func() {
		err = f.ReadColumns(0, f.Cols, byColumns, int(f.Rows))
		errRows = f.ReadRowsT(0, f.Rows, byRows, int(f.Cols))
	})
	if (err == nil) != (errRows == nil) {
		t.Fatalf("by columns: %v; by rows: %v", err, errRows)
	}
	var notFinite *NotFiniteError
	if wrong := errors.As(err, &e) || errors.As(err, &notFinite); err != nil && !wrong {
		t.Fatalf("an error without a place: %v", err)
	}
	if (err == nil) != (good && want.Finite()) {
		t.Fatalf("read with the error %v, and the file is one: %v, finite: %v", err, good, want.Finite())
	}
	if err != nil {
		return
	}
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if !slices.EqualFunc(byColumns, want.X, same) {
		t.Fatalf("by columns: %v, want %v", byColumns, want.X)
	}
	for k, x := range byRows {
		if i, j := int64(k)/f.Cols, int64(k)%f.Cols; !same(x, want.X[i+j*f.Rows]) {
			t.Fatalf("by rows: entry (%d,%d) is %v, want %v", i, j, x, want.X[i+j*f.Rows])
		}
	}
}

// The simple reader finds in good files what is in them, and refuses damaged ones: it can tell right from
// wrong.
func TestSimpleReader(t *testing.T) {
	for _, c := range []struct {
		name  string
		image []byte
		want  []float64 // column-major, nil: not one that can be read
	}{
		{"a.npy", npyImage(1, "<f8", false, "(2, 3)", numbers(6)), []float64{1, 4, 2, 5, 3, 6}},
		{"a.npy", npyImage(2, ">i2", true, "(2, 2)", []byte{0, 1, 0xff, 0xff, 0, 3, 0, 4}), []float64{1, -1, 3, 4}},
		{"a.npy", npyImage(1, "<f2", false, "(1, 2)", []byte{0, 0x3c, 1, 0x80}), []float64{1, -0x1p-24}},
		{"a.npy", npyImage(1, "<f8", false, "(2, 3)", numbers(5)), nil},
		{"a.npy", npyImage(1, "|f8", false, "(2, 3)", numbers(6)), nil},
		{"a.2x2.rowmajor.f64", numbers(4), []float64{1, 3, 2, 4}},
		{"a.2x2.colmajor.f64", numbers(4), []float64{1, 2, 3, 4}},
		{"a.2x2.f64", numbers(4), nil},
		{"a.mtx", []byte("%%MatrixMarket matrix array real skew-symmetric\n2 2\n3\n"), []float64{0, 3, -3, 0}},
		{"a.mtx", []byte("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1.5-3\n"),
			[]float64{0, 0, 1.5e-3, 0}},
		{"a.mtx", []byte("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n"), nil},
		{"a.mtx", []byte("%%MatrixMarket matrix array integer general\n1 1\n1.5\n"), nil},
	} {
		m, good := matiotest.Read(c.name, c.image)
		if good != (c.want != nil) || !slices.Equal(m.X, c.want) {
			t.Errorf("%q: %v, %v, want %v", c.image, good, m.X, c.want)
		}
	}
}

// FuzzHDF5: of any file there is an error that names it, or a matrix that is the same by columns and by rows.
// The library may crash on it.
func FuzzHDF5(f *testing.F) {
	dir := makeHDF5(f)
	for _, name := range []string{"contiguous.h5", "shuffled.h5", "latest.h5", "matlabpacked.mat", "compact.h5",
		"partly.h5", "bad_lzf.h5", "bad_virtual.h5", "bad_short.h5"} {
		image, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(image)
	}
	work := f.TempDir()
	f.Fuzz(func(t *testing.T, image []byte) {
		path := filepath.Join(work, "a.h5")
		err := os.WriteFile(path, image, 0o666)
		if err == nil { // what is new is looked at twice, which takes long
			err = os.Chtimes(path, time.Now(), time.Now().Add(-time.Hour))
		}
		if err != nil {
			t.Fatal(err)
		}
		var file *File
		within(t, "Open", 8*len(image)+openBuffers, func() { file, err = Open(path) })
		if err != nil {
			if !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v", err)
			}
			return
		}
		defer file.Close()
		size := file.Rows * file.Cols
		if size > matiotest.Most {
			return
		}
		byColumns, byRows := make([]float64, size), make([]float64, size)
		err = file.ReadColumns(0, file.Cols, byColumns, int(file.Rows))
		errRows := file.ReadRows(0, file.Rows, byRows, int(file.Rows))
		if (err == nil) != (errRows == nil) || err == nil && !slices.Equal(byColumns, byRows) {
			t.Fatalf("differs by columns (%v) and by rows (%v)", err, errRows)
		}
	})
}
