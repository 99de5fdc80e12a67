package devices

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// fakeDevice is a device that counts how many are open.
type fakeDevice struct {
	kernels.Backend
	kind string
	open *atomic.Int64
}

func (d *fakeDevice) Close() error {
	d.open.Add(-1)
	return nil
}

// fakeNode lets every rank see so many GPUs; some of them cannot be Opened.
type fakeNode struct {
	gpus   []int    // of each rank's node: as many as it sees
	broken []string // UUIDs
	open   atomic.Int64
}

func (n *fakeNode) opener(rank int) Opener {
	uuid := func(i int) string { return fmt.Sprintf("GPU-%d", i) }
	return Opener{
		See: func() (uuids []string, err error) {
			for i := range n.gpus[rank] {
				uuids = append(uuids, uuid(i))
			}
			if uuids == nil {
				err = errors.New("no driver")
			}
			return uuids, err
		},
		GPU: func(i int) (kernels.Backend, error) {
			if slices.Contains(n.broken, uuid(i)) {
				return nil, errors.New("compute capability 6.1 is too old")
			}
			n.open.Add(1)
			return &fakeDevice{kind: uuid(i), open: &n.open}, nil
		},
		CPU: func(threads int) (kernels.Backend, error) {
			n.open.Add(1)
			return &fakeDevice{kind: fmt.Sprintf("cpu-%d", threads), open: &n.open}, nil
		},
	}
}

// openAll opens the devices of all ranks of a node with 4 threads each; the result is the kinds of
// each rank's devices.
func (n *fakeNode) openAll(t *testing.T, backend Backend,
	perRank int) (kinds [][]string, all []Opened, errs []error) {
	t.Helper()
	comms := comm.NewLocal(len(n.gpus))
	all, errs, kinds = make([]Opened, len(comms)), make([]error, len(comms)), make([][]string, len(comms))
	var wg sync.WaitGroup
	for rank, world := range comms {
		wg.Go(func() {
			all[rank], errs[rank] = n.opener(rank).Open(world, backend, perRank, 4)
			for _, d := range all[rank].Devices {
				kinds[rank] = append(kinds[rank], d.(*fakeDevice).kind)
			}
		})
	}
	wg.Wait()
	return kinds, all, errs
}

func TestBackendIsAgreedUpon(t *testing.T) {
	for _, test := range []struct {
		name    string
		gpus    []int
		broken  []string
		backend Backend
		perRank int
		want    string // the devices of all ranks
		why     string // in the reason for taking CPUs, or in the error where want is ""
		noGPU   bool
	}{
		{"auto, no GPU", []int{0, 0}, nil, Auto, 0, "[[cpu-4] [cpu-4]]", "rank 0: no GPU on", true},
		{"auto, GPUs", []int{2, 2}, nil, Auto, 0, "[[GPU-0] [GPU-1]]", "", false},
		{"auto, one rank without", []int{2, 0}, nil, Auto, 0, "[[cpu-4] [cpu-4]]", "rank 1: no GPU on",
			false},
		{"auto, more ranks than GPUs", []int{2, 2, 2}, nil, Auto, 0, "[[cpu-4] [cpu-4] [cpu-4]]",
			"2 GPUs for 3 ranks", false},
		{"auto, one too old", []int{2, 2}, []string{"GPU-1"}, Auto, 0, "[[cpu-4] [cpu-4]]",
			": GPU 1: ", false},
		{"auto, one too old, one rank", []int{3}, []string{"GPU-2"}, Auto, 2, "[[GPU-0 GPU-1]]", "", false},
		{"cpu", []int{2, 2}, nil, CPU, 2, "[[cpu-2 cpu-2] [cpu-2 cpu-2]]", "", false},
		{"auto, CPU devices as asked for", []int{0}, nil, Auto, 3, "[[cpu-1 cpu-1 cpu-2]]", "no driver",
			true},
		{"cuda", []int{4, 4}, nil, CUDA, 0, "[[GPU-0 GPU-1] [GPU-2 GPU-3]]", "", false},
		{"cuda, none", []int{0, 0}, nil, CUDA, 0, "", "rank 0: no GPU on", true},
		{"cuda, one rank without", []int{1, 0}, nil, CUDA, 0, "", "rank 1: no GPU on", false},
		{"cuda, one too old", []int{2, 2}, []string{"GPU-1"}, CUDA, 0, "", ": GPU 1: ", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &fakeNode{gpus: test.gpus, broken: test.broken}
			kinds, all, errs := n.openAll(t, test.backend, test.perRank)
			var open int64
			for rank, d := range all {
				open += int64(len(d.Devices))
				reason := d.FellBack
				if test.want == "" {
					reason = errs[rank]
					var known *comm.Failure
					if !errors.As(reason, &known) || known.Kind != comm.BadResource {
						t.Errorf("rank %d: error %v, want a failure that all know", rank, reason)
					}
				} else if errs[rank] != nil {
					t.Fatalf("rank %d: %v", rank, errs[rank])
				}
				if (reason == nil) != (test.why == "") || reason != nil && !strings.Contains(reason.Error(), test.why) {
					t.Errorf("rank %d: reason %v, want %q", rank, reason, test.why)
				}
				if d.NoGPU != test.noGPU {
					t.Errorf("rank %d: noGPU %t", rank, d.NoGPU)
				}
			}
			if got := fmt.Sprint(kinds); test.want != "" && got != test.want {
				t.Errorf("devices %s, want %s", got, test.want)
			}
			if n.open.Load() != open {
				t.Errorf("%d devices are open, want %d", n.open.Load(), open)
			}
		})
	}
}
