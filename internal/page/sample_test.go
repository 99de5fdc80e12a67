package page

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jmpi/internal/matio"
	"jmpi/internal/report"
	"jmpi/strategy"
	"jmpi/topology"
)

// sample is a folder of results to make a page of.
type sample struct {
	hosts, each int // devices of each host, one a rank
	sweeps      int
	sigma       []float64
	edit        func(*report.Info)
}

// object is a JSON object.
type object map[string]any

// info is what a run would have written.
func (s sample) info(t *testing.T) report.Info {
	t.Helper()
	n := int64(len(s.sigma))
	i := report.Info{
		Command: "jmpi svd a.npy -o a.svd", Start: "2026-11-29T12:00:00Z", WallSeconds: 12.5, Seconds: 10.25,
		Input: report.Input{Path: "/data/a.npy", Shape: [2]int64{2 * n, n}, Dtype: "float64", Order: "rowmajor"},
		Shape: [2]int64{2 * n, n}, Dtype: "float64", K: n, Convention: report.Convention, Converged: true,
		Sweeps: s.sweeps, Strategy: "rev-rowcyc", Scheme: "flat", Variant: "twice", Block: 32,
		FineBlockColumns: 64, FineParts: 1,
		Precondition: object{"used": "none", "why": "the matrix needs none"},
		V:            object{"used": "solve", "why": "faster"},
		Precision:    object{"used": "float64", "why": "as told"},
		Rank:         object{"value": n, "tol": 1e-14, "of": "S against its largest"},
		Ranks:        s.hosts * s.each, Transport: object{"direct": true, "why": "host memory"},
		Versions: map[string]string{"jmpi": "0.1.0", "go": "go1.26", "mpi": "Open MPI 4", "blas": "OpenBLAS"},
	}
	var sweeps, devices []object
	for k := range s.sweeps {
		part := math.Pow(0.1, float64(k*k)/3)
		sweeps = append(sweeps, object{"precision": "float64", "rotations": int64(2e6 * part),
			"proper": int64(1e6 * part * part), "active": math.Min(1, 3*part), "cosine": part, "seconds": 1.5,
			"flops": int64(3e10), "bytes_fast": int64(5 << 20), "bytes_slow": int64(2 << 20)})
	}
	i.Sweep = sweeps
	var nodes []string
	for d := range s.hosts * s.each {
		host := fmt.Sprintf("node%d", d/s.each)
		nodes = append(nodes, host)
		devices = append(devices, object{"rank": d, "host": host, "kind": "cpu", "name": "CPU", "threads": 2})
		i.RankPhases = append(i.RankPhases, map[string]float64{"mpi": 0.5, "read": 1, "shorten": 2, "inner": 3,
			"postmultiply": 2 + float64(d%3), "exchange": 1, "vectors": 0.5, "write": 0.3})
		i.PeakBytes = append(i.PeakBytes, int64(300+d)<<20)
		i.EstimatedBytes = append(i.EstimatedBytes, 350<<20)
	}
	i.Devices = devices
	if len(nodes) > 0 {
		i.Phases = i.RankPhases[0]
	}
	if len(nodes) > 0 && len(nodes) <= 24 {
		i.Plan = plan(t, nodes)
	}
	return i
}

