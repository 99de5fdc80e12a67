package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jmpi/internal/report"
	"jmpi/internal/trace/tracetest"
)

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
	traced, err := tracetest.Read(text) // which refuses slices of a thread that overlap
	if err != nil {
		t.Fatal(err)
	}
	var info report.Info
	if text, err = os.ReadFile(dir + "/out/info.json"); err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		t.Fatal(err)
	}
	threads := map[string]int{}
	for _, thread := range traced.Threads {
		threads[fmt.Sprintf("%s: %s", traced.Processes[thread.PID], thread.Name)]++
	}
	want := map[string]int{}
	for rank, names := range [][]string{{"phases", "device 0", "device 1"}, {"phases", "device 2", "device 3"}} {
		for _, name := range names {
			want[fmt.Sprintf("rank %d on %s: %s", rank, host(), name)] = 1
		}
	}
	if !cmp.Equal(threads, want) || len(traced.Processes) != 2 {
		t.Errorf("threads %v, want %v", threads, want)
	}
	count, sums, busy := map[string]int{}, map[string]float64{}, map[int]int{}
	for _, slice := range traced.Slices {
		name, _, _ := strings.Cut(slice.Name, " ")
		count[name]++
		sums[name] += float64(slice.End-slice.Begin) / 1e9
		busy[slice.TID]++
		if slice.End > 60e9 {
			t.Errorf("%v", slice)
		}
	}
	for name, want := range map[string]int{"mpi": 2, "read": 2, "prepare": 2, "iterate": 2, "undo": 2,
		"write": 2, "check": 2, "sweep": 2 * info.Sweeps} {
		if count[name] != want {
			t.Errorf("%d times %s, want %d", count[name], name, want)
		}
	}
	if len(busy) != 6 || len(traced.Flights) == 0 || traced.Slices[0].Begin > 1e9 {
		t.Errorf("slices of %d threads, %d flights, the first at %d ns", len(busy), len(traced.Flights),
			traced.Slices[0].Begin)
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
	other := sweepsOf(traced, 2)
	for i, a := range sweepsOf(traced, 1) {
		if b := other[i]; min(a.End, b.End) < max(a.Begin, b.Begin) {
			t.Errorf("sweep %d: on rank 0 %v, on rank 1 %v", i+1, a, b)
		}
	}
	if hidden, _ := filepath.Glob(dir + "/.*"); len(hidden) > 0 {
		t.Errorf("hidden: %v", hidden)
	}
}

// sweepsOf are the sweeps of a rank.
func sweepsOf(traced *tracetest.Trace, pid int) (sweeps []tracetest.Slice) {
	for _, slice := range traced.Slices {
		if slice.PID == pid && strings.HasPrefix(slice.Name, "sweep ") {
			sweeps = append(sweeps, slice)
		}
	}
	return sweeps
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
