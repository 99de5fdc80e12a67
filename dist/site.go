package dist

import (
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// site is where a decomposition runs: this rank among all, its devices and its host.
type site struct {
	Host
	comm    comm.Comm
	devices []kernels.Backend
	where   *matrix.Devices    // where matrices lie: the devices of all ranks
	seconds map[string]float64 // of this rank in each phase before and after the Jacobi method
}

// timed calls f, whose time counts for a phase.
func (s site) timed(phase string, f func() error) error {
	begin := time.Now()
	defer func() { s.seconds[phase] += time.Since(begin).Seconds() }()
	return f()
}
