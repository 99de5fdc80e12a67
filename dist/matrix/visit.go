package matrix

import "jmpi/kernels"

// visit is pass for anything that device i of this rank does with the columns. Each device goes its own way,
// unless the columns may change: then none goes on before all have what it had.
func (s *Matrix) visit(back bool, f func(i, i0, i1 int, a kernels.Panel) error) error {
	ready, err := s.ready() // s is there, and does not change before it has been shown
	brought := make([]kernels.Mark, len(s.own))
	width := s.passWidth()
	for k, groups := 0, (s.N+width-1)/width; k < groups && err == nil; k++ {
		i0 := k * width
		if back {
			i0 = (groups - 1 - k) * width
		}
		i1 := min(s.N, i0+width)
		if len(s.ranks) == 1 && !back {
			err = f(0, i0, i1, s.shares[0].Columns(i0, i1))
			continue
		}
		var all []kernels.Panel
		var cargos []cargo
		free := make([]kernels.Mark, len(s.own))
		if all, cargos, err = s.room(i0, i1, ready, free); err == nil {
			err = s.toRanks(cargos, free[0])
		}
		if err != nil {
			break
		}
		err = s.each(func(i int, dev *device) (err error) {
			if brought[i], err = s.bringAll(i, dev, cargos, free[i]); err == nil && !back {
				err = f(i, i0, i1, all[i])
			}
			return err
		})
		// The next message takes the place of one from which other devices of the rank have copies.
		if err == nil && (back || s.Comm.Size() > 1 || k == groups-1) {
			err = s.taken(brought)
		}
		if err == nil && back {
			err = s.each(func(i int, _ *device) error { return f(i, i0, i1, all[i]) })
		}
	}
	return err
}

// room returns where the columns i0 ≤ i < i1, whole blocks, are to be on every device of this rank, for what
// is queued before the next call, and the blocks. It sets the marks after which they may be written there.
func (s *Matrix) room(i0, i1 int, ready readiness, free []kernels.Mark) (all []kernels.Panel, blocks []cargo,
	err error) {
	all = make([]kernels.Panel, len(s.own))
	for i, dev := range s.own {
		if all[i], free[i], err = dev.inbox.next(dev, s.M, i1-i0); err != nil {
			return nil, nil, err
		}
	}
	for b := i0 / s.tile; b*s.tile < i1; b++ {
		c := s.cargo(b, s.M, ready)
		for i := range all {
			c.dst = append(c.dst, all[i].Columns(b*s.tile-i0, b*s.tile-i0+c.src.N))
		}
		blocks = append(blocks, c)
	}
	return all, blocks, nil
}

// cargo returns the first rows of a block as what all devices need.
func (s *Matrix) cargo(b, rows int, ready readiness) cargo {
	j0, j1 := s.span(b)
	c := cargo{owner: s.owner(b), src: kernels.Panel{M: rows, N: j1 - j0}}
	if s.here(c.owner) != nil {
		c.src, c.ready = s.block(b).Rows(0, rows), ready.of(c.owner)
	}
	return c
}

// visitBlocks shows the first rows of all blocks, so many of each, to all devices. It calls f for some blocks
// at a time, from number b on, and device i of this rank. There the blocks of the device are where they
// always are.
func (s *Matrix) visitBlocks(rows func(b int) int, f func(i, b int, some []kernels.Panel) error) error {
	ready, err := s.ready()
	for b, next := 0, 0; b < s.blocks() && err == nil; b = next {
		next = min(s.blocks(), b+s.blocksAtATime())
		var cargos []cargo
		for k := b; k < next; k++ {
			cargos = append(cargos, s.cargo(k, rows(k), ready))
		}
		if err = s.toAll(cargos); err == nil {
			err = s.each(func(i int, _ *device) error {
				var some []kernels.Panel
				for _, c := range cargos {
					some = append(some, c.dst[i])
				}
				return f(i, b, some)
			})
		}
	}
	return err
}

// blocksAtATime returns how many blocks in a row there are at most of which any device has to get no more
// than pass by at a time.
func (s *Matrix) blocksAtATime() int {
	devices, width := len(s.ranks), max(1, s.passWidth()/s.tile)
	if devices == 1 {
		return s.blocks()
	}
	return width * devices / (devices - 1)
}
