package dist

import (
	"fmt"
	"slices"

	"jmpi/kernels"
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

// fitsUnread refuses a matrix for which a host, a rank or a device has no room whatever will be done to it, before it is read. It is collective.
func (d *Decomposition) fitsUnread() error {
	w := ways{slabs: d.tall(), vectors: d.wants.left || d.wants.right, precondition: "none", v: "none"}
	return d.fits(w, false)
}

// fitsChosen does the same when the matrix is in the memory of the hosts and it is known what comes next. It is collective.
func (d *Decomposition) fitsChosen() error { return d.fits(d.ways(), true) }

// ways returns what was chosen.
func (d *Decomposition) ways() ways {
	return ways{slabs: d.slabs != nil, vectors: d.wants.left || d.wants.right, precondition: d.pre.used, v: d.V.Used,
		hyperbolic: d.hyperbolic(), deflated: d.deflated != nil, bySVD: d.pre.svd || d.again != nil}
}

// fits refuses a matrix if a host or a rank has not got the memory for what is done to it and for the devices, or if a device has no room.
// Once the matrix is there, it is not counted again. It is collective.
func (d *Decomposition) fits(w ways, there bool) error {
	all, err := Census(d.comm, d.devices)
	if err != nil {
		return err
	}
	return Agree(d.comm, BadResource, d.fitsOn(hostOf(d.comm.Rank(), all), d.comm.Size(), w, there))
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
func (d *Decomposition) fitsOn(h host, ranks int, w ways, there bool) error {
	const gib = 1 << 30
	t, limits := d.task, d.devices[0].Limits()
	f := w.footprint(t.Config, h.devices, limits)
	matrix := fmt.Sprintf("a %d×%d matrix needs", t.M, t.N)
	if there {
		f.Matrix = 0
		matrix += " another"
	}
	if !limits.HostMemory {
		c := t.Config
		c.Vectors = w.v == "accumulate"
		if w.slabs {
			c.M = c.N
		}
		if err := c.fits(h.devices, h.beside, h.first, d.devices); err != nil {
			return err
		}
	}
	if t.Memory != nil {
		need := f.Host(h.ranks, ranks, h.ranks, h.beside, limits.HostMemory)
		if free := t.Memory(); free > 0 && need > free {
			return fmt.Errorf("%s %.3g GiB on this host for %d of %d ranks, which has %.3g GiB available: take more hosts",
				matrix, float64(need)/gib, h.ranks, ranks, float64(free)/gib)
		}
	}
	if t.Room != nil {
		need := f.Host(1, ranks, 0, len(d.devices), limits.HostMemory)
		if room, limit := t.Room(there); limit != "" && need > room {
			return fmt.Errorf("%s %.3g GiB in this process, but %s leaves %.3g GiB: raise that limit, or take more ranks",
				matrix, float64(need)/gib, limit, float64(max(0, room))/gib)
		}
	}
	return nil
}

// EstimatedBytes returns what this rank was expected to take of the memory of its host, by what was chosen.
func (d *Decomposition) EstimatedBytes() int64 {
	limits := d.devices[0].Limits()
	f := d.ways().footprint(d.task.Config, len(d.Solution.Devices), limits)
	return f.Host(1, d.comm.Size(), 1, len(d.devices), limits.HostMemory)
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
