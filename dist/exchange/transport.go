package exchange

import (
	"errors"
	"fmt"

	"jmpi/dist/comm"
	"jmpi/internal/enum"
	"jmpi/kernels"
)

// GPUDirect says whether messages between ranks may lie in device memory.
type GPUDirect int

const (
	GPUDirectAuto GPUDirect = iota // if the library claims to take it and a test at the start proves it
	GPUDirectOn                    // yes, untested
	GPUDirectOff                   // no: through pinned host memory
)

var gpuDirects = enum.Names{GPUDirectAuto: "auto", GPUDirectOn: "on", GPUDirectOff: "off"}

func (g GPUDirect) String() string { return gpuDirects.Of(int(g)) }

// Set is the inverse of String.
func (g *GPUDirect) Set(text string) error { return enum.Set(g, text, gpuDirects) }

// Type lists the values, for a help text.
func (g GPUDirect) Type() string { return gpuDirects.Type() }

// Choices lists the values.
func (g GPUDirect) Choices() []string { return gpuDirects }

// Transport says how messages between ranks travel, and why so. It is the same on every rank.
type Transport struct {
	// the library reads and writes the devices' memory; otherwise staged through pinned host memory
	Direct bool   `json:"direct"`
	Why    string `json:"why"`
}

func (t Transport) String() string {
	if t.Direct {
		return "direct: " + t.Why
	}
	return "staged through pinned host memory: " + t.Why
}

// Why the choice was none.
const (
	WhyHost  = "the devices' memory is host memory"
	whyAlone = "one rank sends no messages"
)

// Trivial says whether there was no choice.
func (t Transport) Trivial() bool { return t.Why == WhyHost || t.Why == whyAlone }

// ChooseTransport decides how messages between the ranks travel. devices are this rank's, all of one kind on
// all ranks. It is collective, and survives an MPI library that crashes on device memory, except with
// GPUDirectOn, which does not try.
func ChooseTransport(c comm.Comm, devices []kernels.Backend, mode GPUDirect) (Transport, error) {
	// Each is 1 where some rank says so: device memory is not host memory; the library claims nothing; it
	// carries host memory alone.
	x := []int64{0, 0, 0}
	for _, be := range devices {
		if !be.Limits().HostMemory {
			x[0] = 1
		}
	}
	library, ok := c.(comm.DeviceMemory)
	if !ok {
		x[2] = 1
	} else if !library.ClaimsDevices() {
		x[1] = 1
	}
	if err := c.AllreduceMax(x); err != nil {
		return Transport{}, fmt.Errorf("exchange: transport: %w", err)
	}
	switch {
	case x[0] == 0:
		return Transport{true, WhyHost}, nil
	case c.Size() == 1:
		return Transport{false, whyAlone}, nil
	case mode == GPUDirectOff:
		return Transport{false, "as told"}, nil
	case x[2] != 0:
		return Transport{false, "ranks of one process exchange host memory"}, nil
	case mode == GPUDirectAuto && x[1] != 0:
		return Transport{false, "the MPI library does not claim to be built for device memory"}, nil
	}
	// The library finds its way to the memory of all devices of a rank from the context of one.
	err := comm.Agree(c, comm.BadResource, library.Do(devices[0].Attach))
	library.Spin(true)
	if mode == GPUDirectOn {
		return Transport{true, "as told, untested"}, err
	}
	if err == nil {
		err = prove(c, library, devices[0])
	}
	var known *comm.Failure
	if errors.As(err, &known) {
		library.Spin(false)
		return Transport{false, "the MPI library claims to be built for device memory, but in the test " +
			known.Error()}, nil
	}
	return Transport{true, "tested"}, err
}

// probeBytes are the lengths of the test messages: MPI carries short and long ones by different protocols.
var probeBytes = []int64{8, 1 << 20}

// prove sends device memory from every rank to itself, then around the ring of all ranks, the short messages
// first: what is more likely to fail leaves no rank waiting. The error is a *Failure known to all ranks.
func prove(c comm.Comm, library comm.DeviceMemory, be kernels.Memory) error {
	most := probeBytes[len(probeBytes)-1]
	memory, err := be.Alloc(2 * most)
	if err == nil {
		err = be.Sync() // it is zero
	}
	if err := comm.Agree(c, comm.BadResource, err); err != nil {
		return err
	}
	p, err := newPattern(be, most)
	if err := comm.Agree(c, comm.BadResource, err); err != nil {
		return err
	}
	rank, size := c.Rank(), c.Size()
	for _, bytes := range probeBytes {
		for _, shift := range []int{0, 1} {
			to, from := (rank+shift)%size, (rank-shift+size)%size
			receive := memory + kernels.Address(most)
			if err := comm.Agree(c, comm.BadResource, p.ready(memory, receive, bytes, int64(rank))); err != nil {
				return errors.Join(err, p.free()) // nobody has sent anything yet
			}
			err := p.probe(library, memory, to, receive, from, bytes)
			if err := comm.Agree(c, comm.BadResource, err); err != nil {
				return errors.Join(err, p.free()) // the library may still use the memory on the device
			}
		}
	}
	return comm.Agree(c, comm.BadResource, errors.Join(p.free(), be.Free(memory)))
}

// ready writes the pattern of this rank where it is sent from, and zeros where that of another arrives.
func (p *pattern) ready(send, receive kernels.Address, bytes, rank int64) error {
	if err := p.write(send, bytes, rank); err != nil {
		return err
	}
	return p.clear(receive, bytes)
}

// probe sends the pattern of this rank and checks that of another.
func (p *pattern) probe(library comm.DeviceMemory, send kernels.Address, to int, receive kernels.Address,
	from int, bytes int64) error {
	if err := library.Probe(send, to, receive, from, bytes); err != nil {
		return fmt.Errorf("%d bytes to rank %d, and from rank %d: %w", bytes, to, from, err)
	}
	return p.check(receive, bytes, int64(from))
}
