// Package tracetest reads traces as Perfetto does, and refuses what Perfetto drops or shows in another place.
//
// The rules are those of the Trace Event Format (the document of Chrome's tracing) and of what Perfetto's
// importer makes of it (src/trace_processor: importers/json, importers/common, sorter):
//
//   - An event with a negative time, and a complete event without a duration, are dropped.
//   - Times are microseconds. Some versions cut what they take for nanoseconds, so only numbers that are
//     exact in binary are safe.
//   - Complete events of a thread lie in each other or apart. Those that overlap are dropped. Of two that
//     begin together the longer one comes first.
//   - A thread is named by its number alone, whatever its process: no two have the same. 0 is for what idles.
//   - The events b and e have the same process, category, name and id.
package tracetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Event is one of a trace. Times are in microseconds.
type Event struct {
	Name string          `json:"name"`
	Cat  string          `json:"cat"`
	Ph   string          `json:"ph"`
	TS   *float64        `json:"ts"`
	Dur  *float64        `json:"dur"`
	PID  int             `json:"pid"`
	TID  int             `json:"tid"`
	ID   string          `json:"id"`
	Args json.RawMessage `json:"args"`
}

// Slice is what a viewer shows: of a thread, or with an id beside its threads.
type Slice struct {
	Name       string
	Begin, End int64 // nanoseconds
	PID, TID   int
	Depth      int // how many slices of the thread it lies in
	ID         string
}

// Thread is a line of slices.
type Thread struct {
	Name string
	PID  int
}

// Trace is what a viewer shows.
type Trace struct {
	Processes map[int]string
	Labels    map[int]string
	Threads   map[int]Thread
	Slices    []Slice // of threads, by their begin
	Flights   []Slice // beside threads
}

// Read reads a trace, all of it or nothing.
func Read(text []byte) (*Trace, error) {
	var file struct {
		DisplayTimeUnit string  `json:"displayTimeUnit"`
		TraceEvents     []Event `json:"traceEvents"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if file.DisplayTimeUnit != "ms" && file.DisplayTimeUnit != "ns" {
		return nil, fmt.Errorf("trace: displayTimeUnit %q", file.DisplayTimeUnit)
	}
	r := reader{Trace: &Trace{Processes: map[int]string{}, Labels: map[int]string{}, Threads: map[int]Thread{}},
		owners: map[int]int{}, open: map[string]Slice{}}
	for i, e := range file.TraceEvents {
		if err := r.event(e); err != nil {
			return nil, fmt.Errorf("trace: event %d, %+v: %w", i, e, err)
		}
	}
	return r.Trace, r.end()
}

// reader reads events.
type reader struct {
	*Trace
	owners map[int]int      // the process of each thread that has an event
	open   map[string]Slice // flights, by process, category, name and id
}

func (r *reader) event(e Event) error {
	if e.Name == "" || e.PID <= 0 || e.TID <= 0 {
		return fmt.Errorf("no name, process or thread")
	}
	if owner, found := r.owners[e.TID]; found && owner != e.PID {
		return fmt.Errorf("process %d has such a thread too", owner)
	}
	r.owners[e.TID] = e.PID
	if e.Ph == "M" {
		return r.label(e)
	}
	begin, err := nanoseconds(e.TS)
	if err != nil {
		return err
	}
	s := Slice{Name: e.Name, Begin: begin, End: begin, PID: e.PID, TID: e.TID, ID: e.ID}
	key := fmt.Sprintf("%d %q %q %q", e.PID, e.Cat, e.Name, e.ID)
	before, open := r.open[key]
	switch {
	case e.Cat == "" || e.Args != nil:
		return fmt.Errorf("no category, or arguments")
	case e.Ph == "X" && e.ID == "":
		length, err := nanoseconds(e.Dur)
		s.End += length
		r.Slices = append(r.Slices, s)
		return err
	case e.ID == "" || e.Dur != nil:
		return fmt.Errorf("no id, or a duration")
	case e.Ph == "b" && !open:
		r.open[key] = s
		return nil
	case e.Ph == "e" && open && before.TID == s.TID && before.Begin <= s.End && before.End != ended:
		s.Begin = before.Begin
		r.Flights = append(r.Flights, s)
		before.End = ended // the id is not used again
		r.open[key] = before
		return nil
	}
	return fmt.Errorf("not what may come here")
}

// ended marks a flight that is over.
const ended = math.MaxInt64

// nanoseconds returns a time that every reader takes for the same.
func nanoseconds(microseconds *float64) (int64, error) {
	switch {
	case microseconds == nil:
		return 0, fmt.Errorf("no time or duration")
	case !(*microseconds >= 0 && *microseconds < 1<<43):
		return 0, fmt.Errorf("time %g", *microseconds)
	}
	n := *microseconds * 1000
	if n != math.Trunc(n) || math.FMA(*microseconds, 1000, -n) != 0 {
		return 0, fmt.Errorf("time %g is no whole number of nanoseconds in binary", *microseconds)
	}
	return int64(n), nil
}

// label reads the name of a process or a thread.
func (r *reader) label(e Event) error {
	var args struct {
		Name   string `json:"name"`
		Labels string `json:"labels"`
		Sort   *int   `json:"sort_index"`
	}
	d := json.NewDecoder(bytes.NewReader(e.Args))
	d.DisallowUnknownFields()
	if err := d.Decode(&args); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	switch {
	case e.Name == "process_name" && args.Name != "" && r.Processes[e.PID] == "":
		r.Processes[e.PID] = args.Name
	case e.Name == "thread_name" && args.Name != "" && r.Threads[e.TID].Name == "":
		r.Threads[e.TID] = Thread{Name: args.Name, PID: e.PID}
	case e.Name == "process_labels" && args.Labels != "" && r.Labels[e.PID] == "":
		r.Labels[e.PID] = args.Labels
	case e.Name == "process_sort_index" && args.Sort != nil:
	default:
		return fmt.Errorf("not a name, or a second one")
	}
	return nil
}

// end finds how slices lie in each other.
func (r *reader) end() error {
	for key, s := range r.open {
		if s.End != ended {
			return fmt.Errorf("trace: %s does not end", key)
		}
	}
	for tid, pid := range r.owners {
		if r.Threads[tid].Name == "" || r.Processes[pid] == "" {
			return fmt.Errorf("trace: thread %d of process %d has no name, or its process", tid, pid)
		}
	}
	slices.SortStableFunc(r.Slices, func(a, b Slice) int { return int(min(max(a.Begin-b.Begin, -1), 1)) })
	stacks := map[int][]Slice{}
	for i, s := range r.Slices {
		stack := stacks[s.TID]
		for len(stack) > 0 && stack[len(stack)-1].End <= s.Begin {
			stack = stack[:len(stack)-1]
		}
		if depth := len(stack); depth > 0 && stack[depth-1].End < s.End {
			return fmt.Errorf("trace: %+v overlaps %+v", s, stack[depth-1])
		}
		r.Slices[i].Depth = len(stack)
		stacks[s.TID] = append(stack, s)
	}
	return nil
}
