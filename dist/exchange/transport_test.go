package exchange

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/comm/commtest"
	"jmpi/dist/disttest"
	"jmpi/kernels"
)

// claiming is a Comm whose library says that it takes device memory.
type claiming struct {
	comm.Comm
	comm.DeviceMemory
}

func (claiming) ClaimsDevices() bool { return true }

// onlyHost is the part of a library that finds its way to host memory alone.
type onlyHost struct{ comm.DeviceMemory }

func (onlyHost) Do(f func() error) error { return f() }
func (onlyHost) Spin(bool)               {}
func (onlyHost) Probe(kernels.Address, int, kernels.Address, int, int64) error {
	return errors.New("a fault")
}

// nowhere is a device whose memory MPI cannot read.
type nowhere struct{ *disttest.Apart }

func (nowhere) Alloc(int64) (kernels.Address, error) { return 0x10, nil }

func (nowhere) Free(kernels.Address) error { return nil }

func (nowhere) Fetch(host, device kernels.Address, _ int64) error { return nil }

func (nowhere) Store(device, host kernels.Address, bytes int64) error { return nil }

// other is a device in whose memory messages do not show.
type other struct{ *disttest.Apart }

func (d other) Fetch(host, device kernels.Address, bytes int64) error {
	clear(comm.HostBytes(host, bytes))
	return nil
}

// choose runs ChooseTransport on all of these ranks and returns what they agree on.
func choose(t *testing.T, comms []comm.Comm, mode GPUDirect,
	open func(*disttest.Apart) kernels.Backend) Transport {
	t.Helper()
	got := make([]Transport, len(comms))
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Go(func() {
			d, err := disttest.OpenApart()
			if err != nil {
				t.Error(err)
			}
			defer func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}()
			if got[i], err = ChooseTransport(c, []kernels.Backend{open(d)}, mode); err != nil {
				t.Error(err)
			}
			if wants := got[i].Direct && got[i].Why != WhyHost; (d.Attached > 0) != wants && mode != GPUDirectAuto {
				t.Errorf("attached %d times for %v", d.Attached, got[i])
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

func asIs(d *disttest.Apart) kernels.Backend { return d }

func TestChooseTransport(t *testing.T) {
	claim := func(n int) (comms []comm.Comm) {
		for _, c := range comm.NewLocal(n) {
			comms = append(comms, claiming{c, onlyHost{}})
		}
		return comms
	}
	half := comm.NewLocal(2)
	half[0] = claiming{half[0], onlyHost{}}
	for _, c := range []struct {
		name   string
		comms  []comm.Comm
		mode   GPUDirect
		open   func(*disttest.Apart) kernels.Backend
		direct bool
		why    string
	}{
		{"host memory", comm.NewLocal(2), GPUDirectOff,
			func(d *disttest.Apart) kernels.Backend { return d.Backend }, true, WhyHost},
		{"one rank", claim(1), GPUDirectOn, asIs, false, whyAlone},
		{"off", claim(2), GPUDirectOff, asIs, false, "as told"},
		{"on", claim(2), GPUDirectOn, asIs, true, "as told, untested"},
		{"on, in one process", comm.NewLocal(2), GPUDirectOn, asIs, false, "ranks of one process"},
		{"no claim", comm.NewLocal(2), GPUDirectAuto, asIs, false, "ranks of one process"},
		{"one rank's claim", half, GPUDirectAuto, asIs, false, "ranks of one process"},
		{"a claim that fails", claim(2), GPUDirectAuto, asIs, false, ": 8 bytes to rank 0"},
	} {
		if got := choose(t, c.comms, c.mode, c.open); got.Direct != c.direct || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestMPITransport(t *testing.T) { commtest.Passes(t, 2, "TestMPIRankTransport") }

// TestMPIRankTransport runs the test of a library that claims too much, and too little.
func TestMPIRankTransport(t *testing.T) {
	if commtest.World() == nil {
		t.Skip("what a rank does; TestMPI… starts it under mpirun")
	}
	for _, c := range []struct {
		name   string
		comm   comm.Comm
		open   func(*disttest.Apart) kernels.Backend
		direct bool
		why    string
	}{
		{"this library", commtest.World(), asIs, false, "does not claim"}, // Debian's; CI has no other
		{"a true claim", claiming{commtest.World(), commtest.World().(comm.DeviceMemory)}, asIs, true, "tested"},
		{"a false claim", claiming{commtest.World(), commtest.World().(comm.DeviceMemory)},
			func(d *disttest.Apart) kernels.Backend { return nowhere{d} }, false,
			": 8 bytes to rank 0, and from rank 0: segmentation fault in the MPI library"},
		{"a false claim on rank 1", claiming{commtest.World(), commtest.World().(comm.DeviceMemory)},
			func(d *disttest.Apart) kernels.Backend {
				if commtest.World().Rank() == 1 {
					return nowhere{d}
				}
				return d
			}, false, ": 8 bytes to rank 1, and from rank 1: segmentation fault in the MPI library"},
		{"bytes that do not arrive", claiming{commtest.World(), commtest.World().(comm.DeviceMemory)},
			func(d *disttest.Apart) kernels.Backend { return other{d} }, false, "byte 0 of 8 arrived wrong"},
	} {
		if got := choose(t, []comm.Comm{c.comm}, GPUDirectAuto, c.open); got.Direct != c.direct ||
			!strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
