package matrix

import "jmpi/kernels"

// transfer are some columns of one device that become columns of another, or of the same. On the way they lie
// side by side.
type transfer struct {
	flight
	dev   *device // that gets them; nil: of another rank
	panel kernels.Panel
	at    []int // the columns of the panel that they become
}

// exchange copies columns into the matrix, or from it, divided. Between ranks all is in one order, since
// messages are.
func (s *Matrix) exchange(all []Columns, into bool, over []float64) error {
	var transfers []transfer
	for _, c := range all {
		for id := range s.ranks {
			some, err := s.transfers(c, id, into, over)
			if err != nil {
				return err
			}
			transfers = append(transfers, some...)
		}
	}
	if s.Comm.Size() == 1 {
		return s.carryTogether(transfers)
	}
	for _, t := range transfers {
		if err := s.land(t.flight, t.dev, t.panel, t.at); err != nil {
			return err
		}
	}
	return nil
}

// transfers returns how those columns come to their places that device id has of the matrix, as far as this
// rank has to do with it. It copies those that stay on a device as they are.
func (s *Matrix) transfers(c Columns, id int, into bool, over []float64) (all []transfer, err error) {
	var outside, inside []int // where they are in the panel, and in the share
	var divisors []float64
	for k, j := range c.To {
		if home, at := s.home(j); home == id && j < s.N {
			outside, inside = append(outside, k), append(inside, at)
			if over != nil {
				divisors = append(divisors, over[j])
			}
		}
	}
	there, here := s.here(c.Device), s.here(id)
	if len(inside) == 0 || there == nil && here == nil {
		return nil, nil
	}
	share := kernels.Panel{M: s.M, N: len(inside)}
	if here != nil {
		share = s.shares[id-s.first]
	}
	from, to, source, target := c.Device, id, end{there, c.Panel, outside}, end{here, share, inside}
	if !into {
		from, to, source, target = to, from, target, source
	}
	if from == to && over == nil {
		return nil, here.MoveColumns(target.panel, target.at, source.panel, source.at)
	}
	for first := 0; first < len(inside); first += s.tile {
		last := min(first+s.tile, len(inside))
		pack := func(dev *device, p kernels.Panel) error {
			err := dev.MoveColumns(p, Natural(last-first), source.panel, source.at[first:last])
			if err == nil && over != nil {
				err = dev.Divide(p, nil, divisors[first:last])
			}
			return err
		}
		all = append(all, transfer{flight{from: from, to: to, m: s.M, n: last - first, pack: pack}, target.dev,
			target.panel, target.at[first:last]})
	}
	return all, nil
}

// end is where some columns come from, or go to.
type end struct {
	dev   *device // nil: of another rank
	panel kernels.Panel
	at    []int // the columns in it
}

// carryTogether does transfers inside the only rank, those of all devices at a time: each device gets columns
// of one other, and gives some to one.
func (s *Matrix) carryTogether(all []transfer) error {
	devices := len(s.own)
	for turn := range devices {
		lists, longest := make([][]transfer, devices), 0 // by who gets them
		for _, t := range all {
			if (t.from-t.to+devices)%devices == turn {
				lists[t.to] = append(lists[t.to], t)
				longest = max(longest, len(lists[t.to]))
			}
		}
		for k := range longest {
			some := make([]*transfer, devices)
			for i, list := range lists {
				if k < len(list) {
					some[i] = &list[k]
				}
			}
			if err := s.carryTurn(turn, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// carryTurn does a transfer for each device i of the only rank, nil for none: from device i + turn, counted
// round.
func (s *Matrix) carryTurn(turn int, some []*transfer) error {
	devices := len(s.own)
	packed, ready, brought := make([]kernels.Panel, devices), make([]kernels.Mark, devices),
		make([]kernels.Mark, devices)
	err := s.each(func(i int, dev *device) (err error) {
		t := some[(i-turn+devices)%devices] // of which this device has the columns
		if t == nil || turn == 0 {
			return nil
		}
		if packed[i], err = t.packed(dev); err == nil {
			ready[i], err = dev.Mark()
		}
		return err
	})
	if err != nil {
		return err
	}
	err = s.each(func(i int, dev *device) error {
		t := some[i]
		if t == nil {
			return nil
		}
		p, free, err := dev.inbox.next(dev, t.m, t.n)
		switch {
		case err != nil:
		case turn == 0:
			err = t.pack(dev, p)
		default:
			brought[i], err = dev.Bring([]kernels.Panel{p}, []kernels.Panel{packed[t.from]}, ready[t.from], free)
			if err == nil {
				err = dev.Follow(brought[i])
			}
		}
		if err != nil {
			return err
		}
		return dev.MoveColumns(t.panel, t.at, p, Natural(t.n))
	})
	if err != nil || turn == 0 {
		return err
	}
	return s.taken(brought)
}

// land lets a panel fly to a device, nil if that is another rank's, and takes its columns apart there: column
// k becomes column at[k] of p.
func (d *Devices) land(f flight, dev *device, p kernels.Panel, at []int) (err error) {
	if dev != nil {
		if f.dst, f.free, err = dev.inbox.next(dev, f.m, f.n); err != nil {
			return err
		}
	}
	if f.from == f.to {
		err = f.pack(dev, f.dst)
	} else {
		err = d.fly(f)
	}
	if err != nil || dev == nil {
		return err
	}
	return dev.MoveColumns(p, at, f.dst, Natural(f.n))
}
