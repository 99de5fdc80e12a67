package hdf5

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// NewSet is a data set of float64, little endian, that is to be made, with the groups that its name tells: a
// vector, or a matrix whose Dims are those that MATLAB and Fortran see, the other way round than the library
// has them.
type NewSet struct {
	Name string
	Dims []uint64
}

// Setting is an attribute of the root group: a text, or numbers. One that is not a List is a single number.
type Setting struct {
	Name    string
	Text    string    `json:",omitempty"`
	Numbers []float64 `json:",omitempty"`
	List    bool      `json:",omitempty"`
}

// Maker makes HDF5 files by one child, which waits between two calls until it is closed. The zero value is
// ready to use.
type Maker struct{ child *child }

// Create makes a file, or makes one anew, with data sets in one piece each, and returns where in the file
// their numbers are to be written; −1 where there are none.
func (m *Maker) Create(path string, sets []NewSet) ([]int64, error) {
	a, err := m.ask(request{Op: "create", Path: path, Sets: sets})
	if err == nil && len(a.Offsets) != len(sets) {
		err = errors.New("data sets are missing")
	}
	if err != nil {
		return nil, fmt.Errorf("an HDF5 file cannot be made: %w", err)
	}
	return a.Offsets, nil
}

// Finish adds attributes to the root group of a file.
func (m *Maker) Finish(path string, notes []Setting) error {
	if _, err := m.ask(request{Op: "finish", Path: path, Notes: notes}); err != nil {
		return fmt.Errorf("write to %s: %w", path, err)
	}
	return nil
}

// ask asks the child, and another one if it has ended: hours may lie between two calls.
func (m *Maker) ask(r request) (a reply, err error) {
	for range 2 {
		if m.child == nil {
			if m.child, err = take(identity{}); err != nil {
				return reply{}, err
			}
		}
		if a, err = m.child.ask(r); m.child.gone == nil {
			break
		}
		m.child = nil
	}
	return a, err
}

// Close ends the child.
func (m *Maker) Close() {
	if m.child != nil {
		m.child.close()
		m.child = nil
	}
}

// closing closes what a holder holds after a write, and file, whose closing may be a write that fails.
func (l *library) closing(h *holder, file int64, err error) error {
	h.release()
	if file > 0 {
		_, e := l.status("H5Fclose", uintptr(file))
		err = errors.Join(err, e)
	}
	return err
}

// create is Create in a child.
func (l *library) create(path string, sets []NewSet) (offsets []int64, err error) {
	const truncate = 2
	var h holder
	name := cstring(path)
	list, err := l.properties(&h, "H5P_CLS_FILE_ACCESS_ID_g")
	if err == nil {
		_, err = l.status("H5Pset_alignment", list, 1<<16, 1<<12)
	}
	file := int64(0)
	if err == nil {
		file, err = l.long("H5Fcreate", uintptr(unsafe.Pointer(name)), truncate, 0, list)
	}
	for _, set := range sets {
		if err == nil {
			var offset int64
			offset, err = l.createSet(&h, uintptr(file), set)
			offsets = append(offsets, offset)
		}
	}
	return offsets, l.closing(&h, file, err)
}

// properties makes a property list of a class.
func (l *library) properties(h *holder, class string) (uintptr, error) {
	kind, err := l.constant(class)
	if err != nil {
		return 0, err
	}
	return l.id(h, "H5Pclose", "H5Pcreate", kind)
}

