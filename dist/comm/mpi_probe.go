package comm

// #include <stdlib.h>
// #include "mpi_probe.h"
import "C"

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"jmpi/kernels"
)

// probeLimit is how long the messages of one Probe may take.
var probeLimit = 10 * time.Second

// spinCores are the cores that a rank must have before one of them only waits.
var spinCores int64 = 4

var errFault = errors.New("segmentation fault in the MPI library")

func rawProbeStart() error { return rawError(C.probe_start()) }

// rawFlag returns whether a control variable of the library is true, -1 if there is none of this name.
func rawFlag(name string) int {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return int(C.probe_flag(text))
}

// rawClaim is what the library tells of its build. Only Open MPI has such variables, the first one
// since version 4.
func rawClaim() bool {
	return rawFlag("opal_built_with_cuda_support") == 1 || rawFlag("mpi_built_with_cuda_support") == 1
}

func rawProbe(send kernels.Address, to int, receive kernels.Address, from int, bytes int64) error {
	code := C.probe_exchange(C.uintptr_t(send), C.int(to), C.uintptr_t(receive), C.int(from), C.int(bytes),
		C.int64_t(probeLimit))
	switch code {
	case C.PROBE_FAULT:
		return errFault
	case C.PROBE_LATE:
		return fmt.Errorf("no message within %v", probeLimit)
	}
	return rawError(code)
}

// mpiDevices is what MPI says of device memory, and what that needs.
type mpiDevices struct {
	rank  int
	claim bool // of the library, that it takes device memory
	queue *mpiQueue
}

func (c *mpiDevices) ClaimsDevices() bool { return c.claim }

func (c *mpiDevices) Probe(send kernels.Address, to int, receive kernels.Address, from int,
	bytes int64) error {
	return c.Do(func() error { return rawProbe(send, to, receive, from, bytes) })
}

// Spin needs other cores than the one that it takes; it is ignored where there are less than spinCores.
func (c *mpiDevices) Spin(on bool) {
	var cores unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cores); err != nil || int64(cores.Count()) < spinCores {
		return
	}
	o := newOperation(CommError{})
	o.post = func(t *mpiThread, _ int64) (int, error) {
		t.spin = on
		return 0, nil
	}
	c.queue.put(o)
}

// Do runs f between two calls of MPI; what is under way does not move meanwhile.
func (c *mpiDevices) Do(f func() error) error {
	var failed error
	o := newOperation(CommError{Op: opDo, Rank: c.rank, Peer: -1, Tag: -1})
	o.post = func(*mpiThread, int64) (int, error) {
		failed = f()
		return 0, nil
	}
	c.queue.put(o)
	if err := o.request.Wait(); err != nil {
		return err
	}
	return failed
}
