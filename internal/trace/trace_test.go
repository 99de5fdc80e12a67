package trace

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"
)

// parsed is a trace as a viewer reads it.
type parsed struct{ TraceEvents []event }

// read writes the traces of ranks as one and reads it.
func read(t *testing.T, ranks ...[]byte) (p parsed) {
	t.Helper()
	text := Head
	for i, events := range ranks {
		if i > 0 {
			text += ",\n"
		}
		text += string(events)
	}
	if err := json.Unmarshal([]byte(text+Tail), &p); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return p
}

func TestEvents(t *testing.T) {
	epoch := time.Now()
	after := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	var ranks [][]byte
	for rank := range 2 {
		r := New(epoch, 100)
		r.Span(0, "read \"a\"", after(1), after(3))
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
	got := map[string]bool{}
	for _, e := range read(t, ranks...).TraceEvents {
		if e.Phase == "M" {
			got[fmt.Sprintf("M %d %d %s %v%v", e.PID, e.TID, e.Name, e.Args["name"], e.Args["sort_index"])] = true
			got[fmt.Sprint(e.PID, e.Args["labels"])] = true
			continue
		}
		got[fmt.Sprintf("%s %d %d %s %s %s %g %g", e.Phase, e.PID, e.TID, e.Cat, e.Name, e.ID, e.TS, e.Dur)] = true
	}
	for _, want := range []string{
		"M 0 0 process_name rank 0 on h<nil>", "M 1 0 process_name rank 1 on h<nil>",
		"M 1 0 process_sort_index <nil>1", "M 0 0 thread_name phases<nil>", "M 0 1 thread_name GPU<nil>",
		"M 1 2 thread_name GPU<nil>",
		"1clock ± 1µs",
		"X 0 0 phase read \"a\"  1000 2000", "X 1 0 phase read \"a\"  -1000 2000",
		"X 0 1 device compute  4000 5000", "X 1 2 device compute  2000 5000",
		"b 0 1 exchange 3 to 1 0.2 5000 0", "e 0 1 exchange 3 to 1 0.2 12000 0",
		"b 1 2 exchange 3 to 1 1.2 3000 0", "e 1 2 exchange 3 to 1 1.2 10000 0",
	} {
		if !got[want] {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%v", got)
	}
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
	events, err := r.Events(Process{Zero: epoch.UnixNano()})
	if err != nil {
		t.Fatal(err)
	}
	kept, sweep := 0, false
	for _, e := range read(t, events).TraceEvents {
		if e.Phase == "X" {
			kept++
			sweep = sweep || e.Name == "sweep"
		}
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
