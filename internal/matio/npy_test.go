package matio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// numbers returns count little-endian float64 numbers 1, 2, 3, ….
func numbers(count int) []byte {
	var data []byte
	for k := range count {
		data = encode(data, "<f8", float64(k+1))
	}
	return data
}

// TestNpyAsNumpyWrites reads files byte by byte as numpy.save makes them.
func TestNpyAsNumpyWrites(t *testing.T) {
	// np.save of np.array([[1, 2, 3], [4, 5, 6]], dtype='>f4', order='F')
	fortran := "\x93NUMPY\x01\x00v\x00{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }" +
		strings.Repeat(" ", 59) + "\n" +
		"\x3f\x80\x00\x00\x40\x80\x00\x00\x40\x00\x00\x00\x40\xa0\x00\x00\x40\x40\x00\x00\x40\xc0\x00\x00"
	if x := readAll(t, "a.npy", []byte(fortran)); !slices.Equal(x, []float64{1, 4, 2, 5, 3, 6}) {
		t.Errorf("Fortran order: %v", x)
	}
	c := strings.Replace(strings.Replace(fortran, "True", "False", 1), " \n", "\n", 1)
	if x := readAll(t, "a.npy", []byte(c)); !slices.Equal(x, []float64{1, 5, 4, 3, 2, 6}) {
		t.Errorf("C order: %v", x)
	}
}

