package cuda

import (
	"unsafe"

	"jmpi/kernels"
)

// Lists of numbers go to the device through the staging memory of a lane. They have a buffer of their own, by
// what they are, and stay until the next list of that name.

// integers and numbers return where a list is, 0 if it is empty.
func (d *device) integers(what string, x []int) (kernels.Address, error) {
	return d.list(what, words(x))
}

func (d *device) numbers(what string, x []float64) (kernels.Address, error) {
	return d.list(what, words(x))
}

// words returns the memory of a list of integers, of numbers, or of structs of them.
func words[T any](x []T) []uint64 {
	var element T
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(x))),
		len(x)*int(unsafe.Sizeof(element))/kernels.WordBytes)
}

func (d *device) list(what string, x []uint64) (kernels.Address, error) {
	if len(x) == 0 {
		return 0, nil
	}
	to, err := d.need(what, int64(len(x))*kernels.WordBytes)
	if err != nil {
		return 0, err
	}
	return to, d.post(to, x)
}

// member is Member of common.cuh.
type member struct {
	p               kernels.Address
	m, n, ld, first int64
}

// members is a list of panels on the device.
type members struct {
	at              kernels.Address
	columns         int // of all of them
	widest, longest int // most columns, and most rows
}

func (d *device) members(what string, p []kernels.Panel) (l members, err error) {
	list := make([]member, len(p))
	for i, x := range p {
		list[i] = member{x.Data, int64(x.M), int64(x.N), int64(x.Ld), int64(l.columns)}
		l.columns, l.widest, l.longest = l.columns+x.N, max(l.widest, x.N), max(l.longest, x.M)
	}
	l.at, err = d.list(what, words(list))
	return l, err
}

// post queues the copy of words.
func (d *device) post(to kernels.Address, x []uint64) error {
	for len(x) > 0 {
		if d.lists.room() < kernels.WordBytes {
			if err := d.emptied(); err != nil {
				return err
			}
		}
		count := min(len(x), d.lists.room()/kernels.WordBytes)
		if err := d.stage(d.lane, x[:count], to); err != nil {
			return err
		}
		x, to = x[count:], to+kernels.Address(count*kernels.WordBytes)
	}
	return nil
}

// emptied waits until what is in the staging memory of the lane is on the device.
func (d *device) emptied() error {
	if d.lane == &d.beside.lane {
		return d.beside.clear(d)
	}
	return d.sync()
}
