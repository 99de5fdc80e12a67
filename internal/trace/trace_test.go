package trace

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jmpi/internal/trace/tracetest"
)

// read writes the traces of ranks as one and reads it.
func read(t *testing.T, ranks ...[]byte) *tracetest.Trace {
	t.Helper()
	text := append([]byte(Head), bytes.Join(ranks, []byte(",\n"))...)
	trace, err := tracetest.Read(append(text, Tail...))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return trace
}

func TestEvents(t *testing.T) {
	epoch := time.Now()
	after := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	var ranks [][]byte
	for rank := range 2 {
		r := New(epoch, 100)
		r.Span(0, "read \"a\"", after(2), after(4))
		r.Span(1+rank, "compute", after(4), after(9))
		r.Flight(1+rank, "3 to 1", after(5), after(12))
		// The clock of rank 1 is 2 ms ahead.
		events, err := r.Events(Process{Rank: rank, Host: "h", Devices: map[int]string{1 + rank: "GPU"},
			Zero: epoch.UnixNano() + int64(rank)*2e6, Uncertain: time.Duration(rank) * time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, events)
	}
	const ms = 1000000
	want := &tracetest.Trace{
		Processes: map[int]string{1: "rank 0 on h", 2: "rank 1 on h"},
		Labels:    map[int]string{2: "clock ± 1µs"},
		Threads: map[int]tracetest.Thread{1: {Name: "phases", PID: 1}, 2: {Name: "phases", PID: 2},
			1000000: {Name: "GPU", PID: 1}, 1000001: {Name: "GPU", PID: 2}},
		Slices: []tracetest.Slice{
			{Name: "read \"a\"", Begin: 0, End: 2 * ms, PID: 2, TID: 2},
			{Name: "read \"a\"", Begin: 2 * ms, End: 4 * ms, PID: 1, TID: 1},
			{Name: "compute", Begin: 2 * ms, End: 7 * ms, PID: 2, TID: 1000001},
			{Name: "compute", Begin: 4 * ms, End: 9 * ms, PID: 1, TID: 1000000},
		},
		Flights: []tracetest.Slice{
			{Name: "3 to 1", Begin: 5 * ms, End: 12 * ms, PID: 1, TID: 1000000, ID: "0.2"},
			{Name: "3 to 1", Begin: 3 * ms, End: 10 * ms, PID: 2, TID: 1000001, ID: "1.2"},
		},
	}
	got := read(t, ranks...)
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// Spans of any lengths that lie in each other, or follow each other without a gap, do so in the trace, where
// times are coarser, whatever the order in which they were kept.
func TestNesting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epoch := time.Now()
		r := New(epoch, 1000)
		count := 0
		var fill func(begin, end int64)
		fill = func(begin, end int64) {
			for at := begin; at < end && count < 200; {
				next := min(end, at+rapid.Int64Range(0, 1000).Draw(t, "length"))
				if count++; rapid.Bool().Draw(t, "inside first") {
					fill(at, next)
				}
				r.Span(1, "x", epoch.Add(time.Duration(at)), epoch.Add(time.Duration(next)))
				at = max(next, at+1)
			}
		}
		fill(0, 5000)
		events, err := r.Events(Process{Zero: epoch.UnixNano(), Devices: map[int]string{1: "CPU"}})
		if err != nil {
			t.Fatal(err)
		}
		trace, err := tracetest.Read([]byte(Head + string(events) + Tail))
		if err != nil || len(trace.Slices) != len(r.spans) {
			t.Fatalf("%v: %v", err, trace)
		}
	})
}

// However many spans there are, the longest ones are kept, and never more than the limit.
func TestLimit(t *testing.T) {
	const limit, spans = 64, 10000
	epoch := time.Now()
	r := New(epoch, limit)
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for i := part; i < spans; i += 4 {
				r.Span(1, "x", epoch, epoch.Add(time.Duration((i*7919)%spans)))
			}
		})
	}
	r.Span(0, "sweep", epoch, epoch.Add(time.Second))
	all.Wait()
	events, err := r.Events(Process{Zero: epoch.UnixNano(), Devices: map[int]string{1: "CPU"}})
	if err != nil {
		t.Fatal(err)
	}
	kept, sweep := 0, false
	for _, slice := range read(t, events).Slices {
		kept++
		sweep = sweep || slice.Name == "sweep"
	}
	if kept > limit || kept+r.Dropped() != spans+1 || !sweep {
		t.Errorf("%d spans kept, %d dropped, that of the sweep: %v", kept, r.Dropped(), sweep)
	}
	if cap(r.spans) > 2*limit {
		t.Errorf("room for %d spans", cap(r.spans))
	}
}

// A recorder that is nil takes spans.
func TestNil(t *testing.T) {
	var r *Recorder
	r.Span(0, "x", time.Now(), time.Now())
	r.Flight(0, "x", time.Now(), time.Now())
}
