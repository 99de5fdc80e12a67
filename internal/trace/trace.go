// Package trace keeps what a rank does when, and writes it in the trace event format of Chrome, which
// Perfetto and chrome://tracing show.
//
// A *span* is something that has a begin and an end. Spans of one track follow each other or lie in each
// other. A *flight* is a message: flights of a track may overlap. Track 0 is the rank itself; the others are
// its devices.
//
// A Recorder keeps a limited number of spans. When it is full it lets the shorter half go, and from then on
// does not keep any that is as short. So a long run has a whole trace, with less detail.
package trace

import (
	"slices"
	"sync"
	"time"
)

// Recorder keeps the spans of one rank. One that is nil keeps nothing.
type Recorder struct {
	epoch time.Time
	limit int

	mu      sync.Mutex
	spans   []span
	least   int64 // the duration of the shortest span that is kept
	dropped int
}

// span has its times in nanoseconds from the epoch.
type span struct {
	name       string
	begin, end int64
	track      int32
	flight     bool
}

// New returns a recorder for at most limit ≥ 2 spans, whose clock begins at epoch.
func New(epoch time.Time, limit int) *Recorder { return &Recorder{epoch: epoch, limit: limit} }

// Now is the time of the recorder's clock: nanoseconds since 1970, by a clock that never jumps.
func (r *Recorder) Now() int64 { return r.epoch.UnixNano() + int64(time.Since(r.epoch)) }

// Span keeps a span of a track.
func (r *Recorder) Span(track int, name string, begin, end time.Time) {
	r.keep(span{name: name, track: int32(track)}, begin, end)
}

// Flight keeps a flight of a track.
func (r *Recorder) Flight(track int, name string, begin, end time.Time) {
	r.keep(span{name: name, track: int32(track), flight: true}, begin, end)
}

func (r *Recorder) keep(s span, begin, end time.Time) {
	if r == nil {
		return
	}
	s.begin, s.end = int64(begin.Sub(r.epoch)), int64(end.Sub(r.epoch))
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.end-s.begin < r.least {
		r.dropped++
		return
	}
	if len(r.spans) == r.limit {
		r.thin()
	}
	r.spans = append(r.spans, s)
}

// thin lets the shorter half of the spans go.
func (r *Recorder) thin() {
	lengths := make([]int64, len(r.spans))
	for i, s := range r.spans {
		lengths[i] = s.end - s.begin
	}
	slices.Sort(lengths)
	r.least = lengths[len(lengths)/2] + 1
	r.spans = slices.DeleteFunc(r.spans, func(s span) bool { return s.end-s.begin < r.least })
	r.dropped += len(lengths) - len(r.spans)
}

// Dropped tells how many spans were not kept.
func (r *Recorder) Dropped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}
