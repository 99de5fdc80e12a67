package devices

import (
	"errors"
	"fmt"

	"jmpi/dist/comm"
	"jmpi/internal/enum"
	"jmpi/internal/nvidia"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
	"jmpi/kernels/cuda"
)

// Backend says on what kind of devices to compute.
type Backend int

// The kinds of devices.
const (
	Auto Backend = iota // GPUs if every rank has one, else CPUs
	CPU
	CUDA // GPUs; it is an error if a rank has none
)

var backends = enum.Names{Auto: "auto", CPU: "cpu", CUDA: "cuda"}

func (b Backend) String() string { return backends.Of(int(b)) }

// Set is the inverse of String.
func (b *Backend) Set(text string) error { return enum.Set(b, text, backends) }

// Type lists the values, for a help text.
func (b Backend) Type() string { return backends.Type() }

// Choices lists the values.
func (b Backend) Choices() []string { return backends }

// Opener opens devices.
type Opener struct {
	// the UUIDs of the GPUs that the driver shows; an error says why there are none
	See func() ([]string, error)
	GPU func(index int) (kernels.Backend, error)   // opens one of them
	CPU func(threads int) (kernels.Backend, error) // opens a CPU device
}

// Opened are the devices of a rank.
type Opened struct {
	Devices  []kernels.Backend
	GPUs     []int    // their numbers among the GPUs that the driver shows; nil for CPU devices
	FellBack error    // why Auto took CPUs; nil if it did not, or had no choice
	NoGPU    bool     // with FellBack: no rank sees any GPU
	Shared   []string // GPUs of several ranks, each as "GPU-… by ranks 0, 1"
}

// Here opens the devices of this machine.
func Here() Opener { return Opener{See: visible, GPU: cuda.Open, CPU: cpu.Open} }

// visible returns the UUIDs of the GPUs that the driver shows; the error says why there are none.
func visible() ([]string, error) {
	seen, err := nvidia.Look()
	if err != nil {
		return nil, err
	}
	var uuids []string
	for _, g := range seen.GPUs {
		uuids = append(uuids, g.UUID)
	}
	return uuids, nil
}

// Prepare begins to open NVIDIA's libraries, where they are there, unless they are not wanted. It returns at
// once. MPI must have started: that changes the environment, which these libraries read in another thread.
func Prepare(wanted Backend) {
	if wanted != CPU {
		cuda.Prepare()
	}
}

// Open opens this rank's devices: perRank of them, 0 for its share of the node's GPUs, or one CPU device. CPU
// devices share so many threads. Auto takes GPUs if every rank can open its own, else CPU devices on all
// ranks. It is collective; an error is a *comm.Failure known to all ranks, or one of communication.
func (o Opener) Open(world comm.Comm, backend Backend, perRank, threads int) (Opened, error) {
	var d Opened
	if backend != CPU {
		err := o.openGPUs(world, perRank, &d)
		var failure *comm.Failure
		if err == nil || backend == CUDA || !errors.As(err, &failure) {
			return d, err
		}
		d = Opened{FellBack: err, NoGPU: d.NoGPU}
	}
	err := o.openCPUs(max(perRank, 1), threads, &d)
	return d, comm.Agree(world, comm.BadResource, err)
}

// openGPUs opens the GPUs that are this rank's; what it opened is closed again if any rank fails.
func (o Opener) openGPUs(world comm.Comm, perRank int, d *Opened) error {
	mine := sight{Node: world.Node()}
	var err error
	if mine.GPUs, err = o.See(); err != nil {
		mine.Why = err.Error()
	}
	all, err := comm.AllOf(world, mine)
	if err != nil {
		return err
	}
	d.NoGPU = true
	for _, s := range all {
		d.NoGPU = d.NoGPU && len(s.GPUs) == 0
	}
	assigned, err := assign(all, perRank)
	if err != nil {
		return err
	}
	d.GPUs, d.Shared = assigned[world.Rank()], shared(all, assigned)
	var failed error
	for _, index := range d.GPUs {
		be, err := o.GPU(index)
		if err != nil {
			failed = fmt.Errorf("GPU %d: %w", index, err)
			break
		}
		d.Devices = append(d.Devices, be)
	}
	if err := comm.Agree(world, comm.BadResource, failed); err != nil {
		for _, be := range d.Devices {
			_ = be.Close() // the failure counts, not what closing says after it
		}
		d.Devices = nil
		return err
	}
	return nil
}

// openCPUs opens CPU devices, which share the rank's threads.
func (o Opener) openCPUs(count, threads int, d *Opened) error {
	for i := range count {
		be, err := o.CPU(max(1, (i+1)*threads/count-i*threads/count))
		if err != nil {
			return err
		}
		d.Devices = append(d.Devices, be)
	}
	return nil
}
