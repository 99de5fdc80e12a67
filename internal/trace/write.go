package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Process is a rank in a trace.
type Process struct {
	Rank    int
	Host    string
	Devices map[int]string // the name of the device of each track but 0
	Zero    int64          // the time of this rank's clock at which the trace begins: none is before
	// Uncertain is the most by which Zero may be wrong against the clocks of other ranks.
	Uncertain time.Duration
}

// event is an entry of the trace. Times are in microseconds.
type event struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"`
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// firstDevice is the number of the first device's thread. Viewers know a thread by its number alone, so those
// of devices are beyond those of ranks. None is 0, which viewers take for what idles.
const firstDevice = 1000000

// tick is the unit of times in nanoseconds. A multiple of it is exact in microseconds, whoever reads it.
const tick = 125

// Events writes the events of a rank, one a line, separated by commas.
func (r *Recorder) Events(p Process) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b bytes.Buffer
	var err error
	put := func(e event) {
		e.PID = 1 + p.Rank
		if e.TID == 0 {
			e.TID = e.PID
		}
		text, fault := json.Marshal(e)
		if err == nil {
			err = fault
		}
		if b.Len() > 0 {
			b.WriteString(",\n")
		}
		b.Write(text)
	}
	thread := func(track int) int { // 0 for the rank
		if track == 0 {
			return 0
		}
		return firstDevice + track - 1
	}
	label := func(what, name string, track int) {
		put(event{Name: what, Phase: "M", TID: thread(track), Args: map[string]any{"name": name}})
	}
	label("process_name", fmt.Sprintf("rank %d on %s", p.Rank, p.Host), 0)
	put(event{Name: "process_sort_index", Phase: "M", Args: map[string]any{"sort_index": p.Rank}})
	if p.Uncertain > 0 {
		labels := map[string]any{"labels": "clock ± " + p.Uncertain.String()}
		put(event{Name: "process_labels", Phase: "M", Args: labels})
	}
	label("thread_name", "phases", 0)
	tracks := make([]int, 0, len(p.Devices))
	for track := range p.Devices {
		tracks = append(tracks, track)
	}
	slices.Sort(tracks)
	for _, track := range tracks {
		label("thread_name", p.Devices[track], track)
	}
	zero := p.Zero - r.epoch.UnixNano()
	ticks := func(t int64) int64 { return (t - zero) / tick }
	at := func(t int64) float64 { return float64(ticks(t)) * (tick / 1e3) }
	// Of spans that begin together the outer one comes first.
	slices.SortStableFunc(r.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(ticks(a.begin), ticks(b.begin)), cmp.Compare(b.end, a.end))
	})
	for i, s := range r.spans {
		e := event{Name: s.name, Cat: "phase", Phase: "X", TS: at(s.begin), TID: thread(int(s.track))}
		length := at(s.end) - e.TS
		e.Dur = &length
		switch {
		case s.flight:
			e.Cat, e.Phase, e.Dur, e.ID = "exchange", "b", nil, fmt.Sprintf("%d.%d", p.Rank, i)
			put(e)
			e.Phase, e.TS = "e", at(s.end)
		case s.track > 0:
			e.Cat = "device"
		}
		put(e)
	}
	return b.Bytes(), err
}

// The text before and after the events of all ranks. Between those of two ranks stands a comma.
const (
	Head = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
	Tail = "\n]}\n"
)
