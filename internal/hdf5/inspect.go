package hdf5

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"
)

// Dataset is what a file tells of one of its data sets.
type Dataset struct {
	Name  string
	Dims  []uint64 // one or two
	Dtype string   // as NumPy writes it: a byte order and a code, "<f8", ">i4", "|u1", "|b1"
	Class string   // the class of a MATLAB array: "double", …; "" for other data sets
	// Offset is where in the file all numbers lie, one after the other, row by row; −1 where Read must
	// unpack them.
	Offset int64
	Chunk  []uint64 // the shape in which they are packed; nil where they are in one piece
	// Filters have packed each chunk, one after the other, if Known says that Read can do without the library.
	Filters []int
	Known   bool
}

// The filters that need no library.
const deflate, shuffle, checksum = 1, 2, 3

// The classes of objects and types, the kinds of data spaces and the layouts, as the library numbers them.
const (
	groupObject, setObject = 2, 5

	integerType, floatType, stringType, compoundType, referenceType, enumType = 0, 1, 3, 6, 7, 8
	// of the library 2.0
	complexType = 11

	nullSpace = 2

	contiguous, chunked, virtual = 1, 2, 3
)

// typeNames name the classes of types that no matrix has.
var typeNames = map[int]string{stringType: "texts", 4: "bit fields", 5: "opaque values",
	compoundType: "compound values", referenceType: "references (a cell array of MATLAB is one)",
	enumType: "values of an enumeration", 9: "lists of different lengths", 10: "arrays", 2: "times",
	complexType: "complex numbers"}

// document is a file that the library has open.
type document struct {
	*library
	holder
	file uintptr
}

// openDocument opens the file for reading. The library reads without its sieve buffer, which beyond the end
// that the file tells reads zeros, and not an error.
func (l *library) openDocument(path string) (*document, error) {
	d := &document{library: l}
	var h holder
	defer h.release()
	list, err := l.properties(&h, "H5P_CLS_FILE_ACCESS_ID_g")
	if err == nil {
		_, err = l.status("H5Pset_sieve_buf_size", list, 0)
	}
	if err == nil {
		const readOnly = 0
		name := cstring(path)
		d.file, err = l.id(&d.holder, "H5Fclose", "H5Fopen", uintptr(unsafe.Pointer(name)), readOnly, list)
	}
	return d, err
}

// object opens an object of the file and tells its kind.
func (d *document) object(h *holder, name string) (id uintptr, kind int, err error) {
	path := cstring(name)
	if id, err = d.id(h, "H5Oclose", "H5Oopen", d.file, uintptr(unsafe.Pointer(path)), 0); err == nil {
		kind, err = d.status("H5Iget_type", id)
	}
	return id, kind, err
}

// describe describes the data set of a name. Without a name it is the only one of two dimensions, or of one.
func (d *document) describe(name string) (Dataset, error) {
	if name != "" {
		return d.named(name)
	}
	sets, err := d.list("/")
	if err != nil {
		return Dataset{}, err
	}
	for _, rank := range []int{2, 1} {
		var found []entry
		for _, e := range sets {
			if len(e.dims) == rank {
				found = append(found, e)
			}
		}
		if len(found) == 1 {
			return d.named(found[0].name)
		} else if len(found) > 1 {
			return Dataset{}, fmt.Errorf("it has several data sets; name one behind a colon: %s", namesOf(found))
		}
	}
	if len(sets) == 0 {
		return Dataset{}, errors.New("it has no data set")
	}
	return Dataset{}, fmt.Errorf("it has no data set of two dimensions; there are: %s", namesOf(sets))
}

// named describes a data set.
func (d *document) named(name string) (Dataset, error) {
	set := Dataset{Name: name, Offset: -1}
	var h holder
	defer h.release()
	id, kind, err := d.object(&h, name)
	switch {
	case err != nil:
		return set, d.missing(name, err)
	case kind == groupObject:
		return set, d.group(id, name)
	case kind != setObject:
		return set, errors.New("not a data set")
	}
	return set, d.fill(&set, id)
}

// fill fills in what is known of the data set id.
func (d *document) fill(set *Dataset, id uintptr) (err error) {
	var h holder
	defer h.release()
	if set.Dims, err = d.dims(&h, id); err != nil {
		return err
	}
	if set.Class, err = d.matlabClass(id); err != nil {
		return err
	}
	if set.Dtype, err = d.dtype(&h, id); err != nil {
		return err
	}
	if none, err := d.has(id, "MATLAB_empty"); err != nil {
		return err
	} else if none {
		return d.empty(&h, set, id)
	}
	if len(set.Dims) != 1 && len(set.Dims) != 2 {
		return fmt.Errorf("a data set of %d dimensions; a matrix has 2", len(set.Dims))
	}
	return d.layout(&h, set, id)
}