// plan is the first sweep of devices on hosts.
func plan(t *testing.T, nodes []string) (steps []report.Step) {
	t.Helper()
	table, err := strategy.New("rev-rowcyc", 2*len(nodes))
	if err != nil {
		t.Fatal(err)
	}
	network, err := topology.FromNodes(nodes)
	if err != nil {
		t.Fatal(err)
	}
	p, err := topology.New(table, network, topology.Options{Sweeps: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range p.Steps[:len(table.Steps)] {
		pairs, moves := step.Text()
		steps = append(steps, report.Step{Pairs: pairs, Moves: moves})
	}
	return steps
}

// write makes the folder.
func (s sample) write(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	i := s.info(t)
	if s.edit != nil {
		s.edit(&i)
	}
	if err := i.Write(filepath.Join(dir, "info.json")); err != nil {
		t.Fatal(err)
	}
	if err := matio.WriteVector(filepath.Join(dir, "S.npy"), s.sigma); err != nil {
		t.Fatal(err)
	}
	return dir
}

// page makes the page of the sample.
func (s sample) page(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, s.write(t)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// falling are n values that fall from 1 to 1/cond.
func falling(n int, cond float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Pow(cond, -float64(i)/float64(max(1, n-1)))
	}
	return x
}

// samples are folders of all kinds.
func samples() map[string]sample {
	return map[string]sample{
		"four devices": {2, 2, 8, falling(500, 1e10), nil},
		"one device":   {1, 1, 6, falling(40, 1e3), nil},
		"many devices": {6, 4, 30, falling(20000, 1e300), func(i *report.Info) {
			for _, sweep := range i.Sweep.([]object) {
				sweep["rotations"], sweep["proper"] = int64(2147450880), int64(2147450881)
			}
		}},
		"many ranks": {50, 2, 5, falling(300, 10), nil},
		"refined": {1, 2, 4, falling(100, 10), func(i *report.Info) {
			i.Precision = object{"used": "float32, refined", "why": "faster"}
			i.Refined = []object{{"what": "orthonormalize", "seconds": 0.1},
				{"what": "pass", "order": 2, "active": 0.5, "cosine": 1e-6, "seconds": 0.2},
				{"what": "look", "active": 0.0, "cosine": 3e-15, "seconds": 0.2}}
		}},
		"hyperbolic": {1, 4, 7, append(falling(30, 1e4), falling(20, 1e-5)...), func(i *report.Info) {
			i.Signature, i.Convention = &report.Signature{Positive: 30}, report.HyperbolicConvention
		}},
		"gpus": {1, 2, 9, falling(64, 2), func(i *report.Info) {
			i.Devices = []object{{"rank": 0, "host": "h", "kind": "cuda", "name": "H200", "memory": int64(139 << 30)},
				{"rank": 0, "host": "h", "kind": "cuda", "name": "H200", "memory": int64(139 << 30)}}
			i.Ranks, i.RankPhases = 1, i.RankPhases[:1]
			i.PeakBytes, i.EstimatedBytes = []int64{1 << 30}, []int64{1 << 30}
			i.DevicePeakBytes, i.DeviceEstimatedBytes = []int64{3 << 30, 4 << 30}, 5<<30
		}},
		"not converged": {2, 1, 3, falling(10, 10), func(i *report.Info) { i.Converged = false }},
		"out of range": {1, 1, 3, falling(10, 1e300), func(i *report.Info) {
			i.OutOfRange = object{"columns": 2, "rows": 1}
		}},
		"zero":          {1, 2, 1, make([]float64, 12), nil},
		"some zeros":    {1, 3, 5, append(falling(10, 1e8), 0, 0, 0), nil},
		"one value":     {1, 1, 1, []float64{3.5}, nil},
		"tiny and huge": {1, 2, 5, []float64{1e308, 1, 5e-324}, nil},
		"empty": {0, 0, 0, nil, func(i *report.Info) {
			i.Precondition, i.V, i.Precision, i.Transport, i.Devices = nil, nil, nil, nil, nil
			i.Rank = object{"value": 0}
			i.Sweep = []object{}
			i.PeakBytes, i.EstimatedBytes = []int64{1 << 20}, []int64{0}
		}},
		"earlier version": {1, 4, 5, falling(50, 100), func(i *report.Info) {
			i.RankPhases, i.Plan = nil, nil
			forget(i.Sweep.([]object))
		}},
		"gone on": {1, 1, 5, falling(50, 100), func(i *report.Info) { forget(i.Sweep.([]object)[:3]) }},
		"strange names": {2, 1, 3, falling(10, 10), func(i *report.Info) {
			i.Input.Path, i.Command = `/x/<script>alert("1")</script>&'.npy`, `jmpi svd '<b>x</b>' "</style>"`
			for k, d := range i.Devices.([]object) {
				d["host"] = `<i>` + strconv.Itoa(k) + `"&-averylongnamethatnobodywantstoread.example.org`
			}
		}},
	}
}

// forget takes the cosines of sweeps away, which earlier versions did not tell.
func forget(sweeps []object) {
	for _, sweep := range sweeps {
		delete(sweep, "cosine")
	}
}

// missing is a folder that is not there.
func missing(t *testing.T) string { return filepath.Join(t.TempDir(), "no") }

// damage changes a file of a folder.
func damage(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(text))), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
