package matio

import (
	"io"
	"regexp"
	"strconv"
)

// rawName is the end of the name of a raw file: its shape and its type.
var rawName = regexp.MustCompile(`(?i)(?:^|[./])([0-9]+)x([0-9]+)\.f64$`)

// openRaw takes the shape from the name of a file NAME.MxN.f64.
func (f *File) openRaw(r io.ReaderAt) error {
	shape := rawName.FindStringSubmatch(f.path)
	if shape == nil {
		return &Error{Path: f.path, What: "the name of a raw file must end in .MxN.f64, as a.1000x500.f64"}
	}
	rows, err := strconv.ParseInt(shape[1], 10, 64)
	if err == nil {
		var cols int64
		if cols, err = strconv.ParseInt(shape[2], 10, 64); err == nil {
			return f.openFlat(flat{r: r, path: f.path, length: rows, fortran: true, dtype: float64LE}, rows, cols)
		}
	}
	return &Error{Path: f.path, What: "a dimension in the name is too large"}
}

// openFlat makes f a rows×cols matrix in the dense file d, whose length must be just right.
func (f *File) openFlat(d flat, rows, cols int64) error {
	if err := f.setShape(rows, cols); err != nil {
		return err
	}
	if expected := d.base + rows*cols*int64(d.dtype.size); f.size != expected {
		return wrongLength(f.path, expected, f.size)
	}
	f.Dtype, f.read = d.dtype.name, d.read
	return nil
}
