package dist

import (
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/trace"
	"jmpi/kernels"
)

// site is where a decomposition runs: this rank among all, its devices and its host.
type site struct {
	Host
	comm    comm.Comm
	devices []kernels.Backend
	where   *matrix.Devices    // where matrices lie: the devices of all ranks
	seconds map[string]float64 // of this rank in each phase before and after the Jacobi method
	spans   *trace.Recorder    // of this rank, may be nil
}

// step calls f, which is recorded as a step of the decomposition.
func (s site) step(name string, f func() error) error {
	begin := time.Now()
	defer func() { s.spans.Span(0, name, begin, time.Now()) }()
	return f()
}

// timed is step for what counts for a phase before or after the Jacobi method.
func (s site) timed(phase string, f func() error) error {
	begin := time.Now()
	defer func() { s.seconds[phase] += time.Since(begin).Seconds() }()
	return s.step(phase, f)
}
