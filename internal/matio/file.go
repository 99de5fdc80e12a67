package matio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
)

// File is a matrix in a file, open for reading. Its methods may be used by several goroutines at once.
type File struct {
	Rows, Cols int64
	Format     string // "npy", "mtx", "f64" or "hdf5"
	Dtype      string // as the file calls its numbers: "float64", "int32", "bool", "real", "pattern", …
	Order      string // in which the file has its numbers: RowMajor, ColMajor or Coordinate

	oneDimension bool // the file has a vector, which is read as one column

	path   string
	size   int64
	r      io.ReaderAt
	file   *os.File // r, nil if that is not a file
	stamp  Stamp    // of the file, before anything was read
	read   func(part) (finite bool, err error)
	packed *packed // nil where the file has its numbers as they are
}

// The orders of the numbers in a file. Coordinate: each number comes with its row and column.
const (
	RowMajor   = "rowmajor"
	ColMajor   = "colmajor"
	Coordinate = "coordinate"
)

// part is a block of the file's matrix, rows i0 ≤ i < i1 and columns j0 ≤ j < j1, with its place
// in memory: entry (i,j) goes to dst[(i−i0)·rs + (j−j0)·cs]. One of the strides rs and cs is 1.
type part struct {
	i0, i1, j0, j1 int64
	dst            []float64
	rs, cs         int
}

// Open opens the matrix file path and reads its header. The error is an *Error where the file is there
// and is not a matrix that can be read; the length of .npy and .f64 files is checked here. A .npy file of one
// dimension is refused: whether it is a row, a column or a larger matrix is not known.
func Open(path string) (*File, error) {
	f, err := OpenVector(path)
	if err != nil || !f.oneDimension {
		return f, err
	}
	imports, load := "", fmt.Sprintf("np.load(%s)", quote(path))
	if file, set := SplitName(f.path); f.Format == "hdf5" {
		imports, load = "h5py", fmt.Sprintf("h5py.File(%s)[%s][:]", quote(file), quote(set))
	}
	what := fmt.Sprintf("one dimension of %d numbers; a matrix has two: reshape it, as by %s", f.Rows,
		python(imports, fmt.Sprintf("np.save(%s, %s.reshape(-1, 1))", quote(Stem(path)+".column.npy"), load)))
	return nil, errors.Join(&Error{Path: f.path, What: what}, f.Close())
}

// OpenVector is Open for a file that may have one dimension; such a vector is one column.
func OpenVector(path string) (*File, error) {
	// A pipe would wait for its writer when it is opened.
	name, _ := SplitName(path)
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return nil, &Error{Path: path, What: "a folder; name a matrix file"}
	} else if err == nil && !info.Mode().IsRegular() {
		return nil, &Error{Path: path, What: "not a regular file; name a matrix file"}
	}
	r, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &missingError{name, err}
	} else if err != nil {
		return nil, err
	}
	stamp, err := firstStamp(r)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	f, err := newFile(path, r, stamp.Size)
	f.file, f.stamp = r, stamp
	if err != nil {
		if e := f.unchanged(); e != nil {
			err = e
		}
		return nil, errors.Join(err, r.Close())
	}
	return f, nil
}

// newFile reads the header of the size bytes of r, in the format that the extension of path tells.
func newFile(path string, r io.ReaderAt, size int64) (*File, error) {
	f := &File{path: path, size: size, r: r}
	var err error
	if IsHDF5(path) {
		return f, f.openHDF5(r)
	}
	switch f.Format = strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."); f.Format {
	case "npy":
		err = f.openNpy(r)
	case "mtx":
		err = f.openMarket(r)
	case "f64":
		err = f.openRaw(r)
	default:
		err = &Error{Path: path, What: unknownFormat(path)}
	}
	return f, err
}

// setShape sets the shape of f, unless rows·cols float64 numbers have no size in an int64.
func (f *File) setShape(rows, cols int64) error {
	if hi, lo := bits.Mul64(uint64(rows), uint64(cols)); hi != 0 || lo > math.MaxInt64/8 {
		return &Error{Path: f.path, What: fmt.Sprintf("a %d×%d matrix is too large", rows, cols)}
	}
	f.Rows, f.Cols = rows, cols
	return nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.packed != nil {
		return errors.Join(f.packed.data.Close(), f.packed.spill.close(), f.file.Close())
	}
	return f.file.Close()
}

// Path returns the path by which the file was opened, and of an HDF5 file the data set too.
func (f *File) Path() string { return f.path }

// Band returns the number of rows, or of columns where the transpose is read, that are to be read at a time,
// all of them before the next, so that no number is unpacked twice. 0: in any order.
func (f *File) Band(transposed bool) int64 {
	if f.packed == nil {
		return 0
	}
	return f.packed.band(transposed != f.packed.flat.fortran)
}

// Text says that the numbers are text: reading a part takes as long as reading all.
func (f *File) Text() bool { return f.Format == "mtx" }

// Stamp returns the version of the file that was opened.
func (f *File) Stamp() Stamp { return f.stamp }

