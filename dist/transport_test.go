package dist

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/cpu"
)

// claiming is a Comm whose library says that it takes device memory.
type claiming struct{ Comm }

func (claiming) ClaimsDevices() bool { return true }

// nowhere is a device whose memory MPI cannot read.
type nowhere struct{ *apart }

func (nowhere) Alloc(int64) (kernels.Address, error)                  { return 0x10, nil }
func (nowhere) Free(kernels.Address) error                            { return nil }
func (nowhere) Fetch(host, device kernels.Address, _ int64) error     { return nil }
func (nowhere) Store(device, host kernels.Address, bytes int64) error { return nil }

// other is a device in whose memory messages do not show.
type other struct{ *apart }

func (d other) Fetch(host, device kernels.Address, bytes int64) error {
	clear(hostBytes(host, bytes))
	return nil
}

func TestGPUDirectNames(t *testing.T) {
	for _, g := range []GPUDirect{GPUDirectAuto, GPUDirectOn, GPUDirectOff} {
		if got, err := ParseGPUDirect(g.String()); err != nil || got != g {
			t.Errorf("%v is parsed as %v, error %v", g, got, err)
		}
	}
	if _, err := ParseGPUDirect("maybe"); err == nil {
		t.Error("maybe is parsed")
	}
}

// choose runs ChooseTransport on all of these ranks and returns what they agree on.
func choose(t *testing.T, comms []Comm, mode GPUDirect, open func(*apart) kernels.Backend) Transport {
	t.Helper()
	got := make([]Transport, len(comms))
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Go(func() {
			d, err := openApart()
			if err != nil {
				t.Error(err)
			}
			defer d.Close()
			if got[i], err = ChooseTransport(c, []kernels.Backend{open(d)}, mode); err != nil {
				t.Error(err)
			}
			if wants := got[i].Direct && got[i].Why != whyHost; (d.attached > 0) != wants && mode != GPUDirectAuto {
				t.Errorf("attached %d times for %v", d.attached, got[i])
			}
		})
	}
	wg.Wait()
	for _, other := range got {
		if other != got[0] {
			t.Errorf("ranks disagree: %v and %v", got[0], other)
		}
	}
	return got[0]
}

func asIs(d *apart) kernels.Backend { return d }

func TestChooseTransport(t *testing.T) {
	claim := func(n int) (comms []Comm) {
		for _, c := range NewLocal(n) {
			comms = append(comms, claiming{c})
		}
		return comms
	}
	half := NewLocal(2)
	half[0] = claiming{half[0]}
	for _, c := range []struct {
		name   string
		comms  []Comm
		mode   GPUDirect
		open   func(*apart) kernels.Backend
		direct bool
		why    string
	}{
		{"host memory", NewLocal(2), GPUDirectOff, func(d *apart) kernels.Backend { return d.Backend }, true, whyHost},
		{"one rank", claim(1), GPUDirectOn, asIs, false, whyAlone},
		{"off", claim(2), GPUDirectOff, asIs, false, "as told"},
		{"on", NewLocal(2), GPUDirectOn, asIs, true, "as told, untested"},
		{"no claim", NewLocal(2), GPUDirectAuto, asIs, false, "does not claim"},
		{"one rank's claim", half, GPUDirectAuto, asIs, false, "does not claim"},
		{"a claim that fails", claim(2), GPUDirectAuto, asIs, false, "in the test rank 0: 8 bytes to rank 0"},
	} {
		if got := choose(t, c.comms, c.mode, c.open); got.Direct != c.direct || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestMPITransport(t *testing.T) { passes(t, 2, "TestMPIRankTransport") }

// TestMPIRankTransport runs the test of a library that claims too much, and too little.
func TestMPIRankTransport(t *testing.T) {
	if world == nil {
		t.Skip("what a rank does; TestMPI… starts it under mpirun")
	}
	for _, c := range []struct {
		name   string
		comm   Comm
		open   func(*apart) kernels.Backend
		direct bool
		why    string
	}{
		{"this library", world, asIs, false, "does not claim"}, // Debian's; CI has no other
		{"a true claim", claiming{world}, asIs, true, "tested"},
		{"a false claim", claiming{world}, func(d *apart) kernels.Backend { return nowhere{d} }, false,
			"in the test rank 0: 8 bytes to rank 0, and from rank 0: segmentation fault in the MPI library"},
		{"a false claim on rank 1", claiming{world}, func(d *apart) kernels.Backend {
			if world.Rank() == 1 {
				return nowhere{d}
			}
			return d
		}, false, "in the test rank 1: 8 bytes to rank 1, and from rank 1: segmentation fault in the MPI library"},
		{"bytes that do not arrive", claiming{world}, func(d *apart) kernels.Backend { return other{d} }, false, "byte 0 of 8 arrived wrong"},
	} {
		if got := choose(t, []Comm{c.comm}, GPUDirectAuto, c.open); got.Direct != c.direct || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// A device without enough memory is refused before anything is allocated, on all ranks, with the number of devices that would do.
func TestMemoryIsCheckedFirst(t *testing.T) {
	c := Config{M: 600, N: 512, Vectors: true, Strategy: "rev-rowcyc", MaxSweeps: 1, Block: 16,
		Load: func(j0, j1 int, dst []float64) error { return nil }}
	be, err := cpu.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	limits := be.Limits()
	be.Close()
	for _, share := range []float64{1, 0.99, 0.5, 0.1, 0.001} {
		free := int64(share * float64(c.demand(4, limits)))
		errs := make([]error, 2)
		would := make([]int, 2)
		var wg sync.WaitGroup
		for i, comm := range NewLocal(2) {
			wg.Go(func() {
				devices, backends, _ := openRank(t, comm, 2, stageBytes)
				devices[0].free, devices[1].free = 1<<40, 1<<40
				if i == 1 {
					devices[1].free = free
				}
				var s *Solution
				s, errs[i] = Solve(t.Context(), comm, backends, c)
				s.Free()
				if err := leftovers(devices); err != nil {
					t.Errorf("share %g: %v", share, err)
				}
			})
		}
		wg.Wait()
		for i, err := range errs {
			f, ok := err.(*Failure)
			switch {
			case share == 1:
				if err != nil {
					t.Errorf("just enough memory: %v", err)
				}
				continue
			case !ok || f.Rank != 1 || f.Kind != BadResource || !strings.HasPrefix(f.Text, "a 600×512 matrix needs 0.0"):
				t.Errorf("share %g: error %v", share, err)
				continue
			case share == 0.001:
				if !strings.HasSuffix(f.Text, "more devices would not do either") {
					t.Errorf("share %g: error %v", share, err)
				}
				continue
			}
			if _, err := fmt.Sscanf(f.Text[strings.LastIndex(f.Text, ":")+1:], "%d devices would do", &would[i]); err != nil {
				t.Errorf("share %g: %v", share, f)
			}
			if w := would[i]; w <= 4 || c.demand(w, limits) > free || c.demand(w-1, limits) <= free {
				t.Errorf("share %g: %v", share, f)
			}
		}
	}
}
