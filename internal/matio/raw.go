package matio

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// rawName is the end of the name of a raw file: its shape, its order and its type. The order may be missing.
var rawName = regexp.MustCompile(`(?i)(?:^|[./])([0-9]+)x([0-9]+)(\.rowmajor|\.colmajor)?(\.f64)$`)

// openRaw takes shape and order from the name of a file NAME.MxN.rowmajor.f64 or NAME.MxN.colmajor.f64.
func (f *File) openRaw(r io.ReaderAt) error {
	name := rawName.FindStringSubmatch(f.path)
	if name == nil {
		return &Error{Path: f.path, What: "the name of a raw file must end in .MxN.rowmajor.f64 or " +
			".MxN.colmajor.f64, as a.1000x500.rowmajor.f64"}
	}
	if name[3] == "" {
		return &Error{Path: f.path, What: orderMissing(f.path, name[4])}
	}
	rows, err := strconv.ParseInt(name[1], 10, 64)
	if err == nil {
		var cols int64
		if cols, err = strconv.ParseInt(name[2], 10, 64); err == nil {
			body := flat{r: r, path: f.path, length: cols, dtype: float64LE}
			if strings.EqualFold(name[3], ".colmajor") {
				body.length, body.fortran = rows, true
			}
			return f.openFlat(body, rows, cols)
		}
	}
	return &Error{Path: f.path, What: "a dimension in the name is too large"}
}

// orderMissing says how to name a raw file whose name does not tell the order of its numbers.
func orderMissing(path, extension string) string {
	stem := strings.TrimSuffix(path, extension)
	return fmt.Sprintf("the name must say the order of the numbers. NumPy's tofile and C write row by row: "+
		"mv %s %s; Fortran, MATLAB and Julia write column by column: mv %s %s",
		ShellWord(path), ShellWord(stem+".rowmajor"+extension),
		ShellWord(path), ShellWord(stem+".colmajor"+extension))
}

// plainWord is what a shell takes as one word as it stands.
var plainWord = regexp.MustCompile(`^[0-9A-Za-z_./:@%+=-]+$`)

// ShellWord returns text as one word of a shell.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// openFlat makes f a rows×cols matrix in the dense file d, whose length must be just right.
func (f *File) openFlat(d flat, rows, cols int64) error {
	if err := f.setShape(rows, cols); err != nil {
		return err
	}
	if expected := d.base + rows*cols*int64(d.dtype.size); f.size != expected {
		return wrongLength(f.path, expected, f.size)
	}
	f.Dtype, f.Order, f.read = d.dtype.name, RowMajor, d.read
	if d.fortran {
		f.Order = ColMajor
	}
	return nil
}
