package dist

import (
	"time"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// site is where a decomposition runs: this rank among all, its devices and its host.
type site struct {
	Host
	comm    comm.Comm
	devices []kernels.Backend
	seconds map[string]float64 // what the hosts have spent on each phase
}

// timed calls f, whose time counts for a phase.
func (s site) timed(phase string, f func() error) error {
	begin := time.Now()
	defer func() { s.seconds[phase] += time.Since(begin).Seconds() }()
	return f()
}

// hostMemory tells whether the devices' memory is that of the hosts.
func (s site) hostMemory() bool { return s.devices[0].Limits().HostMemory }
