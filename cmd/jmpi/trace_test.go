package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jmpi/internal/report"
)

// tracedEvent is an event of a trace.
type tracedEvent struct {
	Name, Cat, Ph, ID string
	TS, Dur           float64
	PID, TID          int
}

// The trace of a run has all ranks and devices, on one clock: phases, sweeps, computing, waiting and
// messages, which agree with info.json. Spans of a track lie in each other or apart.
func TestTrace(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 200, 150).write(t, dir+"/a.npy")
	p := startProgram(t, dir, 2, "svd a.npy -o out --devices-per-rank 2 --threads 2 --trace t.json --check")
	if code := p.wait(t); code != exitDone {
		t.Fatalf("exit code %d: %s", code, p.stderr.String())
	}
	text, err := os.ReadFile(dir + "/t.json")
	if err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []tracedEvent }
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	var info report.Info
	if text, err = os.ReadFile(dir + "/out/info.json"); err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		t.Fatal(err)
	}
	type track struct{ pid, tid int }
	spans := map[track][]tracedEvent{}
	count, sums := map[string]int{}, map[string]float64{}
	begins := map[string]float64{}
	for _, e := range trace.TraceEvents {
		name, _, _ := strings.Cut(e.Name, " ")
		count[e.Ph+" "+name]++
		switch e.Ph {
		case "X":
			spans[track{e.PID, e.TID}] = append(spans[track{e.PID, e.TID}], e)
			sums[name] += e.Dur / 1e6
			if end := e.TS + e.Dur; e.TS < -5e6 || e.Dur < 0 || end > 60e6 {
				t.Errorf("%v", e)
			}
		case "b":
			begins[e.ID] = e.TS
		case "e":
			if begin, found := begins[e.ID]; !found || e.TS < begin {
				t.Errorf("%v ends, begun %v at %g", e, found, begin)
			}
		}
	}
	for name, want := range map[string]int{"X mpi": 2, "X read": 2, "X prepare": 2, "X iterate": 2, "X undo": 2,
		"X write": 2, "X check": 2, "X sweep": 2 * info.Sweeps, "M process_name": 2, "M thread_name": 6,
		"b block-column": count["e block-column"]} {
		if count[name] != want {
			t.Errorf("%d times %s, want %d", count[name], name, want)
		}
	}
	for _, e := range []track{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 3}, {1, 4}} {
		apart(t, spans[e])
	}
	if len(spans) != 6 || count["b block-column"] == 0 {
		t.Errorf("%d tracks, %v", len(spans), count)
	}
	computed, waited := 0.0, 0.0
	for _, phases := range info.RankPhases {
		computed += phases["shorten"] + phases["inner"] + phases["postmultiply"]
		waited += phases["exchange"]
	}
	if sums["compute"] < computed || sums["compute"] > computed+1 || sums["wait"] < 0.9*waited ||
		sums["wait"] > waited+0.01 {
		t.Errorf("computed %g s, info.json says %g; waited %g s, info.json says %g", sums["compute"], computed,
			sums["wait"], waited)
	}
	// One clock: a sweep ends with a sum over both ranks, before which neither begins the next.
	for i, e := range sweepsOf(spans[track{0, 0}]) {
		other := sweepsOf(spans[track{1, 0}])[i]
		if min(e.TS+e.Dur, other.TS+other.Dur) < max(e.TS, other.TS) {
			t.Errorf("sweep %d: on rank 0 from %g for %g, on rank 1 from %g for %g", i+1, e.TS, e.Dur, other.TS,
				other.Dur)
		}
	}
	if hidden, _ := filepath.Glob(dir + "/.*"); len(hidden) > 0 {
		t.Errorf("hidden: %v", hidden)
	}
}

// sweepsOf are the sweeps of a rank.
func sweepsOf(spans []tracedEvent) (sweeps []tracedEvent) {
	for _, e := range spans {
		if strings.HasPrefix(e.Name, "sweep ") {
			sweeps = append(sweeps, e)
		}
	}
	return sweeps
}

// apart tells whether spans lie in each other or apart, to 1 µs.
func apart(t *testing.T, spans []tracedEvent) {
	t.Helper()
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			if first, second := a, b; true {
				if second.TS < first.TS || second.TS == first.TS && second.Dur > first.Dur {
					first, second = second, first
				}
				end := first.TS + first.Dur
				if second.TS < end-1 && second.TS+second.Dur > end+1 {
					t.Fatalf("%v and %v overlap", first, second)
				}
			}
		}
	}
}

// A trace that could not be written is refused before anything is computed.
func TestTraceRefused(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 20, 15).write(t, dir+"/a.npy")
	p := startProgram(t, dir, 1, "svd a.npy -o out --trace no/t.json")
	if code := p.wait(t); code != exitInput || !strings.Contains(p.stderr.String(),
		"jmpi: no/t.json cannot be written: no such file or directory; choose another folder") {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
	if _, err := os.Stat(dir + "/out"); err == nil {
		t.Error("there are results")
	}
}

// The page of a real run can be made, and stands beside the folder.
func TestReportCommand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	gauss(t, 60, 40).write(t, "a.npy")
	p := startProgram(t, dir, 2, "svd a.npy -o out")
	if code := p.wait(t); code != exitDone {
		t.Fatalf("exit code %d: %s", code, p.stderr.String())
	}
	for _, args := range [][]string{{"report", "out/"}, {"report", "out", "-o", "page.html"}} {
		if code, text := output(t, args...); code != exitDone || text != "" {
			t.Errorf("%v: exit code %d, printed %q", args, code, text)
		}
	}
	for _, name := range []string{"out.html", "page.html"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"60 × 40", "Converged in ", `id="map"`, "Macro step 3",
			"40 singular values"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
	if code, _ := output(t, "report", "no"); code != exitInput {
		t.Errorf("exit code %d for a folder that is not there", code)
	}
}
