package dist

import (
	"fmt"

	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/dist/jacobi"
	"jmpi/kernels"
)

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
	all, err := exchange.Census(d.comm, d.devices)
	if err != nil {
		return err
	}
	return comm.Agree(d.comm, comm.BadResource, d.fitsOn(exchange.HostOf(d.comm.Rank(), all), d.comm.Size(), w, there))
}

// fitsOn is fits for this rank, one of so many.
func (d *Decomposition) fitsOn(h exchange.Host, ranks int, w ways, there bool) error {
	const gib = 1 << 30
	t, limits := d.task, d.devices[0].Limits()
	f := w.footprint(t.Config, h.Devices, limits)
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
		if err := c.Fits(h.Devices, h.Beside, h.First, d.devices); err != nil {
			return err
		}
	}
	if t.Memory != nil {
		need := f.Host(h.Ranks, ranks, h.Ranks, h.Beside, limits.HostMemory)
		if free := t.Memory(); free > 0 && need > free {
			return fmt.Errorf("%s %.3g GiB on this host for %d of %d ranks, which has %.3g GiB available: take more hosts",
				matrix, float64(need)/gib, h.Ranks, ranks, float64(free)/gib)
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

// footprint returns the memory of a decomposition on so many devices in all.
func (w ways) footprint(c jacobi.Config, devices int, limits kernels.Limits) Footprint {
	if c.N == 0 {
		return Footprint{}
	}
	f := Footprint{Matrix: kernels.WordBytes * int64(c.M) * int64(c.N)}
	if w.slabs {
		tree := f.Matrix / 2 // merges of 2n rows, one for each slab of at least 4n rows
		f.Matrix += tree
		if w.vectors {
			f.Beside = tree
		}
		c.M = c.N
		f.Beside += kernels.WordBytes * int64(c.N) * int64(c.N)
	}
	f.Beside += w.copies() * kernels.WordBytes * int64(c.M) * int64(c.N)
	c.Vectors = w.v == "accumulate"
	f.Device = c.Demand(devices, limits)
	return f
}
