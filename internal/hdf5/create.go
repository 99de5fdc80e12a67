package hdf5

import "errors"

// NewSet is a data set that is to be made.
type NewSet struct {
	Name string
	Dims []uint64
}

// Setting is an attribute of the root group: a text, a number, or numbers.
type Setting struct {
	Name   string
	Text   string    `json:",omitempty"`
	Number []float64 `json:",omitempty"`
	Scalar bool      `json:",omitempty"`
}

func (l *library) create(path string, sets []NewSet) ([]int64, error) {
	return nil, errors.New("not yet")
}

func (l *library) finish(path string, notes []Setting) error { return errors.New("not yet") }