// missing says that there is no object of a name.
func (d *document) missing(name string, err error) error {
	sets, e := d.list("/")
	text := fmt.Sprintf("there is no %s in it that can be opened (%v)", name, err)
	if e == nil && len(sets) > 0 {
		text += "; there are: " + namesOf(sets)
	}
	path := cstring(name)
	if there, err := d.status("H5Lexists", d.file, uintptr(unsafe.Pointer(path)), 0); err == nil && there > 0 {
		return errors.New(text) // and cannot be opened
	}
	return &missing{text}
}

// group says that a name is that of a group.
func (d *document) group(id uintptr, name string) error {
	if sparse, err := d.has(id, "MATLAB_sparse"); err == nil && sparse {
		return errors.New("a sparse matrix of MATLAB; save full(A)")
	}
	sets, err := d.list(strings.TrimSuffix(name, "/") + "/")
	if err != nil {
		return err
	} else if len(sets) == 0 {
		return fmt.Errorf("%s is a group without a data set", name)
	}
	return fmt.Errorf("%s is a group; name a data set: %s", name, namesOf(sets))
}

// dims returns the extents of the data set id, none for a single number.
func (d *document) dims(h *holder, id uintptr) ([]uint64, error) {
	space, err := d.id(h, "H5Sclose", "H5Dget_space", id)
	if err != nil {
		return nil, err
	}
	if kind, err := d.status("H5Sget_simple_extent_type", space); err != nil {
		return nil, err
	} else if kind == nullSpace {
		return nil, errors.New("an empty data set, without a shape")
	}
	rank, err := d.status("H5Sget_simple_extent_ndims", space)
	if err != nil || rank == 0 {
		return nil, err
	}
	dims := make([]uint64, rank)
	_, err = d.status("H5Sget_simple_extent_dims", space, uintptr(unsafe.Pointer(&dims[0])), 0)
	return dims, err
}

// layout finds out where the numbers are.
func (d *document) layout(h *holder, set *Dataset, id uintptr) error {
	list, err := d.id(h, "H5Pclose", "H5Dget_create_plist", id)
	if err != nil {
		return err
	}
	kind, err := d.status("H5Pget_layout", list)
	if err != nil {
		return err
	}
	switch kind {
	case virtual:
		return errors.New("a virtual data set, whose numbers are in other files; copy it into one file")
	case chunked:
		set.Chunk = make([]uint64, len(set.Dims))
		if _, err = d.status("H5Pget_chunk", list, uintptr(len(set.Dims)),
			uintptr(unsafe.Pointer(&set.Chunk[0]))); err != nil {
			return err
		} else if slices.Contains(set.Chunk, 0) {
			return errors.New("damaged: a chunk without elements")
		}
		return d.filters(set, list)
	case contiguous:
		return d.place(set, id, list)
	}
	return d.enough(set, id)
}

// enough makes sure that the numbers of a data set that is in one piece are all there: the library does not
// look.
func (d *document) enough(set *Dataset, id uintptr) error {
	size, err := d.call("H5Dget_storage_size", id)
	if needed := elements(set.Dims) * set.size(); err == nil && int64(size) != needed {
		err = fmt.Errorf("damaged: %d bytes of numbers where %d are needed; write it again", size, needed)
	}
	return err
}

// size is that of a number in bytes.
func (s Dataset) size() int64 {
	if s.Dtype == "" {
		return 0
	}
	return int64(s.Dtype[len(s.Dtype)-1] - '0')
}

// place finds the place in the file of numbers that are in one piece. Numbers that were never written have
// none: they are the library's to know.
func (d *document) place(set *Dataset, id, list uintptr) error {
	if n, err := d.status("H5Pget_external_count", list); err != nil {
		return err
	} else if n > 0 {
		return errors.New("a data set whose numbers are in other files; copy it into one file")
	}
	size, err := d.call("H5Dget_storage_size", id)
	if err != nil {
		return err
	}
	offset, err := d.call("H5Dget_offset", id)
	if err != nil || int64(offset) < 0 || size == 0 {
		return err
	}
	set.Offset = int64(offset)
	if err := d.enough(set, id); err != nil {
		return err
	}
	return d.allotted(uint64(offset), uint64(size))
}

// allotted makes sure that bytes lie before the end that the file tells: what is behind it is not the file's.
func (d *document) allotted(offset, size uint64) error {
	const routine = "H5Fget_eoa" // of 1.10.2; it counts a user block, as the offset does
	if d.routine(routine) == 0 {
		return nil
	}
	var end uint64
	_, err := d.status(routine, d.file, uintptr(unsafe.Pointer(&end)))
	if err == nil && (size > end || offset > end-size) {
		err = fmt.Errorf("damaged or cut short: its numbers end at byte %d, and the file, by what it tells, at "+
			"%d; write it again, or copy it again", offset+size, end)
	}
	return err
}

