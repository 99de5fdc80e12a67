package jacobi

import (
	"fmt"

	"jmpi/kernels"
)

// Fits refuses a matrix for which one of this rank's devices, or this host for all the devices that take its
// memory, has no room. There are `all` devices, onHost of them on this host, and this rank's begin with the
// one of number first.
func (c Config) Fits(all, onHost, first int, devices []kernels.Backend) error {
	const gib = 1 << 30
	for i, be := range devices {
		limits, d := be.Limits(), be.Describe()
		free := d.Free
		if free == 0 {
			free = d.Memory
		}
		need := c.Demand(all, limits)
		if limits.HostMemory {
			if free > 0 && need*int64(onHost) > free {
				return fmt.Errorf("a %d×%d matrix needs %.3g GiB for the %d of %d devices on this host, which has %.3g "+
					"GiB available: take more hosts", c.M, c.N, float64(need)*float64(onHost)/gib, onHost, all,
					float64(free)/gib)
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

// enough returns the least number of devices above `devices` that need no more than free bytes
// each, 0 for none.
func (c Config) enough(devices int, free int64, limits kernels.Limits) int {
	most := c.N / 2 // more would idle
	if most <= devices || c.Demand(most, limits) > free {
		return 0
	}
	for devices++; devices < most && c.Demand(devices, limits) > free; devices++ {
	}
	return devices
}
