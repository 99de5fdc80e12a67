package cuda

import (
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
	order   int              // of the largest factor
	slots   int              // for pairs, in a p-step; 0: there is nothing on the device
	steps   int
	pairs   kernels.Address
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
		d.lanes[i].schedule.slots = 0
	}
	return nil
}

// send brings the pairs of a checked schedule to the device, those with columns below order, in
// `slots` slots for each p-step.
func (s *schedule) send(d *device, from *kernels.Schedule,
	order, slots int) (pairs kernels.Address, steps int, err error) {
	if s.order == order && s.slots == slots {
		return s.pairs, s.steps, nil
	}
	steps = len(from.Pairs) / max(from.Order, 1)
	words := rounds(from, order, slots)
	pairs, err = d.need("schedule", int64(len(words))*4)
	if err != nil || len(words) == 0 {
		return pairs, steps, err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&words[0])
	if err := d.copyBytes(d.stream, uintptr(pairs), uintptr(unsafe.Pointer(&words[0])),
		int64(len(words))*4); err != nil {
		return 0, 0, err
	}
	err = d.check("cuStreamSynchronize", nvidia.Invoke(d.cuStreamSynchronize, d.stream))
	s.order, s.slots, s.steps, s.pairs = order, slots, steps, pairs
	return pairs, steps, err
}
