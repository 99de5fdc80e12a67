package matio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"jmpi/internal/hdf5"
)

// hdf5Name is a name of an HDF5 file, with the name of a data set behind a colon or without.
var hdf5Name = regexp.MustCompile(`(?is)^(.*?\.(?:h5|hdf5|mat))(?::(.*))?$`)

// SplitName returns the file of a name that names a matrix, and the name of the data set in it, "" if it
// names none: "a.h5:/x/A" is /x/A in a.h5.
func SplitName(name string) (file, set string) {
	parts := hdf5Name.FindStringSubmatch(name)
	if parts == nil {
		return name, ""
	}
	return parts[1], parts[2]
}

// IsHDF5 tells whether a name is that of an HDF5 file, or of a data set in one.
func IsHDF5(name string) bool { return hdf5Name.MatchString(name) }

// Prepare is called where files of these names are to be opened soon: what it takes to look into HDF5 files
// is made ready meanwhile.
func Prepare(names ...string) {
	if slices.ContainsFunc(names, IsHDF5) {
		hdf5.Prepare()
	}
}

// hdf5Signature is the beginning of an HDF5 file, at byte 0, or at a power of two from 512 on.
const hdf5Signature = "\x89HDF\r\n\x1a\n"

// isHDF5 tells whether the size bytes of r are an HDF5 file by their signature.
func isHDF5(r io.ReaderAt, size int64) bool {
	b := make([]byte, len(hdf5Signature))
	for at := int64(0); at < size; at = max(512, 2*at) {
		if n, _ := r.ReadAt(b, at); n == len(b) && string(b) == hdf5Signature {
			return true
		}
	}
	return false
}

// openHDF5 makes f the matrix in a data set of the HDF5 file r.
func (f *File) openHDF5(r io.ReaderAt) error {
	name, set := SplitName(f.path)
	file, ok := r.(*os.File)
	if !ok {
		return fmt.Errorf("%s: not an open file", f.path)
	}
	if !isHDF5(r, f.size) {
		return &Error{Path: name, What: notHDF5(r, name)}
	}
	f.Format = "hdf5"
	if set == "" {
		f.path = name
	}
	data, err := hdf5.Open(file, set, func(s hdf5.Dataset) int64 { return newTiling(s).window(s.Chunk) })
	if err != nil {
		return &Error{Path: f.path, What: err.Error(), cause: err}
	}
	if set == "" {
		f.path = name + ":" + data.Name
	}
	if err := f.openDataset(r, data); err != nil {
		return errors.Join(err, data.Close())
	}
	return nil
}

// notHDF5 says what to do with a file that is none.
func notHDF5(r io.ReaderAt, path string) string {
	b := make([]byte, 6)
	n, _ := r.ReadAt(b, 0)
	if !bytes.HasPrefix(b[:n], []byte("MATLAB")) {
		return "not an HDF5 file; write it again, or copy it again"
	}
	load := fmt.Sprintf("np.save(%s, scipy.io.loadmat(%s)['A'])", quote(Stem(path)+".npy"), quote(path))
	return fmt.Sprintf("of a MATLAB version before 7.3; type save('%s.v73.mat','A','-v7.3') in MATLAB, or "+
		"convert it: %s, where A is the name of the variable", Stem(path), python("scipy.io", load))
}

// openDataset makes f the matrix of a data set.
func (f *File) openDataset(r io.ReaderAt, data *hdf5.File) error {
	set := data.Dataset
	if set.Class == "char" || set.Class == "cell" {
		what := fmt.Sprintf("a %s array of MATLAB; only numbers are decomposed", set.Class)
		return &Error{Path: f.path, What: what}
	}
	d, err := parseDtype(set.Dtype)
	if err != nil {
		return &Error{Path: f.path, What: err.Error()}
	}
	dims := set.Dims
	f.oneDimension = len(dims) == 1
	if f.oneDimension {
		dims = []uint64{dims[0], 1}
	}
	if dims[0] > math.MaxInt64 || dims[1] > math.MaxInt64 {
		return &Error{Path: f.path, What: fmt.Sprintf("a %d×%d matrix is too large", dims[0], dims[1])}
	}
	lines, length := int64(dims[0]), int64(dims[1])
	body := flat{r: r, path: f.path, base: set.Offset, length: length, dtype: d}
	rows, cols := lines, length
	if f.Order = RowMajor; set.Class != "" {
		body.fortran, f.Order = true, ColMajor
		rows, cols = length, lines
	}
	if err := f.setShape(rows, cols); err != nil {
		return err
	}
	f.Dtype = d.name
	switch {
	case set.Offset >= 0:
		if end := set.Offset + rows*cols*int64(d.size); end < 0 || end > f.size {
			return wrongLength(f.path, end, f.size)
		}
		f.read = body.read
	case rows == 0 || cols == 0:
		f.read = func(part) (bool, error) { return true, nil }
	default:
		f.packed = newPacked(data, body, lines)
		f.read = f.packed.read
	}
	return nil
}

// Result is the name of the matrix S, U or V of the results in a folder: a .npy file, or a data set of the
// HDF5 file that the folder has. It may not be there.
func Result(dir, name string) string {
	path := filepath.Join(dir, name+".npy")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if _, err := os.Stat(filepath.Join(dir, "results.h5")); err == nil {
		return filepath.Join(dir, "results.h5") + ":/" + name
	}
	return path
}

// Stem is the name of a matrix without its extension: what is written beside a.npy is called a.svd, and what
// is written beside a.h5 is called a.svd too, or a.x.A.svd if /x/A in it was named.
func Stem(name string) string {
	file, set := SplitName(name)
	stem := file
	if k := strings.LastIndexByte(file, '.'); k > strings.LastIndexByte(file, '/') {
		stem = file[:k]
	}
	for word := range strings.SplitSeq(set, "/") {
		if word != "" {
			stem += "." + word
		}
	}
	return stem
}