// filters makes sure that chunks can be unpacked.
func (d *document) filters(set *Dataset, list uintptr) error {
	set.Known = d.routine("H5Dread_chunk") != 0 && elements(set.Chunk)*set.size() <= math.MaxUint32
	var options uint32 // of chunks that are not full
	if d.routine("H5Pget_chunk_opts") != 0 {
		if _, err := d.status("H5Pget_chunk_opts", list, uintptr(unsafe.Pointer(&options))); err != nil {
			return err
		}
	}
	set.Known = set.Known && options == 0
	n, err := d.status("H5Pget_nfilters", list)
	if err != nil {
		return err
	}
	for k := range n {
		var flags, config, value uint32
		values := uintptr(1) // at most; then how many the filter has
		name := make([]byte, 64)
		filter, err := d.status("H5Pget_filter2", list, uintptr(k), uintptr(unsafe.Pointer(&flags)),
			uintptr(unsafe.Pointer(&values)), uintptr(unsafe.Pointer(&value)), uintptr(len(name)-1),
			uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&config)))
		if err != nil {
			return err
		}
		if there, err := d.status("H5Zfilter_avail", uintptr(filter)); err != nil || there == 0 {
			called, _, _ := strings.Cut(string(name), "\x00")
			return fmt.Errorf("packed by a filter (%.40q, number %d) that %v does not have; write it again with "+
				"gzip: h5repack -f GZIP=4 IN OUT, where the filter is installed", called, filter, d.library)
		}
		set.Filters = append(set.Filters, filter)
		// A damaged file may say what does not fit: what becomes of it is for the library to tell.
		level := filter == deflate && values == 1 && value <= 9
		sorted := filter == shuffle && values == 1 && int64(value) == set.size()
		set.Known = set.Known && (level || sorted || filter == checksum)
	}
	return nil
}

// empty makes set the MATLAB array without elements that it stands for: its numbers are the dimensions.
func (d *document) empty(h *holder, set *Dataset, id uintptr) error {
	if len(set.Dims) != 1 || set.Dims[0] != 2 {
		return errors.New("an empty array of MATLAB that has not 2 dimensions")
	}
	kind, err := d.constant("H5T_NATIVE_UINT64_g")
	if err != nil {
		return err
	}
	dims := make([]uint64, 2)
	if _, err := d.status("H5Dread", id, kind, 0, 0, 0, uintptr(unsafe.Pointer(&dims[0]))); err != nil {
		return err
	}
	if dims[0] != 0 && dims[1] != 0 {
		return errors.New("damaged: an empty array of MATLAB that has elements")
	}
	set.Dims = []uint64{dims[1], dims[0]} // as all MATLAB arrays, the other way round
	return nil
}

// has tells whether an object has an attribute.
func (d *document) has(id uintptr, name string) (bool, error) {
	called := cstring(name)
	there, err := d.status("H5Aexists", id, uintptr(unsafe.Pointer(called)))
	return there > 0, err
}

// matlabClass returns the text of the attribute MATLAB_class, "" if there is none.
func (d *document) matlabClass(id uintptr) (string, error) {
	const name = "MATLAB_class"
	if there, err := d.has(id, name); err != nil || !there {
		return "", err
	}
	var h holder
	defer h.release()
	called := cstring(name)
	attribute, err := d.id(&h, "H5Aclose", "H5Aopen", id, uintptr(unsafe.Pointer(called)), 0)
	if err != nil {
		return "", err
	}
	kind, err := d.id(&h, "H5Tclose", "H5Aget_type", attribute)
	if err != nil {
		return "", err
	}
	class, err := d.status("H5Tget_class", kind)
	if err != nil {
		return "", err
	}
	size, err := d.call("H5Tget_size", kind)
	if err != nil {
		return "", err
	}
	bytes, err := d.call("H5Aget_storage_size", attribute)
	if err != nil {
		return "", err
	}
	loose, err := d.status("H5Tis_variable_str", kind)
	const most = 64
	if err != nil || class != stringType || loose != 0 || size == 0 || size > most || bytes != size {
		return "", errors.Join(err, errors.New("an attribute MATLAB_class that MATLAB does not write; delete it"))
	}
	b := make([]byte, most+1)
	if _, err := d.status("H5Aread", attribute, kind, uintptr(unsafe.Pointer(&b[0]))); err != nil {
		return "", err
	}
	value, _, _ := strings.Cut(string(b), "\x00")
	return strings.TrimRight(value, " "), nil
}
