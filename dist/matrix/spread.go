package matrix

import (
	"fmt"
	"math/bits"
	"slices"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

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
	if err := d.toRanks(all, free[0]); err != nil {
		return err
	}
	brought := make([]kernels.Mark, len(d.own))
	err := d.each(func(i int, dev *device) (err error) {
		brought[i], err = d.bringAll(i, dev, all, free[i])
		return err
	})
	if err != nil {
		return err
	}
	return d.taken(brought)
}

// bringAll brings some panels, which have come to this rank, to its device i. What is queued there afterwards
// comes after that. Those of other devices come first: copies inside a device share it with what it works on.
func (d *Devices) bringAll(i int, dev *device, all []cargo, free kernels.Mark) (kernels.Mark, error) {
	var dst, src, ownDst, ownSrc []kernels.Panel
	after := []kernels.Mark{free}
	for _, c := range all {
		p, ready := c.dst[0], kernels.Mark(0) // a message has come to the first device
		if d.here(c.owner) != nil {
			p, ready = c.src, c.ready
		}
		switch {
		case c.dst[i].Data == p.Data || empty(p):
			continue
		case dev == d.here(c.owner):
			ownDst, ownSrc = append(ownDst, c.dst[i]), append(ownSrc, p)
		default:
			dst, src = append(dst, c.dst[i]), append(src, p)
		}
		if !slices.Contains(after, ready) {
			after = append(after, ready)
		}
	}
	if len(dst)+len(ownDst) == 0 {
		return 0, nil
	}
	brought, err := dev.Bring(append(dst, ownDst...), append(src, ownSrc...), after...)
	if err == nil {
		err = dev.Follow(brought)
	}
	return brought, err
}

// taken says that panels have been brought to the devices of this rank when these marks are done. What is
// queued afterwards may change the panels where they came from.
func (d *Devices) taken(brought []kernels.Mark) error {
	for i, dev := range d.own {
		others := slices.Concat(brought[:i], brought[i+1:])
		if len(others) == 0 {
			continue
		}
		if err := dev.Follow(others...); err != nil {
			return err
		}
	}
	return nil
}

// toRanks lets panels come to the first device of every rank that has not got them, where free tells when
// they may be written.
func (d *Devices) toRanks(all []cargo, free kernels.Mark) error {
	if d.Comm.Size() == 1 {
		return nil
	}
	together := 1 // since there is one place for messages that are not direct
	if d.direct {
		together = len(all)
	}
	for k := 0; k < len(all); k += together {
		if err := d.messages(all[k:k+together], free); err != nil {
			return err
		}
	}
	return nil
}

// messages lets panels come along a binomial tree for each, whose root is the owner's rank.
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
	free := make([]kernels.Mark, len(d.own))
	for k := range all {
		all[k].dst = make([]kernels.Panel, len(d.own))
	}
	err := d.each(func(i int, dev *device) (err error) {
		words, room := 0, kernels.Panel{}
		for _, c := range all {
			if dev != d.here(c.owner) {
				words += dev.leading(c.src.M) * c.src.N
			}
		}
		if words > 0 {
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
