package trace

import (
	"bytes"
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
	Zero    int64          // the time of this rank's clock at which the trace begins
	// Uncertain is the most by which Zero may be wrong against the clocks of other ranks.
	Uncertain time.Duration
}

// event is an entry of the trace. Times are in microseconds.
type event struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"`
	Dur   float64        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int32          `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// Events writes the events of a rank, one a line, separated by commas.
func (r *Recorder) Events(p Process) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b bytes.Buffer
	var err error
	put := func(e event) {
		e.PID = p.Rank
		text, fault := json.Marshal(e)
		if err == nil {
			err = fault
		}
		if b.Len() > 0 {
			b.WriteString(",\n")
		}
		b.Write(text)
	}
	label := func(what, name string, track int32) {
		put(event{Name: what, Phase: "M", TID: track, Args: map[string]any{"name": name}})
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
		label("thread_name", p.Devices[track], int32(track))
	}
	zero := p.Zero - r.epoch.UnixNano()
	at := func(t int64) float64 { return float64(t-zero) / 1e3 }
	for i, s := range r.spans {
		e := event{Name: s.name, Cat: "phase", Phase: "X", TS: at(s.begin), TID: s.track}
		e.Dur = float64(s.end-s.begin) / 1e3
		switch {
		case s.flight:
			e.Cat, e.Phase, e.Dur, e.ID = "exchange", "b", 0, fmt.Sprintf("%d.%d", p.Rank, i)
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
