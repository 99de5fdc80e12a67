package cuda

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// keptSchedules is how many schedules are known at a time: all pairs and those across in turn.
const keptSchedules = 2

// schedules are those that Jacobi had last, and have been found to be valid. The lanes have what they need of
// each in the same place.
type schedules struct {
	checked [keptSchedules]kernels.Schedule
	oldest  int // whose place the next new one takes
}

// schedule is what of a schedule is on the device, for one lane.
type schedule struct {
	size   int // of the largest factor; 0: there is nothing on the device
	rounds kernels.Address
	length int // rounds
	steps  int
}

// checkSchedule tells whether the schedule is one for all factors of the batch: its pairs are
// disjoint within a p-step, so that they can be processed in any order. It returns its place.
func (d *device) checkSchedule(b *kernels.Batch, o kernels.JacobiOptions) (int, error) {
	s, known := o.Schedule, &d.schedules
	if err := s.Check(b, d.order()); err != nil {
		return 0, err
	}
	for i, c := range known.checked {
		if s.Order == c.Order && (sameMemory(s.Pairs, c.Pairs) || slices.Equal(s.Pairs, c.Pairs)) {
			known.checked[i] = *s // whose memory is known the next time
			return i, nil
		}
	}
	if err := s.Disjoint(); err != nil {
		return 0, err
	}
	place := known.oldest
	known.oldest = (place + 1) % keptSchedules
	known.checked[place] = *s
	for i := range d.lanes {
		d.lanes[i].sent[place].size = 0
	}
	return place, nil
}

// sendSchedule brings the rounds of a checked schedule to the device, for factors of that size: the number of
// p-steps of each round and then the columns, eight to a word.
func (d *device) sendSchedule(place, size int) (*schedule, error) {
	s, from := &d.sent[place], &d.schedules.checked[place]
	if s.size == size {
		return s, nil
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
	at, err := d.need(fmt.Sprint("schedule ", place), int64(len(words))*kernels.WordBytes)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 {
		var pin runtime.Pinner
		defer pin.Unpin()
		pin.Pin(&words[0])
		if err := d.copyBytes(d.stream, uintptr(at), uintptr(unsafe.Pointer(&words[0])),
			int64(len(words))*kernels.WordBytes); err != nil {
			return nil, err
		}
		if err := d.check("cuStreamSynchronize", nvidia.Invoke(d.cuStreamSynchronize, d.stream)); err != nil {
			return nil, err
		}
	}
	*s = schedule{size, at, len(list), steps}
	return s, nil
}
