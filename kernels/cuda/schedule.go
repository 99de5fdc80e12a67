package cuda

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"jmpi/kernels"
)

// schedule is the schedule that Jacobi had last: what it was, and what of it is on the device.
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
	if s == nil || s.Order < 0 || s.Order%2 != 0 || s.Order > 0 && len(s.Pairs)%s.Order != 0 {
		return fmt.Errorf("%w: the schedule must have an even order and order/2 pairs in each p-step", kernels.ErrShape)
	}
	for i, r := range b.R {
		if r.N > s.Order || r.N > d.order() {
			return fmt.Errorf("%w: problem %d: a factor of order %d, but the schedule is of order %d and %d is the limit",
				kernels.ErrShape, i, r.N, s.Order, d.order())
		}
	}
	if s.Order == d.schedule.checked.Order && slices.Equal(s.Pairs, d.schedule.checked.Pairs) {
		return nil
	}
	met := make([]int, s.Order) // the last p-step, from 1, that an index was in
	for i := 0; i < len(s.Pairs); i += 2 {
		p, q, step := int(s.Pairs[i]), int(s.Pairs[i+1]), i/s.Order+1
		if p < 0 || p >= q || q >= s.Order || met[p] == step || met[q] == step {
			return fmt.Errorf("%w: p-step %d: pair (%d,%d) is out of order, out of range or not disjoint from the others",
				kernels.ErrShape, step, p, q)
		}
		met[p], met[q] = step, step
	}
	d.schedule.checked = kernels.Schedule{Order: s.Order, Pairs: slices.Clone(s.Pairs)}
	d.schedule.slots = 0
	return nil
}

// send brings the pairs of a checked schedule to the device, those with columns below order, in `slots` slots for each p-step.
func (s *schedule) send(d *device, from *kernels.Schedule, order, slots int) (pairs kernels.Address, steps int, err error) {
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
	if err := d.copyBytes(d.stream, uintptr(pairs), uintptr(unsafe.Pointer(&words[0])), int64(len(words))*4); err != nil {
		return 0, 0, err
	}
	err = d.check("cuStreamSynchronize", invoke(d.cuStreamSynchronize, d.stream))
	s.order, s.slots, s.steps, s.pairs = order, slots, steps, pairs
	return pairs, steps, err
}
