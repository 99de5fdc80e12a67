package cuda

import (
	"encoding/binary"
	"runtime"
	"slices"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// schedule is the schedule that Jacobi had last on a lane: what it was (the first lane knows), and
// what of it is on the device.
type schedule struct {
	checked kernels.Schedule // a copy of one that is valid
	size    int              // of the largest factor; 0: there is nothing on the device
	rounds  kernels.Address
	length  int // rounds
	steps   int
}

// checkSchedule tells whether the schedule is one for all factors of the batch: its pairs are
// disjoint within a p-step, so that they can be processed in any order.
func (d *device) checkSchedule(b *kernels.Batch, o kernels.JacobiOptions) error {
	s := o.Schedule
	if err := s.Check(b.R, d.order()); err != nil {
		return err
	}
	if s.Order == d.schedule.checked.Order && slices.Equal(s.Pairs, d.schedule.checked.Pairs) {
		return nil
	}
	if err := s.Disjoint(); err != nil {
		return err
	}
	d.schedule.checked = kernels.Schedule{Order: s.Order, Pairs: slices.Clone(s.Pairs)}
	for i := range d.lanes {
		d.lanes[i].schedule.size = 0
	}
	return nil
}

// send brings the rounds of a checked schedule to the device, for factors of that size: the number of
// p-steps of each round and then the columns, eight to a word.
func (s *schedule) send(d *device, from *kernels.Schedule, size int) error {
	if s.size == size {
		return nil
	}
	var words []uint64
	list := rounds(from, size)
	steps := 0
	for _, r := range list {
		words = append(words, uint64(r.steps))
		for i := 0; i < len(r.columns); i += warpPairs {
			words = append(words, binary.LittleEndian.Uint64(r.columns[i:]))
		}
		steps += r.steps
	}
	at, err := d.need("schedule", int64(len(words))*kernels.WordBytes)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		var pin runtime.Pinner
		defer pin.Unpin()
		pin.Pin(&words[0])
		if err := d.copyBytes(d.stream, uintptr(at), uintptr(unsafe.Pointer(&words[0])),
			int64(len(words))*kernels.WordBytes); err != nil {
			return err
		}
		if err := d.check("cuStreamSynchronize", nvidia.Invoke(d.cuStreamSynchronize, d.stream)); err != nil {
			return err
		}
	}
	s.size, s.rounds, s.length, s.steps = size, at, len(list), steps
	return nil
}
