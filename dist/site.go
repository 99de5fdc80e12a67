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

// timed calls f, whose time counts for a phase.
func (s site) timed(phase string, f func() error) error {
	begin := time.Now()
	defer func() {
		end := time.Now()
		s.seconds[phase] += end.Sub(begin).Seconds()
		s.spans.Span(0, phase, begin, end)
	}()
	return f()
}

// begin begins a step of a decomposition, which end records.
func (s site) begin(step string) (end func()) {
	begin := time.Now()
	return func() { s.spans.Span(0, step, begin, time.Now()) }
}
