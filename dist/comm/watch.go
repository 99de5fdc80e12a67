package comm

import (
	"fmt"
	"time"
)

// Watcher is a communicator whose ranks watch each other. Ranks that are goroutines of one process need none.
type Watcher interface {
	// Watch makes every rank send a beat to the next one, until Close. A rank that has not heard the one before
	// it for so long calls lost, once, from another goroutine, with a *SilentError or what MPI says. After that
	// it sends no beat itself: lost must end the job. Watch is collective, and silence must be the same on all
	// ranks; 0 means no watch. Beats are sent at any time, so there must be no watch where another library calls
	// MPI from a thread of its own.
	Watch(silence time.Duration, lost func(error)) error
}

// SilentError says that a rank has sent no sign of life for so long.
type SilentError struct {
	Rank int
	Host string
	For  time.Duration
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("rank %d on host %s has been silent for %g s", e.Rank, e.Host, e.For.Seconds())
}

// beatPause is the time between two beats: a twentieth of the silence that is an error, within bounds. A
// shorter pause costs time, a longer one spares nothing that counts.
func beatPause(silence time.Duration) time.Duration {
	return min(max(silence/20, 50*time.Millisecond), time.Second)
}

// silence counts how long the neighbour has been silent. Only time in which this process has run itself
// counts: a job that is suspended as a whole, and goes on, has lost no rank.
type silence struct {
	pause time.Duration // between two counts, if this process is not held up
	last  time.Time
	total time.Duration
}

// count returns the silence up to now; heard says whether a beat has come since the last count.
func (s *silence) count(now time.Time, heard bool) time.Duration {
	s.total += min(now.Sub(s.last), 2*s.pause)
	s.last = now
	if heard {
		s.total = 0
	}
	return s.total
}
