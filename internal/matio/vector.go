package matio

import (
	"errors"
	"fmt"
	"math"
	"os"
)

// CreateVector creates the .npy file path of one dimension with n numbers, at its full length. A file that is
// there keeps its disk space.
func CreateVector(path string, n int64) (*Writer, error) {
	if n < 0 || n > (math.MaxInt64-maxNpyHeader)/8 {
		return nil, fmt.Errorf("create %s: a vector of %d numbers is not possible", path, n)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	header := formatNpyHeader(false, fmt.Sprintf("(%d,)", n))
	return (&Writer{Rows: n, Cols: 1, file: file}).begin(header)
}

// WriteVector writes x as the .npy file path of one dimension, and waits until it is on the disk.
func WriteVector(path string, x []float64) error {
	w, err := CreateVector(path, int64(len(x)))
	if err != nil {
		return err
	}
	err = w.WriteColumns(0, x, len(x), 1)
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}

// ReadVector reads a file of one column or one row, in any format but coordinate.
func ReadVector(path string) ([]float64, error) {
	f, err := OpenVector(path)
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
	const densest = 1032 // bytes that deflate makes of one
	if f.packed != nil && n/densest > f.size {
		what := fmt.Sprintf("a vector of %d numbers, most of which are not there", n)
		return nil, &Error{Path: f.path, What: what}
	} else if f.packed == nil && n > f.size { // no other format stores a number in less than a byte
		what := "a coordinate file where a vector is expected; write it as an array"
		return nil, &Error{Path: f.path, What: what}
	}
	x := make([]float64, n)
	if f.Cols == 1 {
		return x, f.ReadColumns(0, 1, x, len(x))
	}
	return x, f.ReadRowsT(0, 1, x, len(x))
}
