package matrix

import (
	"fmt"
	"math/bits"

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
	copied, err := receiver.Bring(f.dst, src, ready, f.free)
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

// cargo is a panel that one device has and all need.
type cargo struct {
	owner int
	src   kernels.Panel // on the owner; on other ranks its shape
	ready kernels.Mark  // of the owner: src is there
	// where it is to be on each device of this rank; that of the owner may be src itself
	dst []kernels.Panel
}

// spread gives all devices some panels. free has, for each device of this rank, the mark after which it may
// write where they are to be. What is queued afterwards on all devices comes after that. It is collective.
func (d *Devices) spread(all []cargo, free []kernels.Mark) error {
	if d.Comm.Size() > 1 {
		together := 1 // since there is one place for messages that are not direct
		if d.direct {
			together = len(all)
		}
		for k := 0; k < len(all); k += together {
			if err := d.messages(all[k:k+together], free[0]); err != nil {
				return err
			}
		}
	}
	last := make([]kernels.Mark, len(d.own))    // copy to a device
	sources := make([]map[int]bool, len(d.own)) // from which devices of this rank
	err := d.each(func(i int, dev *device) error {
		sources[i] = map[int]bool{}
		for _, c := range all {
			k, src, ready := 0, c.dst[0], kernels.Mark(0) // a message has come to the first device
			if d.here(c.owner) != nil {
				k, src, ready = c.owner-d.first, c.src, c.ready
			}
			if c.dst[i].Data == src.Data || empty(src) {
				continue
			}
			var err error
			if last[i], err = dev.Bring(c.dst[i], src, ready, free[i]); err != nil {
				return err
			}
			sources[i][k] = true
		}
		return dev.Follow(last[i])
	})
	if err != nil {
		return err
	}
	for i := range d.own {
		for k := range sources[i] {
			if k == i {
				continue
			}
			if err := d.own[k].Follow(last[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// messages gives the first device of every rank that has not got them some panels, along a binomial tree for
// each, whose root is the owner's rank.
func (d *Devices) messages(all []cargo, free kernels.Mark) error {
	rank, size, dev := d.Comm.Rank(), d.Comm.Size(), d.own[0]
	arriving, at := make([]*comm.Request, len(all)), make([]kernels.Address, len(all))
	number := func(c cargo) int { return (rank - d.ranks[c.owner] + size) % size } // in the tree
	var sent []*comm.Request
	forward := func(k int, bytes int64) (requests []*comm.Request) {
		c := all[k]
		for step := 1 << bits.Len(uint(number(c))); number(c)+step < size; step *= 2 {
			requests = append(requests, d.Comm.Isend(at[k], bytes, (rank+step)%size, toAllTag+k))
		}
		return requests
	}
	var err error
	for k, c := range all {
		if n := number(c); n > 0 && !empty(c.src) {
			if at[k], err = d.incoming(dev, c.dst[0], free); err != nil {
				return err
			}
			parent := rank - 1<<(bits.Len(uint(n))-1)
			arriving[k] = d.Comm.Irecv(at[k], extent(c.dst[0]), (parent+size)%size, toAllTag+k)
		}
	}
	for k, c := range all {
		if number(c) > 0 || empty(c.src) {
			continue
		}
		owner, p, ready := d.here(c.owner), c.src, c.ready
		packed := !owner.whole(p)
		if packed {
			if p, err = (flight{m: p.M, n: p.N, src: p}).packed(owner); err == nil {
				ready, err = owner.Mark()
			}
		}
		if err == nil {
			at[k], err = d.outgoing(owner, p, ready)
		}
		if err != nil {
			return err
		}
		if requests := forward(k, extent(p)); packed && d.direct {
			owner.outbox.sending(requests)
		} else {
			sent = append(sent, requests...)
		}
	}
	for k, r := range arriving {
		if r == nil {
			continue
		}
		if err := r.Wait(); err != nil {
			return err
		}
		sent = append(sent, forward(k, extent(all[k].dst[0]))...)
		if err := d.landed(dev, all[k].dst[0], at[k]); err != nil {
			return err
		}
	}
	return waitAll(sent)
}

// readiness has a mark of each device of this rank: what was queued then is there.
type readiness struct {
	*Devices
	marks []kernels.Mark
}

func (d *Devices) ready() (readiness, error) {
	r := readiness{d, make([]kernels.Mark, len(d.own))}
	return r, d.each(func(i int, dev *device) (err error) {
		r.marks[i], err = dev.Mark()
		return err
	})
}

// idle says that what was queued on the devices is there, since the host has waited for it.
func (d *Devices) idle() readiness { return readiness{d, make([]kernels.Mark, len(d.own))} }

// of returns the mark of a device, 0 if it is another rank's.
func (r readiness) of(id int) kernels.Mark {
	if r.here(id) == nil {
		return 0
	}
	return r.marks[id-r.first]
}

// toAll gives every device some panels, for what is queued before the next call: it sets where they are on
// the devices of this rank. It is collective.
func (d *Devices) toAll(all []cargo) error {
	free, words := make([]kernels.Mark, len(d.own)), 0
	for k := range all {
		all[k].dst = make([]kernels.Panel, len(d.own))
		words += d.own[0].leading(all[k].src.M) * all[k].src.N
	}
	err := d.each(func(i int, dev *device) (err error) {
		mine, room := true, kernels.Panel{}
		for _, c := range all {
			mine = mine && dev == d.here(c.owner)
		}
		if !mine {
			if room, free[i], err = dev.inbox.next(dev, words, 1); err != nil {
				return err
			}
		}
		for k, c := range all {
			if dev == d.here(c.owner) {
				all[k].dst[i] = c.src
				continue
			}
			p := kernels.Panel{M: c.src.M, N: c.src.N, Ld: dev.leading(c.src.M), Data: room.Data}
			all[k].dst[i], room.Data = p, room.Data+kernels.Address(p.Bytes())
		}
		return nil
	})
	if err == nil && len(d.ranks) > 1 {
		err = d.spread(all, free)
	}
	if err != nil {
		return fmt.Errorf("matrix: to all devices: %w", err)
	}
	return nil
}

// oneToAll gives every device what a panel of one of them holds. It returns the panel on each device of this
// rank, for what is queued before the next call. It is collective.
func (d *Devices) oneToAll(from int, src kernels.Panel) ([]kernels.Panel, error) {
	c := []cargo{{owner: from, src: src}}
	if dev := d.here(from); dev != nil {
		var err error
		if c[0].ready, err = dev.Mark(); err != nil {
			return nil, err
		}
	}
	err := d.toAll(c)
	return c[0].dst, err
}
