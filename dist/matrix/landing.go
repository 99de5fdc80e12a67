package matrix

import (
	"errors"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// landing is memory of a device for what flies to it or from it: two slots in turn, so that one fills while
// the other is worked on. On hosts, where nothing is queued, and where there is no other device there is one.
type landing struct {
	slots [2]slot
	one   bool
	last  int
}

type slot struct {
	buffer
	done  kernels.Mark    // the device's use of what it held
	sends []*comm.Request // messages from it
}

// next returns an m×n matrix in the next slot, which holds until next is called again. Who writes it beside
// what is queued on the device waits for the mark.
func (l *landing) next(dev *device, m, n int) (p kernels.Panel, free kernels.Mark, err error) {
	if l.slots[l.last].done, err = dev.Mark(); err != nil { // what uses the last one is queued
		return p, 0, err
	}
	if !l.one {
		l.last = 1 - l.last
	}
	s := &l.slots[l.last]
	if err = waitAll(s.sends); err != nil {
		return p, 0, err
	}
	s.sends = nil
	before := s.bytes
	if p, err = s.need(dev, m, n); err == nil && s.bytes > before {
		s.done, err = dev.Mark() // the new memory is zero
	}
	return p, s.done, err
}

// sending says that messages leave from the last slot.
func (l *landing) sending(r []*comm.Request) {
	s := &l.slots[l.last]
	s.sends = append(s.sends, r...)
}

// free gives the memory back, when the messages that leave from it have been received. The device must be
// done with it.
func (l *landing) free(dev *device) error {
	var err error
	for i := range l.slots {
		s := &l.slots[i]
		err = errors.Join(err, waitAll(s.sends))
		err = errors.Join(err, dev.release(s.at))
	}
	*l = landing{one: l.one}
	return err
}

func waitAll(requests []*comm.Request) error {
	for _, r := range requests {
		if err := r.Wait(); err != nil {
			return err
		}
	}
	return nil
}
