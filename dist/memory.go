package dist

import (
	"fmt"
	"slices"

	"jmpi/kernels"
	"jmpi/node"
)

// fits refuses a matrix for which one of this rank's devices, or this host for all the devices that take its memory, has no
// room. The devices of all ranks are all in number, those of this host beside, and this rank's begin with the one of number first.
func (c Config) fits(all, beside, first int, devices []kernels.Backend) error {
	const gib = 1 << 30
	for i, be := range devices {
		limits, d := be.Limits(), be.Describe()
		free := d.Free
		if free == 0 {
			free = d.Memory
		}
		need := c.demand(all, limits)
		if limits.HostMemory {
			if free > 0 && need*int64(beside) > free {
				return fmt.Errorf("a %d×%d matrix needs %.3g GiB for the %d of %d devices on this host, which has %.3g GiB available: take more hosts",
					c.M, c.N, float64(need)*float64(beside)/gib, beside, all, float64(free)/gib)
			}
			continue
		}
		if need <= free {
			continue
		}
		text := fmt.Sprintf("a %d×%d matrix needs %.3g GiB on each of %d devices, device %d (%s) has %.3g GiB",
			c.M, c.N, float64(need)/gib, all, first+i, d.Name, float64(free)/gib)
		if would := c.enough(all, free, limits); would > 0 {
			return fmt.Errorf("%s: %d devices would do", text, would)
		}
		return fmt.Errorf("%s: more devices would not do either", text)
	}
	return nil
}

// fitsUnread refuses a matrix for which a host or a device has no room whatever will be done to it, before it is read. It is collective.
func (d *Decomposition) fitsUnread() error {
	copies := 1
	if d.tall() {
		copies = 2 // the slabs, and those of U
	}
	return d.fits(copies, false)
}

// fitsChosen does the same when the matrix is in the memory of the hosts and it is known what comes next. The numbers of copies are what was
// measured, beside the matrix itself. It is collective.
func (d *Decomposition) fitsChosen() error {
	copies := 0
	switch vectors := d.wants.left || d.wants.right; {
	case d.deflated != nil:
		copies = 7 // the same, the null space, and the decompositions that tell its signs
	case d.pre.used != "none":
		copies = 5 // rows sorted, reflectors, triangular factors, vectors before and after the reflectors
	case d.hyperbolic():
		copies = 2 // rows sorted, reflectors
	case d.V.Used == "solve":
		copies = 3 // U, Aᵀ·U or its reflectors, V
	case d.slabs != nil && vectors:
		copies = 2
	}
	return d.fits(copies, d.V.Used == "accumulate")
}

// fits refuses a matrix if a host has not got so many copies of it, shared out to all ranks, and what its devices need, or if a device has no room.
// It is collective.
func (d *Decomposition) fits(copies int, vectors bool) error {
	all, err := Census(d.comm, d.devices)
	if err != nil {
		return err
	}
	return Agree(d.comm, BadResource, d.fitsOn(hostOf(d.comm.Rank(), all), d.comm.Size(), copies, vectors))
}

// host is what runs beside a rank, itself included: ranks and devices; its own devices have the numbers from first on, of all devices.
type host struct{ ranks, beside, first, devices int }

// hostOf finds it in the census of all devices; every rank has some.
func hostOf(rank int, all []DeviceInfo) host {
	h := host{devices: len(all), first: slices.IndexFunc(all, func(d DeviceInfo) bool { return d.Rank == rank })}
	last := -1
	for _, d := range all {
		if d.Host != all[h.first].Host {
			continue
		}
		h.beside++
		if d.Rank != last {
			h.ranks++
		}
		last = d.Rank
	}
	return h
}

// fitsOn is fits for this rank, one of so many.
func (d *Decomposition) fitsOn(h host, ranks, copies int, vectors bool) error {
	const gib = 1 << 30
	t, c, limits := d.task, d.task.Config, d.devices[0].Limits()
	c.Vectors = vectors
	m, n := t.M, t.N
	if d.tall() || d.slabs != nil {
		c.M = n
	}
	if d.slabs != nil {
		m = n
	}
	need := int64(copies*kernels.WordBytes) * int64(m) * int64(n) / int64(ranks) * int64(h.ranks)
	if limits.HostMemory {
		need += int64(h.beside) * c.demand(h.devices, limits)
	} else if err := c.fits(h.devices, h.beside, h.first, d.devices); err != nil {
		return err
	}
	if t.Memory == nil {
		return nil
	}
	if free := t.Memory(); free > 0 && need > free {
		return fmt.Errorf("a %d×%d matrix needs %.3g GiB on this host for %d of %d ranks, which has %.3g GiB available: take more hosts",
			t.M, n, float64(need)/gib, h.ranks, ranks, float64(free)/gib)
	}
	return nil
}

// demand returns the bytes that each of so many devices allocates.
func (c Config) demand(devices int, limits kernels.Limits) int64 {
	return node.Demand(c.node(devices, limits), limits)
}

// enough returns the least number of devices above `devices` that need no more than free bytes each, 0 for none.
func (c Config) enough(devices int, free int64, limits kernels.Limits) int {
	most := c.N / 2 // more would idle
	if most <= devices || c.demand(most, limits) > free {
		return 0
	}
	for devices++; devices < most && c.demand(devices, limits) > free; devices++ {
	}
	return devices
}