func TestNpyHeaders(t *testing.T) {
	for _, c := range []struct {
		name       string
		image      []byte
		rows, cols int64
		dtype      string
	}{
		{"one dimension", npyImage(1, "<f8", false, "(3,)", numbers(3)), 3, 1, "float64"},
		{"no rows", npyImage(1, "<f8", false, "(0, 5)", nil), 0, 5, "float64"},
		{"no columns", npyImage(1, "<f8", true, "(5, 0)", nil), 5, 0, "float64"},
		{"nothing", npyImage(1, "|b1", true, "(0,)", nil), 0, 1, "bool"},
		{"order of keys", npyText(2, `{"shape": (1, 2), "fortran_order": True, "descr": "<f8"}`, numbers(2)), 1, 2,
			"float64"},
		{"Python 2", npyText(1, "{'descr':'<f8','fortran_order':False,'shape':(1L, 2L)}", numbers(2)), 1, 2,
			"float64"},
		{"white space", npyText(3, "\t{ 'descr' : '>i2' ,\n'fortran_order' : False , 'shape' : ( 1 , 2 , ) } ",
			make([]byte, 4)), 1, 2, "int16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := newFile("a.npy", bytes.NewReader(c.image), int64(len(c.image)))
			if err != nil {
				t.Fatal(err)
			}
			if f.Rows != c.rows || f.Cols != c.cols || f.Dtype != c.dtype || f.Format != "npy" {
				t.Errorf("%s %s %d×%d, expected npy %s %d×%d", f.Format, f.Dtype, f.Rows, f.Cols, c.dtype, c.rows, c.cols)
			}
			if err := f.ReadRows(0, f.Rows, make([]float64, f.Rows*f.Cols), int(f.Rows)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNpyNativeOrder: numbers whose byte order is that of the machine, as numpy reads them.
func TestNpyNativeOrder(t *testing.T) {
	native := "<"
	if !littleEndian {
		native = ">"
	}
	for _, code := range []string{"f8", "f4", "i2", "u4"} {
		data := encode(encode(nil, native+code, 3), native+code, 5)
		for _, order := range []string{"=", ""} {
			if x := readAll(t, "a.npy", npyImage(1, order+code, false, "(1, 2)", data)); !slices.Equal(x,
				[]float64{3, 5}) {
				t.Errorf("%s%s: %v, want 3 and 5", order, code, x)
			}
		}
	}
}

func TestNpyErrors(t *testing.T) {
	good := npyImage(1, "<f8", false, "(3, 4)", numbers(12))
	header := len(good) - 96
	long := npyImage(2, "<f8", false, "(3, 4)", nil)
	binary.LittleEndian.PutUint32(long[8:], 1<<31)
	lying := slices.Clone(good)
	binary.LittleEndian.PutUint16(lying[8:], 60000)
	field := func(text string) []byte { return npyText(1, text, nil) }
	shape := func(shape string) []byte { return npyImage(1, "<f8", false, shape, numbers(4)) }
	descr := func(descr string) []byte { return npyImage(1, descr, false, "(1, 1)", numbers(1)) }
	for _, c := range []struct {
		name  string
		image []byte
		want  string
	}{
		{"empty", nil, "expected 12 bytes, found 0: it is truncated"},
		{"other file", []byte("1 2 3\n"), `does not begin with \x93NUMPY`},
		{"truncated data", good[:len(good)-9],
			"expected 166 bytes, found 157: it is truncated, write or copy it again"},
		{"truncated header", good[:40], "expected 70 bytes, found 40: it is truncated"},
		{"header only", good[:header], "expected 166 bytes, found 70"},
		{"longer", append(slices.Clone(good), 0), "expected 166 bytes, found 167: bytes follow the matrix"},
		{"length of the header lies", lying, "expected 60010 bytes, found 166"},
		{"huge header", long, "a header of 2147483648 bytes is not believed"},
		{"version", npyImage(9, "<f8", false, "(1, 1)", numbers(1)), "version 9.0 of .npy is unknown"},
		{"number for a tuple", shape("(184)"), "shape (184) is a number, not a tuple; (184,) is one dimension"},
		{"no tuple", shape("4"), "shape must be a tuple"},
		{"list", shape("[2, 2]"), "shape must be a tuple"},
		{"negative", shape("(-2, 2)"), "where a number ≥ 0 is expected"},
		{"fraction", shape("(2.0, 2)"), "no comma in shape"},
		{"open tuple", shape("(2, 2"), "where a number ≥ 0 is expected"},
		{"no dimension", shape("()"), "an array of 0 dimensions; a matrix has 2"},
		{"three dimensions", shape("(2, 2, 1)"), "an array of 3 dimensions; a matrix has 2"},
		{"overflow of a dimension", shape("(99999999999999999999, 1)"),
			"dimension 99999999999999999999 is too large"},
		{"overflow of the size", shape("(4294967296, 4294967297)"), "a 4294967296×4294967297 matrix is too large"},
		{"overflow of the bytes", shape("(1152921504606846976, 1)"), "a 1152921504606846976×1 matrix is too large"},
		{"huge shape", shape("(1000000, 1000000)"), "expected 8000000000082 bytes"},
		{"complex", descr("<c16"), "complex numbers (dtype \"<c16\"); only real matrices are decomposed"},
		{"object", descr("|O"), "objects of Python (dtype \"|O\"); save a.astype('float64')"},
		{"text", descr("<U8"), "dtype \"<U8\" is not supported"},
		{"long double", descr("<f16"), "dtype \"<f16\" is not supported"},
		{"no byte order", descr("|f8"), "has no byte order"},
		{"structure", npyText(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", numbers(1)),
			"a structure (dtype \"[('a', '<f8')]"},
		{"no dictionary", field("[]"), "it does not begin with {"},
		{"missing key", field("{'descr': '<f8', 'shape': (1, 1), }"), `key "fortran_order" is missing`},
		{"unknown key", field("{'descr': '<f8', 'order': True, }"), `unknown key "order"`},
		{"key twice", field("{'descr': '<f8', 'descr': '<f4', }"), `key "descr" is there twice`},
		{"order", field("{'fortran_order': 1, }"), "fortran_order must be True or False"},
		{"no comma", field("{'descr': '<f8' 'shape': (1, 1), }"), `no comma after the value of "descr"`},
		{"no colon", field("{'descr'}"), `no colon after key "descr"`},
		{"no end", field("{'descr': '<f8"), "has no end"},
		{"junk", npyText(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 0), } x", nil),
			`"x" follows the dictionary`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newFile("dir/a.npy", bytes.NewReader(c.image), int64(len(c.image)))
			checkError(t, err, "dir/a.npy", 0, c.want)
		})
	}
}

// checkError checks that err is one line, an *Error with path and line, and has want in its text.
func checkError(t *testing.T, err error, path string, line int64, want string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v, expected an *Error with %q", err, want)
	}
	if e.Path != path || e.Line != line || !strings.Contains(err.Error(), want) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("%q (line %d), expected %q (line %d)", err, e.Line, want, line)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "a.npy")); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "a.npy") {
		t.Errorf("missing file: %v", err)
	}
	_, err := Open(dir)
	checkError(t, err, dir, 0, "a folder; name a matrix file")
	_, err = Open("/dev/null")
	checkError(t, err, "/dev/null", 0, "not a regular file")
	text := filepath.Join(dir, "a.csv")
	if err := os.WriteFile(text, []byte("1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = Open(text)
	checkError(t, err, text, 0, "convert it: python3")
}

// TestShorterThanClaimed: a file that ends before the size that the system tells is an error, not zeros.
func TestShorterThanClaimed(t *testing.T) {
	image := npyImage(1, "<f8", false, "(3, 4)", numbers(12))
	f, err := newFile("a.npy", bytes.NewReader(image[:len(image)-8]), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	checkError(t, f.ReadColumns(0, 4, make([]float64, 12), 3), "a.npy", 0, "expected 166 bytes, found 158")
	_, err = f.Checksum(false, 0, 1)
	checkError(t, err, "a.npy", 0, "expected 166 bytes, found 158")
}

// TestArguments: parts that are not in the matrix, or do not fit in memory, are errors.
func TestArguments(t *testing.T) {
	image := npyImage(1, "<f8", false, "(3, 4)", numbers(12))
	f, err := newFile("a.npy", bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 12)
	for name, err := range map[string]error{
		"below":           f.ReadColumns(-1, 1, x, 3),
		"beyond":          f.ReadColumns(0, 5, x, 3),
		"rows beyond":     f.ReadRowsT(3, 4, x, 4),
		"turned":          f.ReadRows(2, 1, x, 3),
		"ld":              f.ReadColumns(0, 2, x, 2),
		"ld, T":           f.ReadRowsT(0, 1, x, 3),
		"memory":          f.ReadColumns(0, 4, x[:11], 3),
		"memory, T":       f.ReadColumnsT(0, 4, x[:11], 4),
		"memory, one":     f.ReadColumns(0, 1, x[:2], 3),
		"memory overflow": f.ReadRows(0, 3, x, math.MaxInt),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := f.ReadColumns(0, 3, x[:11], 4); err != nil {
		t.Errorf("the last column needs no gap behind it: %v", err)
	}
}

// Both orders of a raw file are read right; a name that does not tell the order is refused with the lines
// to type.
func TestRaw(t *testing.T) {
	for _, name := range []string{"a.2x3.colmajor.f64", "d.x/2x3.ColMajor.F64", "a.b.002x3.colmajor.f64"} {
		if x := readAll(t, name, numbers(6)); !slices.Equal(x, []float64{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%s: %v", name, x)
		}
	}
	for _, name := range []string{"a.2x3.rowmajor.f64", "2x3.ROWMAJOR.f64"} {
		if x := readAll(t, name, numbers(6)); !slices.Equal(x, []float64{1, 4, 2, 5, 3, 6}) {
			t.Errorf("%s: %v", name, x)
		}
	}
	if x := readAll(t, "a.0x3.rowmajor.f64", nil); len(x) > 0 {
		t.Errorf("no rows: %v", x)
	}
	for name, want := range map[string]string{
		"a.f64":         "must end in .MxN.rowmajor.f64 or .MxN.colmajor.f64",
		"a2x3.f64":      "must end in .MxN.rowmajor.f64",
		"a.2x.f64":      "must end in .MxN.rowmajor.f64",
		"a.2x3.row.f64": "must end in .MxN.rowmajor.f64",
		"a.2x3.f64": "mv a.2x3.f64 a.2x3.rowmajor.f64; Fortran, MATLAB and Julia " +
			"write column by column: mv a.2x3.f64 a.2x3.colmajor.f64",
		"my a.2x3.f64":                                "mv 'my a.2x3.f64' 'my a.2x3.rowmajor.f64'",
		"a.2x2.rowmajor.f64":                          "expected 32 bytes, found 48: bytes follow the matrix",
		"a.3x3.colmajor.f64":                          "expected 72 bytes, found 48: it is truncated",
		"a.99999999999999999999x3.rowmajor.f64":       "too large",
		"a.4294967296x4294967296.colmajor.f64":        "too large",
		"a.0000000000000000000000002x99.colmajor.f64": "expected 1584 bytes, found 48",
	} {
		_, err := newFile(name, bytes.NewReader(numbers(6)), 48)
		checkError(t, err, name, 0, want)
	}
}

func TestRawAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := newTwin(rapid.IntRange(0, 40).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "columns"),
			func(i, j int) float64 { return float64(i) - 100.25*float64(j) })
		order := rapid.SampledFrom([]string{RowMajor, ColMajor}).Draw(t, "order")
		data := want.encode("<f8", order == ColMajor)
		f, err := newFile(fmt.Sprintf("a.%dx%d.%s.f64", want.rows, want.cols, order), bytes.NewReader(data),
			int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if f.Order != order {
			t.Errorf("order %q, want %q", f.Order, order)
		}
		checkReaders(t, f, want)
	})
}

// A vector is refused where a matrix is wanted, with the line that makes it one.
func TestOneDimension(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := os.WriteFile(path, npyImage(1, "<f8", false, "(3,)", numbers(3)), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	checkError(t, err, path, 0, "one dimension of 3 numbers; a matrix has two: reshape it")
	checkError(t, err, path, 0, "np.load('"+path+"').reshape(-1, 1))\"")
	f, err := OpenVector(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if x, err := f.Vector(); err != nil || !slices.Equal(x, []float64{1, 2, 3}) {
		t.Errorf("%v, %v", x, err)
	}
}

// Each format that is known and not read names the line that converts it, and the line is one for a shell.
func TestUnknownFormats(t *testing.T) {
	for extension, want := range map[string]string{
		".csv": `.csv is not read; convert it: ` +
			`python3 -c "import numpy as np; np.save('d/a.npy', np.loadtxt('d/a.csv', delimiter=',', ndmin=2))"`,
		".TXT": `.txt is not read; convert it: ` +
			`python3 -c "import numpy as np; np.save('d/a.npy', np.loadtxt('d/a.TXT', ndmin=2))"`,
		".tsv":     `delimiter='\t', ndmin=2))"`,
		".nc":      `xarray.open_dataset('d/a.nc')['A'].to_numpy())", where A is the name of the variable`,
		".npz":     `np.load('d/a.npz')['arr_0'])", where arr_0 is the name of the array`,
		".parquet": `pandas.read_parquet('d/a.parquet').to_numpy(dtype=float))"`,
		".xlsx":    `pandas.read_excel('d/a.xlsx', header=None).to_numpy(dtype=float))"`,
		".bin":     "mv d/a.bin d/a.MxN.rowmajor.f64",
		".pt":      "torch.load('d/a.pt').numpy())",
		".pkl":     "np.load('d/a.pkl', allow_pickle=True)",
		".json":    "np.array(json.load(open('d/a.json')), dtype=float))",
		".f32":     "np.fromfile('d/a.f32', 'float32')",
		".gz":      "gunzip d/a.gz",
		".foo": "unknown format; matrices are read from NAME.npy, NAME.mtx, NAME.h5:/SET, " +
			"NAME.mat, NAME.MxN.rowmajor.f64 and NAME.MxN.colmajor.f64",
	} {
		path := "d/a" + extension
		_, err := newFile(path, strings.NewReader("1,2\n"), 4)
		checkError(t, err, path, 0, want)
	}
	_, err := newFile(`it's $1 "x".csv`, strings.NewReader("1,2\n"), 4)
	checkError(t, err, `it's $1 "x".csv`, 0, `np.loadtxt('it\\'s \$1 \"x\".csv', `)
}
