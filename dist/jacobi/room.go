package jacobi

import (
	"fmt"
	"sort"

	"jmpi/kernels"
)

const gib = 1 << 30

// Fits refuses a matrix for which one of this rank's devices, or this host for all the devices that take its
// memory, has no room. There are `all` devices, onHost of them on this host, and this rank's begin with the
// one of number first.
func (c Config) Fits(all, onHost, first int, devices []kernels.Backend) error {
	limits := devices[0].Limits()
	if !limits.HostMemory {
		room := Room{M: c.M, N: c.N, Need: func(count int) int64 { return c.Demand(count, limits) }}
		return room.Check(all, first, devices)
	}
	need := c.Demand(all, limits) * int64(onHost)
	if free := free(devices[0]); free > 0 && need > free {
		return fmt.Errorf("a %d×%d matrix needs %.3g GiB for the %d of %d devices on this host, which has %.3g "+
			"GiB available: take more hosts", c.M, c.N, float64(need)/gib, onHost, all, float64(free)/gib)
	}
	return nil
}

// Room says what an M×N matrix needs of devices that have memory of their own.
type Room struct {
	M, N int
	Need func(count int) int64 // bytes of each, if there are so many devices; it falls with their number
}

// Check refuses the matrix if one of this rank's devices has not got the memory. There are `all` devices, and
// this rank's begin with the one of number first.
func (r Room) Check(all, first int, devices []kernels.Backend) error {
	for i, be := range devices {
		need, free := r.Need(all), free(be)
		if need <= free {
			continue
		}
		text := fmt.Sprintf("a %d×%d matrix needs %.3g GiB on each of %d devices, device %d (%s) has %.3g GiB",
			r.M, r.N, float64(need)/gib, all, first+i, be.Describe().Name, float64(free)/gib)
		if would := r.enough(all, free); would > 0 {
			return fmt.Errorf("%s: %d devices would do", text, would)
		}
		return fmt.Errorf("%s: more devices would not do either", text)
	}
	return nil
}

// free returns the bytes that a device can still give.
func free(be kernels.Backend) int64 {
	if d := be.Describe(); d.Free > 0 {
		return d.Free
	} else {
		return d.Memory
	}
}

// enough returns the least number of devices above `devices` that need no more than free bytes
// each, 0 for none.
func (r Room) enough(devices int, free int64) int {
	most := r.N / 2 // more would idle
	if most <= devices || r.Need(most) > free {
		return 0
	}
	from := devices + 1
	return from + sort.Search(most-from, func(k int) bool { return r.Need(from+k) <= free })
}
