package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"jmpi/internal/matio"
	"jmpi/internal/report"
)

// run is what a folder of results tells. The fields of info.json that report.Info leaves open have types
// here.
type run struct {
	report.Info
	Sweep        []sweep   `json:"sweep"`
	Refined      []refined `json:"refined"`
	Precondition choice    `json:"precondition"`
	V            choice    `json:"v"`
	Precision    choice    `json:"precision"`
	Rank         rank      `json:"rank"`
	Devices      []device  `json:"devices"`
	Transport    transport `json:"transport"`
	// columns and rows that are too small beside the largest
	OutOfRange struct{ Columns, Rows int } `json:"out_of_range"`

	sigma []float64
}

// sweep is one of sweep[].
type sweep struct {
	Precision string
	Rotations int64
	Proper    int64
	Active    float64
	Cosine    float64 // 0: none, or not told
	Seconds   float64
	Flops     int64
	BytesFast int64 `json:"bytes_fast"`
	BytesSlow int64 `json:"bytes_slow"`
}

// Rate is that of the Gram matrices and products, in 10⁹ operations a second.
func (s sweep) Rate() float64 { return float64(s.Flops) / max(s.Seconds, 1e-9) / 1e9 }

// refined is one of refined[].
type refined struct {
	What    string
	Order   int
	Active  float64
	Cosine  float64
	Seconds float64
}

// choice is what was used, and why.
type choice struct{ Used, Why string }

// rank is the numerical rank.
type rank struct {
	Value int64
	Tol   float64
	Of    string
}

// device is one of devices[].
type device struct {
	Rank    int
	Host    string
	Kind    string
	Name    string
	Threads int
	Memory  int64
}

// transport says how messages between ranks travelled.
type transport struct {
	Direct bool
	Why    string
}

// open reads a folder of results.
func open(dir string) (*run, error) {
	path := filepath.Join(dir, "info.json")
	written, err := report.Written(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no info.json; name a folder of results, as jmpi svd makes it", dir)
	case err != nil:
		return nil, err
	case !written:
		return nil, fmt.Errorf("%s was not written by jmpi; name a folder of results", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	r := &run{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if r.sigma, err = values(matio.Result(dir, "S")); err != nil {
		return nil, err
	}
	if int64(len(r.sigma)) != r.K {
		return nil, fmt.Errorf("%s: S.npy has %d singular values, info.json says %d: they are not of one run", dir,
			len(r.sigma), r.K)
	}
	return r, nil
}

// values reads a vector.
func values(path string) ([]float64, error) {
	file, err := matio.OpenVector(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // which was only read
	x := make([]float64, file.Rows*file.Cols)
	if len(x) == 0 {
		return x, nil
	}
	return x, file.ReadColumns(0, file.Cols, x, int(file.Rows))
}

// name is that of the input, without its folder.
func (r *run) name() string {
	if r.Input.Path == "" {
		return "a matrix"
	}
	file, set := matio.SplitName(r.Input.Path)
	if set != "" {
		set = ":" + set
	}
	return filepath.Base(file) + set
}

// hosts lists the hosts, in the order of the ranks.
func (r *run) hosts() (names []string) {
	last := ""
	seen := map[string]bool{}
	for _, d := range r.Devices {
		if d.Host != last && !seen[d.Host] {
			names = append(names, d.Host)
		}
		last, seen[d.Host] = d.Host, true
	}
	return names
}

// hostOf returns the host of a rank, "" if it is not told.
func (r *run) hostOf(rank int) string {
	for _, d := range r.Devices {
		if d.Rank == rank {
			return d.Host
		}
	}
	return ""
}

// devicesOf counts the devices of a rank.
func (r *run) devicesOf(rank int) (n int) {
	for _, d := range r.Devices {
		if d.Rank == rank {
			n++
		}
	}
	return n
}

// gpus tells whether the devices were GPUs.
func (r *run) gpus() bool { return len(r.Devices) > 0 && r.Devices[0].Kind != "cpu" }

// kinds names the devices, once each.
func (r *run) kinds() string {
	var names []string
	seen := map[string]bool{}
	for _, d := range r.Devices {
		if !seen[d.Name] {
			names = append(names, d.Name)
		}
		seen[d.Name] = true
	}
	return strings.Join(names, ", ")
}

// phases are the seconds of each rank in each phase; of rank 0 alone in results of earlier versions.
func (r *run) phases() []map[string]float64 {
	if len(r.RankPhases) > 0 {
		return r.RankPhases
	}
	if len(r.Phases) > 0 {
		return []map[string]float64{r.Phases}
	}
	return nil
}