// createSet makes a data set and returns its place.
func (l *library) createSet(h *holder, file uintptr, set NewSet) (int64, error) {
	const early, never = 1, 1
	dims := make([]uint64, len(set.Dims))
	for k, n := range set.Dims {
		dims[len(dims)-1-k] = n
	}
	space, err := l.id(h, "H5Sclose", "H5Screate_simple", uintptr(len(dims)),
		uintptr(unsafe.Pointer(&dims[0])), 0)
	if err != nil {
		return 0, err
	}
	list, err := l.properties(h, "H5P_CLS_DATASET_CREATE_ID_g")
	if err == nil {
		_, err = l.status("H5Pset_layout", list, contiguous)
	}
	if err == nil {
		_, err = l.status("H5Pset_alloc_time", list, early)
	}
	if err == nil {
		_, err = l.status("H5Pset_fill_time", list, never)
	}
	var links, kind, id uintptr
	if err == nil {
		links, err = l.properties(h, "H5P_CLS_LINK_CREATE_ID_g")
	}
	if err == nil {
		_, err = l.status("H5Pset_create_intermediate_group", links, 1)
	}
	if err == nil {
		kind, err = l.constant("H5T_IEEE_F64LE_g")
	}
	if err == nil {
		name := cstring(set.Name)
		id, err = l.id(h, "H5Dclose", "H5Dcreate2", file, uintptr(unsafe.Pointer(name)), kind, space, links, list,
			0)
	}
	if err == nil && len(dims) == 2 {
		err = l.class(h, id)
	}
	if err != nil {
		return 0, err
	}
	offset, err := l.call("H5Dget_offset", id)
	return int64(offset), err
}

// class marks a data set as an array of MATLAB, which has its columns one after the other.
func (l *library) class(h *holder, id uintptr) error {
	const value = "double"
	kind, err := l.constant("H5T_C_S1_g")
	if err == nil {
		kind, err = l.id(h, "H5Tclose", "H5Tcopy", kind)
	}
	if err == nil {
		_, err = l.status("H5Tset_size", kind, uintptr(len(value)))
	}
	if err != nil {
		return err
	}
	text := []byte(value)
	return l.attribute(h, id, "MATLAB_class", kind, 0, unsafe.Pointer(&text[0]))
}

// attribute writes an attribute of so many numbers, 0 for a single value.
func (l *library) attribute(h *holder, id uintptr, name string, kind uintptr, n int,
	value unsafe.Pointer) error {
	const scalar = 0
	count := []uint64{uint64(n)}
	space, err := l.id(h, "H5Sclose", "H5Screate", scalar)
	if err == nil && n > 0 {
		space, err = l.id(h, "H5Sclose", "H5Screate_simple", 1, uintptr(unsafe.Pointer(&count[0])), 0)
	}
	if err != nil {
		return err
	}
	called := cstring(name)
	a, err := l.id(h, "H5Aclose", "H5Acreate2", id, uintptr(unsafe.Pointer(called)), kind, space, 0, 0)
	if err == nil {
		_, err = l.status("H5Awrite", a, kind, uintptr(value))
	}
	return err
}

// finish is Finish in a child.
func (l *library) finish(path string, notes []Setting) error {
	const readWrite = 1
	var h holder
	name := cstring(path)
	file, err := l.long("H5Fopen", uintptr(unsafe.Pointer(name)), readWrite, 0)
	var numbers, texts uintptr
	if err == nil {
		numbers, err = l.constant("H5T_NATIVE_DOUBLE_g")
	}
	if err == nil {
		texts, err = l.texts(&h)
	}
	for _, note := range notes {
		if err != nil {
			break
		}
		if len(note.Numbers) == 0 {
			text := cstring(note.Text)
			err = l.attribute(&h, uintptr(file), note.Name, texts, 0, unsafe.Pointer(&text))
			continue
		}
		n := len(note.Numbers)
		if !note.List {
			n = 0
		}
		err = l.attribute(&h, uintptr(file), note.Name, numbers, n, unsafe.Pointer(&note.Numbers[0]))
	}
	return l.closing(&h, file, err)
}

// texts is the type of texts of any length, in UTF-8.
func (l *library) texts(h *holder) (uintptr, error) {
	const utf8 = 1
	kind, err := l.constant("H5T_C_S1_g")
	if err == nil {
		kind, err = l.id(h, "H5Tclose", "H5Tcopy", kind)
	}
	if err == nil {
		_, err = l.status("H5Tset_size", kind, math.MaxUint) // H5T_VARIABLE
	}
	if err == nil {
		_, err = l.status("H5Tset_cset", kind, utf8)
	}
	return kind, err
}
