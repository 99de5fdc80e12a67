package matrix

import (
	"fmt"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// Tags of messages between the devices of two ranks. Every rank goes through all of them in one order, so one
// tag serves each kind.
const (
	transferTag = 2
	toAllTag    = 3
)

// transfer copies a panel of one device to one of another, of the same shape. A rank that has neither does
// nothing.
func (d *Devices) transfer(from int, src kernels.Panel, to int, dst kernels.Panel) error {
	sender, receiver := d.here(from), d.here(to)
	var err error
	switch {
	case sender != nil && receiver != nil:
		if from != to { // a copy from another device does not wait for it
			if err = sender.Sync(); err == nil {
				err = receiver.Sync()
			}
		}
		if err == nil {
			err = receiver.Copy(dst, src)
		}
	case sender != nil:
		err = d.send(sender, src, d.ranks[to])
	case receiver != nil:
		err = d.receive(receiver, dst, d.ranks[from])
	}
	if err != nil {
		return fmt.Errorf("matrix: from device %d to %d: %w", from, to, err)
	}
	return nil
}

// send sends a panel to another rank.
func (d *Devices) send(dev *device, src kernels.Panel, to int) error {
	if src.M == 0 || src.N == 0 {
		return nil
	}
	if d.direct {
		p, err := dev.packed(src)
		if err == nil {
			err = d.Comm.Isend(p.Data, extent(p), to, transferTag).Wait()
		}
		return err
	}
	return d.withHost(dev, src, func(x []float64, bytes []byte) error {
		if err := dev.Read(x, src.M, src); err != nil {
			return err
		}
		return d.Comm.Isend(comm.HostAddress(bytes), int64(len(bytes)), to, transferTag).Wait()
	})
}

// receive receives a panel that another rank sends.
func (d *Devices) receive(dev *device, dst kernels.Panel, from int) error {
	if dst.M == 0 || dst.N == 0 {
		return nil
	}
	if d.direct {
		if err := dev.Sync(); err != nil {
			return err
		}
		p, err := dev.outbox.need(dev, dst.M, dst.N)
		if err == nil {
			err = d.Comm.Irecv(p.Data, extent(p), from, transferTag).Wait()
		}
		if err == nil {
			err = dev.Copy(dst, p)
		}
		return err
	}
	return d.withHost(dev, dst, func(x []float64, bytes []byte) error {
		if err := d.Comm.Irecv(comm.HostAddress(bytes), int64(len(bytes)), from, transferTag).Wait(); err != nil {
			return err
		}
		return dev.Write(dst, x, dst.M)
	})
}

// packed returns the panel in one piece of memory, for a message: as it is, or a copy. The device is done
// with it.
func (dev *device) packed(src kernels.Panel) (kernels.Panel, error) {
	if src.Ld == dev.leading(src.M) {
		return src, dev.Sync()
	}
	p, err := dev.outbox.need(dev, src.M, src.N)
	if err == nil {
		err = dev.Copy(p, src)
	}
	if err == nil {
		err = dev.Sync()
	}
	return p, err
}

// extent returns the bytes from the first element of a panel to its last.
func extent(p kernels.Panel) int64 { return int64(p.Ld*(p.N-1)+p.M) * kernels.WordBytes }

// withHost calls f with pinned memory of a host for the elements of a panel.
func (d *Devices) withHost(dev *device, p kernels.Panel, f func(x []float64, bytes []byte) error) error {
	if p.M == 0 || p.N == 0 {
		return nil
	}
	bytes := int64(p.M) * int64(p.N) * kernels.WordBytes
	a, err := dev.AllocHost(bytes)
	if err != nil {
		return err
	}
	if err := f(comm.HostFloats(a, p.M*p.N), comm.HostBytes(a, bytes)); err != nil {
		return err // the library may still use the memory: Close gives it back
	}
	return dev.FreeHost(a)
}

// toAll gives every device what a panel of one of them holds, an m×n matrix that the other ranks need not
// know the address of. It returns the panel on each device of this rank, valid until the next call. It is
// collective.
func (d *Devices) toAll(from int, src kernels.Panel) ([]kernels.Panel, error) {
	all := make([]kernels.Panel, len(d.own))
	sender := d.here(from)
	spread := d.spreadStaged
	if d.direct {
		spread = d.spreadDirect
	}
	source, err := 0, error(nil) // of the devices of this rank, the one that has it
	switch {
	case len(d.ranks) == 1 || src.M == 0 || src.N == 0:
	case d.Comm.Size() > 1:
		source, all, err = spread(from, src)
	default:
		err = sender.Sync() // others copy from it
	}
	if sender != nil {
		source = from - d.first
		all[source] = src
	}
	if err == nil && len(d.own) > 1 {
		err = d.each(func(i int, dev *device) (err error) {
			if i == source {
				return nil
			}
			if err := dev.Sync(); err != nil { // it may still read what came before
				return err
			}
			if all[i], err = dev.inbox.need(dev, src.M, src.N); err == nil {
				err = dev.Copy(all[i], all[source])
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("matrix: from device %d to all: %w", from, err)
	}
	return all, nil
}

// spreadDirect gives the first device of every other rank the panel, by messages between the memories of
// devices along a binomial tree. It returns which device of this rank has it.
func (d *Devices) spreadDirect(from int, src kernels.Panel) (source int, all []kernels.Panel, err error) {
	all = make([]kernels.Panel, len(d.own))
	size, root := d.Comm.Size(), d.ranks[from]
	number := (d.Comm.Rank() - root + size) % size // of this rank in the tree, whose root is 0
	var p kernels.Panel
	if number == 0 {
		if p, err = d.here(from).packed(src); err != nil {
			return 0, nil, err
		}
	}
	var sent []*comm.Request
	for step := 1; step < size; step *= 2 {
		switch {
		case number < step && number+step < size:
			sent = append(sent, d.Comm.Isend(p.Data, extent(p), (root+number+step)%size, toAllTag))
		case step <= number && number < 2*step:
			dev := d.own[0]
			if err = dev.Sync(); err == nil { // it may still read what came before
				p, err = dev.inbox.need(dev, src.M, src.N)
			}
			if err == nil {
				err = d.Comm.Irecv(p.Data, extent(p), (root+number-step)%size, toAllTag).Wait()
			}
			if err != nil {
				return 0, nil, err
			}
			all[0] = p
		}
	}
	for _, r := range sent {
		if err := r.Wait(); err != nil {
			return 0, nil, err
		}
	}
	return 0, all, nil
}

// spreadStaged gives the first device of every other rank the panel, through the memory of the hosts. It
// returns which device of this rank has it.
func (d *Devices) spreadStaged(from int, src kernels.Panel) (source int, all []kernels.Panel, err error) {
	all = make([]kernels.Panel, len(d.own))
	host, err := d.hostCopy(from, src)
	if err != nil || d.here(from) != nil {
		return 0, all, err
	}
	dev := d.own[0]
	if err := dev.Sync(); err != nil { // it may still read what came before
		return 0, nil, err
	}
	if all[0], err = dev.inbox.need(dev, src.M, src.N); err != nil {
		return 0, nil, err
	}
	return 0, all, dev.Write(all[0], host, src.M)
}

// hostCopy gives every rank, in the memory of its host, what a panel of one device holds. They must not
// change it. It is collective.
func (d *Devices) hostCopy(from int, src kernels.Panel) ([]float64, error) {
	var mine []float64
	if sender := d.here(from); sender != nil {
		mine = make([]float64, src.M*src.N)
		if err := sender.Read(mine, max(1, src.M), src); err != nil {
			return nil, err
		}
	}
	return comm.FromRank(d.Comm, d.ranks[from], mine)
}

// sumTwice adds the products of all devices, high parts first and then low ones. It is collective.
func (d *Devices) sumTwice(parts [][]float64, long int) ([]float64, error) {
	sum := make([]float64, 2*long)
	for _, p := range parts {
		AddPair(sum[:long], sum[long:], p)
	}
	return SumTwice(d.Comm, sum)
}