// unchanged returns an *Error if the file was written to since it was opened.
func (f *File) unchanged() error {
	if f.file == nil {
		return nil
	}
	now, err := readStamp(f.file)
	if err == nil && now != f.stamp {
		what := fmt.Sprintf("changed while it was read: %v, now %v; start again when it is whole", f.stamp, now)
		err = &Error{Path: f.path, What: what}
	}
	return err
}

// ReadColumns reads columns j0 ≤ j < j1 into dst, column-major, Rows×(j1−j0) with leading dimension ld ≥
// Rows. Numbers of dst between the columns stay as they are. The error is an *Error or wraps a
// *NotFiniteError if the file is to blame, an *Error too if it was written to since it was opened; dst is
// then undefined.
func (f *File) ReadColumns(j0, j1 int64, dst []float64, ld int) error {
	return f.readPart(part{0, f.Rows, j0, j1, dst, 1, ld}, f.Rows, j1-j0, ld)
}

// ReadColumnsT reads columns j0 ≤ j < j1 as the rows of dst, column-major, (j1−j0)×Rows with
// leading dimension ld ≥ j1−j0; otherwise as ReadColumns.
func (f *File) ReadColumnsT(j0, j1 int64, dst []float64, ld int) error {
	return f.readPart(part{0, f.Rows, j0, j1, dst, ld, 1}, j1-j0, f.Rows, ld)
}

// ReadRows reads rows i0 ≤ i < i1 into dst, column-major, (i1−i0)×Cols with leading dimension
// ld ≥ i1−i0; otherwise as ReadColumns.
func (f *File) ReadRows(i0, i1 int64, dst []float64, ld int) error {
	return f.readPart(part{i0, i1, 0, f.Cols, dst, 1, ld}, i1-i0, f.Cols, ld)
}

// ReadRowsT reads rows i0 ≤ i < i1 as the columns of dst, column-major, Cols×(i1−i0) with
// leading dimension ld ≥ Cols; otherwise as ReadColumns.
func (f *File) ReadRowsT(i0, i1 int64, dst []float64, ld int) error {
	return f.readPart(part{i0, i1, 0, f.Cols, dst, ld, 1}, f.Cols, i1-i0, ld)
}

// ReadPart reads rows i0 ≤ i < i1 of the columns j0 ≤ j < j1 into dst, column-major, with leading dimension
// ld ≥ i1−i0; otherwise as ReadColumns.
func (f *File) ReadPart(i0, i1, j0, j1 int64, dst []float64, ld int) error {
	return f.readPart(part{i0, i1, j0, j1, dst, 1, ld}, i1-i0, j1-j0, ld)
}

// ReadPartT reads the same as the columns and rows of dst, column-major, with leading dimension ld ≥ j1−j0.
func (f *File) ReadPartT(i0, i1, j0, j1 int64, dst []float64, ld int) error {
	return f.readPart(part{i0, i1, j0, j1, dst, ld, 1}, j1-j0, i1-i0, ld)
}

// readPart reads p after a check that it is a part of the matrix, and that it fits in p.dst as a
// height×width matrix of leading dimension ld.
func (f *File) readPart(p part, height, width int64, ld int) error {
	if p.i0 < 0 || p.i0 > p.i1 || p.i1 > f.Rows || p.j0 < 0 || p.j0 > p.j1 || p.j1 > f.Cols {
		return fmt.Errorf("read %s: rows [%d, %d) and columns [%d, %d) are not a part of a %d×%d matrix",
			f.path, p.i0, p.i1, p.j0, p.j1, f.Rows, f.Cols)
	}
	if err := fits(height, width, p.dst, ld); err != nil {
		return fmt.Errorf("read %s: %w", f.path, err)
	}
	ok, err := f.read(p)
	// What is found in a file that was written to meanwhile says nothing.
	if e := f.unchanged(); e != nil {
		return e
	}
	if err == nil && !ok {
		err = fmt.Errorf("%s: %w", f.path, p.firstNotFinite())
	}
	return err
}

// fits tells whether a height×width matrix, column-major with leading dimension ld, fits in x.
func fits(height, width int64, x []float64, ld int) error {
	if int64(ld) < height {
		return fmt.Errorf("leading dimension %d is less than %d rows", ld, height)
	}
	if room := int64(len(x)) - height; height > 0 && width > 0 && (room < 0 || room/int64(ld) < width-1) {
		return fmt.Errorf("%d numbers of memory cannot hold a %d×%d matrix of leading dimension %d", len(x), height,
			width, ld)
	}
	return nil
}

// firstNotFinite returns the *NotFiniteError of the first such number of the part, in row-major order.
func (p part) firstNotFinite() error {
	for i := range p.i1 - p.i0 {
		for j := range p.j1 - p.j0 {
			if x := p.dst[int(i)*p.rs+int(j)*p.cs]; x-x != 0 {
				return &NotFiniteError{Row: p.i0 + i + 1, Col: p.j0 + j + 1, Value: x}
			}
		}
	}
	return nil
}
