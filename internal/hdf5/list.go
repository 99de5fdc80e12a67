package hdf5

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

const (
	// mostObjects are looked at when a file is searched for data sets, so many groups deep.
	mostObjects, deepest = 2000, 16
	// mostNamed data sets are named in a message.
	mostNamed = 8
)

// entry is a data set that was found.
type entry struct {
	name string
	dims []uint64
}

func (e entry) String() string {
	shape := fmt.Sprint(e.dims) // "[2 3]"
	shape = strings.ReplaceAll(strings.Trim(shape, "[]"), " ", "×")
	if shape == "" {
		shape = "a number"
	}
	return fmt.Sprintf("%.80s (%s)", printable(e.name), shape)
}

// printable is a name in a file as it may stand in a message.
func printable(name string) string {
	if quoted := strconv.Quote(name); quoted[1:len(quoted)-1] != name {
		return quoted
	}
	return name
}

// namesOf lists data sets for a message.
func namesOf(sets []entry) string {
	var words []string
	for k, e := range sets {
		if k == mostNamed {
			words = append(words, fmt.Sprintf("and %d more", len(sets)-k))
			break
		}
		words = append(words, e.String())
	}
	return strings.Join(words, ", ")
}

// list returns the data sets in a group and those below it. Only what lies in this file counts, and not what
// MATLAB hides.
func (d *document) list(group string) (sets []entry, err error) {
	left := mostObjects
	return sets, d.search(group, deepest, &left, &sets)
}

// search adds the data sets in a group, whose name ends in a slash.
func (d *document) search(group string, depth int, left *int, sets *[]entry) error {
	var h holder
	defer h.release()
	id, kind, err := d.object(&h, group)
	if err != nil || kind != groupObject || depth == 0 {
		return err
	}
	var info [64]byte // H5G_info_t: an int, then the number of links
	if _, err := d.status("H5Gget_info", id, uintptr(unsafe.Pointer(&info[0]))); err != nil {
		return err
	}
	links := binary.NativeEndian.Uint64(info[8:])
	for k := uint64(0); k < links && *left > 0; k++ {
		*left--
		name, err := d.link(id, k)
		if err != nil {
			return err
		} else if name == "" {
			continue
		}
		if err := d.look(group+name, depth, left, sets); err != nil {
			return err
		}
	}
	return nil
}

// look adds an object if it is a data set, or what is below it if it is a group.
func (d *document) look(name string, depth int, left *int, sets *[]entry) error {
	var h holder
	defer h.release()
	object, kind, err := d.object(&h, name)
	switch {
	case err != nil:
		return err
	case kind == groupObject:
		return d.search(name+"/", depth-1, left, sets)
	case kind != setObject:
		return nil
	}
	dims, err := d.dims(&h, object)
	if err != nil {
		return nil // one without a shape
	}
	*sets = append(*sets, entry{name, dims})
	return nil
}

// link returns the name of link k of a group, "" if it leads out of the file or is hidden.
func (d *document) link(group uintptr, k uint64) (string, error) {
	const byName, increasing = 0, 0
	dot := cstring(".")
	name := make([]byte, 1024)
	if _, err := d.long("H5Lget_name_by_idx", group, uintptr(unsafe.Pointer(dot)), byName, increasing,
		uintptr(k), uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), 0); err != nil {
		return "", err
	}
	var info [64]byte // H5L_info_t, which begins with the kind
	routine := "H5Lget_info2"
	if d.routine(routine) == 0 {
		routine = "H5Lget_info"
	}
	if _, err := d.status(routine, group, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&info[0])),
		0); err != nil {
		return "", err
	}
	const hard = 0
	word, _, _ := strings.Cut(string(name), "\x00")
	if binary.NativeEndian.Uint32(info[:]) != hard || strings.HasPrefix(word, "#") {
		return "", nil
	}
	return word, nil
}
