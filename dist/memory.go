package dist

import (
	"fmt"

	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// ways returns what was chosen.
func (m method) ways(t Task, o origin) ways {
	return ways{slabs: o.slabs != nil, reflectors: o.slabs.ByReflectors(), vectors: t.needs().any(),
		precondition: m.precondition, v: m.v, ladder: m.ladder,
		hyperbolic: o.hyperbolic(), bySVD: m.bySVD, reread: m.reread}
}

func (p prepared) ways(t Task) ways {
	w := p.method.ways(t, p.origin)
	w.deflated = p.deflated != nil
	return w
}

func (o outcome) ways(t Task) ways {
	w := o.prepared.ways(t)
	w.aside = t.Aside
	w.bySVD = w.bySVD || w.hyperbolic && o.formed != nil
	return w
}

// fits refuses a matrix if a host or a rank has not got the memory for what is done to it and for the
// devices, or if a device has no room. Once the matrix is there, it is not counted again. It is collective.
func (s site) fits(t Task, w ways, there bool) error {
	all, err := exchange.Census(s.comm, s.devices)
	if err != nil {
		return err
	}
	return comm.Agree(s.comm, comm.BadResource, s.fitsOn(exchange.HostOf(s.comm.Rank(), all), t, w, there))
}

// fitsOn is fits for this rank.
func (s site) fitsOn(h exchange.Host, t Task, w ways, there bool) error {
	const gib = 1 << 30
	limits, ranks := s.devices[0].Limits(), s.comm.Size()
	f := w.footprint(t, h.Devices, limits)
	it := fmt.Sprintf("a %d×%d matrix needs", t.M, t.N)
	if there {
		f.Matrix = 0
		it += " another"
	}
	if !limits.HostMemory {
		if err := w.room(t, there, limits).Check(h.Devices, h.First, s.devices); err != nil {
			return err
		}
	}
	if s.Memory != nil {
		need := f.Host(h.Ranks, ranks, h.Ranks, h.OnHost, limits.HostMemory)
		if free := s.Memory(); free > 0 && need > free {
			return fmt.Errorf("%s %.3g GiB on this host for %d of %d ranks, which has %.3g "+
				"GiB available: take more hosts", it, float64(need)/gib, h.Ranks, ranks, float64(free)/gib)
		}
	}
	if s.Room != nil {
		need := f.Host(1, ranks, 0, len(s.devices), limits.HostMemory)
		if room, limit := s.Room(there); limit != "" && need > room {
			return fmt.Errorf("%s %.3g GiB in this process, but %s leaves %.3g GiB: raise "+
				"that limit, or take more ranks", it, float64(need)/gib, limit, float64(max(0, room))/gib)
		}
	}
	return nil
}

// room is what the devices need besides what is there. They have memory of their own.
func (w ways) room(t Task, there bool, limits kernels.Limits) jacobi.Room {
	return jacobi.Room{M: t.M, N: t.N, Need: func(count int) int64 {
		need := w.footprint(t, count, limits).Device
		if c := w.config(t); there {
			need -= share(aligned(c.M, limits)*int64(c.N), c, count, limits)
			if w.slabs {
				slabs, one, tree := matrix.SlabBytes(t.M, t.N, count, limits)
				if need -= slabs + one; w.reflectors {
					need -= tree
				}
			}
		}
		return need
	}}
}

// estimate returns what this rank was expected to take of the memory of its host, with so many
// devices in all.
func (s site) estimate(t Task, w ways, devices int) int64 {
	limits := s.devices[0].Limits()
	return w.footprint(t, devices, limits).Host(1, s.comm.Size(), 1, len(s.devices), limits.HostMemory)
}
