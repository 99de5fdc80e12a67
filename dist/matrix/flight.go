package matrix

import (
	"fmt"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// What one device has and others need flies to them: inside a rank by copies beside what is queued on the
// devices (kernels.Memory, Bring), between ranks by messages. Marks keep the order. No host waits for a
// device but for the sake of a message.

// Tags of messages between the devices of two ranks. Every rank goes through all of them in one order, so one
// tag serves each kind; of panels that fly together each has its own, from toAllTag on.
const (
	transferTag = 2
	toAllTag    = 3
)

// whole tells whether a panel is one piece of memory as panels of these rows are everywhere.
func (dev *device) whole(p kernels.Panel) bool { return p.Ld == dev.leading(p.M) }

// extent returns the bytes from the first element of a panel to its last.
func extent(p kernels.Panel) int64 { return int64(p.Ld*(p.N-1)+p.M) * kernels.WordBytes }

// empty tells whether a panel has no elements.
func empty(p kernels.Panel) bool { return p.M == 0 || p.N == 0 }

// outgoing returns where a message begins that holds a whole panel, which is there when the mark is done.
func (d *Devices) outgoing(dev *device, p kernels.Panel, ready kernels.Mark) (kernels.Address, error) {
	if err := dev.Await(ready); err != nil || d.direct {
		return p.Data, err
	}
	a, err := dev.post(extent(p))
	if err == nil {
		err = dev.Fetch(a, p.Data, extent(p))
	}
	return a, err
}

// incoming returns where a message is to land that holds a whole panel, which may be written when the mark is
// done. landed brings it to the panel.
func (d *Devices) incoming(dev *device, p kernels.Panel, free kernels.Mark) (kernels.Address, error) {
	if err := dev.Await(free); err != nil || d.direct {
		return p.Data, err
	}
	return dev.post(extent(p))
}

func (d *Devices) landed(dev *device, p kernels.Panel, a kernels.Address) error {
	if d.direct {
		return nil
	}
	return dev.Store(p.Data, a, extent(p))
}

// post returns memory of the host for a message that is not direct, one at a time.
func (dev *device) post(bytes int64) (kernels.Address, error) {
	if bytes <= dev.mail.bytes {
		return dev.mail.at, nil
	}
	if err := dev.freePost(); err != nil {
		return 0, err
	}
	a, err := dev.AllocHost(bytes)
	if err == nil {
		dev.mail = buffer{a, bytes}
	}
	return a, err
}

func (dev *device) freePost() error {
	mail := dev.mail
	dev.mail = buffer{}
	if mail.bytes == 0 {
		return nil
	}
	return dev.FreeHost(mail.at)
}

// flight is an m×n panel on its way from one device to another.
type flight struct {
	from, to int
	m, n     int
	src      kernels.Panel                            // on the sender, or
	pack     func(dev *device, p kernels.Panel) error // queues there what fills p
	dst      kernels.Panel                            // on the receiver, which may write it when
	free     kernels.Mark                             // is done
}

// fly copies a panel of one device to one of another. What is queued on both afterwards comes after that. A
// rank that has neither does nothing.
func (d *Devices) fly(f flight) error {
	sender, receiver := d.here(f.from), d.here(f.to)
	if f.m == 0 || f.n == 0 || sender == nil && receiver == nil {
		return nil
	}
	src, packed, err := f.src, false, error(nil)
	if sender != nil && (f.pack != nil || receiver == nil && !sender.whole(src)) {
		src, err = f.packed(sender)
		packed = true
	}
	if err == nil {
		switch {
		case receiver == nil:
			err = d.send(f, sender, src, packed)
		case sender == nil:
			err = d.receive(f, receiver)
		default:
			err = bring(f, sender, src, receiver)
		}
	}
	if err != nil {
		return fmt.Errorf("matrix: from device %d to %d: %w", f.from, f.to, err)
	}
	return nil
}

// packed queues what makes one piece of memory of the panel.
func (f flight) packed(dev *device) (kernels.Panel, error) {
	p, _, err := dev.outbox.next(dev, f.m, f.n)
	switch {
	case err != nil:
	case f.pack != nil:
		err = f.pack(dev, p)
	default:
		err = dev.Convert(p, f.src)
	}
	return p, err
}

func bring(f flight, sender *device, src kernels.Panel, receiver *device) error {
	ready, err := sender.Mark()
	if err != nil {
		return err
	}
	copied, err := receiver.Bring([]kernels.Panel{f.dst}, []kernels.Panel{src}, ready, f.free)
	if err == nil {
		err = receiver.Follow(copied)
	}
	if err == nil {
		err = sender.Follow(copied)
	}
	return err
}

func (d *Devices) send(f flight, dev *device, src kernels.Panel, packed bool) error {
	ready, err := dev.Mark()
	if err != nil {
		return err
	}
	a, err := d.outgoing(dev, src, ready)
	if err != nil {
		return err
	}
	r := d.Comm.Isend(a, extent(src), d.ranks[f.to], transferTag)
	if packed && d.direct {
		dev.outbox.sending([]*comm.Request{r})
		return nil
	}
	return r.Wait()
}

func (d *Devices) receive(f flight, dev *device) error {
	dst, free, err := f.dst, f.free, error(nil)
	if !dev.whole(dst) {
		if dst, free, err = dev.outbox.next(dev, f.m, f.n); err != nil {
			return err
		}
	}
	a, err := d.incoming(dev, dst, free)
	if err == nil {
		err = d.Comm.Irecv(a, extent(dst), d.ranks[f.from], transferTag).Wait()
	}
	if err == nil {
		err = d.landed(dev, dst, a)
	}
	if err == nil && dst.Data != f.dst.Data {
		err = dev.Convert(f.dst, dst)
	}
	return err
}
