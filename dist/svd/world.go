package svd

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"jmpi/dist/comm"
	"jmpi/dist/devices"
	"jmpi/internal/cores"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// Backend says on what kind of devices to compute.
type Backend = devices.Backend

// The kinds of devices.
const (
	Auto = devices.Auto // GPUs if every rank can have one, else CPUs on all ranks
	CPU  = devices.CPU
	CUDA = devices.CUDA // NVIDIA GPUs; it is an error if a rank has none
)

// Options say where a program computes. The zero value is what the command jmpi does without flags. All but
// Comm and Threads must be the same on every rank.
type Options struct {
	Backend        Backend
	DevicesPerRank int // 0: the rank's share of the GPUs of its node, or one CPU device
	Threads        int // of this rank's CPU devices together; 0: its share of the cores of its node
	// Comm is nil for the ranks that the launcher has started. A program that has ranks of its own gives them
	// here, for example goroutines (comm.NewLocal). Close leaves it open.
	Comm comm.Comm
}

// World is the ranks of a job, as one of them sees them, and the devices of this rank.
type World struct {
	// Comm has messages and collective calls, for the program's own use between the calls of this package.
	Comm comm.Comm
	// Devices are those of this rank, in the order in which dist.Decompose takes them.
	Devices []kernels.Backend
	// FellBack says why Auto took CPUs, though there may be GPUs; nil if it has taken GPUs, or had no choice.
	FellBack error

	threads int
	ours    bool // Comm was started here
	broken  bool // after an error that the other ranks do not know
}

// Start finds the cores of this rank, starts MPI and opens the devices. Where no launcher has started this
// process it is the only rank, and MPI is not started. Start works once in a process, unless Comm is given.
// It is collective.
//
// As the command does, it lets the process run on all cores of its share where Open MPI has bound it to one
// without being asked, and raises GOMAXPROCS by one for the thread that calls MPI.
//
// An error may be of this rank alone before MPI has started: a launcher of another MPI library, more threads
// than the limits allow, MPI that runs already. Devices that cannot be opened are a *comm.Failure, the same
// on every rank. No MPI and no device is open after an error.
func Start(o Options) (w *World, err error) {
	err = guarded(func() error {
		w, err = start(o)
		return err
	})
	return w, err
}

func start(o Options) (*World, error) {
	if o.Backend < Auto || o.Backend > CUDA || o.DevicesPerRank < 0 || o.Threads < 0 {
		return nil, fmt.Errorf("svd: Backend %d, DevicesPerRank %d, Threads %d: a Backend is Auto, CPU or CUDA, "+
			"the others are at least 1, or 0 for this rank's share", o.Backend, o.DevicesPerRank, o.Threads)
	}
	choice, err := cores.Plan(cores.Available(), o.Threads)
	if err != nil {
		return nil, err
	}
	w := &World{Comm: o.Comm, threads: choice.Threads}
	if o.Comm == nil {
		if err := w.begin(choice); err != nil {
			return nil, err
		}
	}
	devices.Prepare(o.Backend)
	opened, err := devices.Here().Open(w.Comm, o.Backend, o.DevicesPerRank, w.threads)
	if err != nil {
		_ = w.Close() // the failure counts
		return nil, err
	}
	w.Devices, w.FellBack = opened.Devices, opened.FellBack
	return w, nil
}

// begin starts the ranks of the launcher.
func (w *World) begin(choice cores.Choice) (err error) {
	if err := cores.CheckStart(os.Getenv); err != nil {
		return err
	}
	if err := choice.Apply(); err != nil {
		return err
	}
	if cores.Alone(os.Getenv) {
		w.Comm = comm.NewLocal(1)[0]
		return nil
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), choice.Threads+1))
	}
	if w.Comm, err = comm.StartMPI(); err != nil {
		return err
	}
	w.ours = true
	if err := cores.CheckWorld(w.Comm.Size(), os.Getenv); err != nil {
		_ = w.Close() // the failure counts
		return err
	}
	return nil
}

// Rank is the number of this rank, from 0 on.
func (w *World) Rank() int { return w.Comm.Rank() }

// Size is the number of ranks.
func (w *World) Size() int { return w.Comm.Size() }

// Close ends MPI and closes the devices. Results must have been freed before, or are not used any more. It is
// collective. After an error that is not a *comm.Failure it does nothing, since the other ranks do not come
// here, and work may be under way: the program must end.
func (w *World) Close() error {
	if w.broken {
		return nil
	}
	return guarded(func() (err error) {
		if w.ours {
			err = w.Comm.Close() // first: an MPI library may have opened memory of the devices
		}
		for _, d := range w.Devices {
			if e := d.Close(); err == nil {
				err = e
			}
		}
		w.Devices = nil
		return err
	})
}

// collective calls f, and notes an error of this rank alone.
func (w *World) collective(f func() error) error {
	err := guarded(f)
	if known := (*comm.Failure)(nil); err != nil && !errors.As(err, &known) {
		w.broken = true
	}
	return err
}

// guarded calls f. A panic, also of a goroutine in it, becomes an error.
func guarded(f func() error) (err error) {
	parallel.Guard(func() { err = f() }, func(lost error) { err = lost })
	return err
}
