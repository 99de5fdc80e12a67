package matio

import (
	"errors"
	"fmt"
	"os"
)

// WriteVector writes x as the .npy file path of one dimension, and waits until it is on the disk.
func WriteVector(path string, x []float64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	header := formatNpyHeader(false, fmt.Sprintf("(%d,)", len(x)))
	_, err = file.Write(header)
	n := int64(len(x))
	w := &Writer{Rows: n, Cols: 1, file: file, base: int64(len(header))}
	if err == nil {
		err = w.WriteColumns(0, x, len(x), 1)
	}
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}

// ReadVector reads a file of one column or one row, in any format but coordinate.
func ReadVector(path string) ([]float64, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Vector()
}

// Vector reads all of a matrix of one column or one row, in any format but coordinate.
func (f *File) Vector() ([]float64, error) {
	if f.Rows != 1 && f.Cols != 1 {
		what := fmt.Sprintf("a %d×%d matrix where a vector is expected", f.Rows, f.Cols)
		return nil, &Error{Path: f.path, What: what}
	}
	n := f.Rows * f.Cols
	if n > f.size { // no other format stores a number in less than a byte
		what := "a coordinate file where a vector is expected; write it as an array"
		return nil, &Error{Path: f.path, What: what}
	}
	x := make([]float64, n)
	if f.Cols == 1 {
		return x, f.ReadColumns(0, 1, x, len(x))
	}
	return x, f.ReadRowsT(0, 1, x, len(x))
}
