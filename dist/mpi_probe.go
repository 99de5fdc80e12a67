package dist

// #include "mpi_probe.h"
import "C"

import (
	"errors"
	"fmt"
	"time"

	"jmpi/kernels"
)

// probeLimit is how long the messages of one Probe may take.
var probeLimit = 10 * time.Second

var errFault = errors.New("segmentation fault in the MPI library")

func rawProbeStart() error { return rawError(C.probe_start()) }

func rawClaim() bool { return C.probe_claim() == 1 }

func rawProbe(send kernels.Address, to int, receive kernels.Address, from int, bytes int64) error {
	code := C.probe_exchange(C.uintptr_t(send), C.int(to), C.uintptr_t(receive), C.int(from), C.int(bytes), C.int64_t(probeLimit))
	switch code {
	case C.PROBE_FAULT:
		return errFault
	case C.PROBE_LATE:
		return fmt.Errorf("no message within %v", probeLimit)
	}
	return rawError(code)
}

func (c *mpiComm) ClaimsDevices() bool { return c.claim }

func (c *mpiComm) Probe(send kernels.Address, to int, receive kernels.Address, from int, bytes int64) error {
	return c.Do(func() error { return rawProbe(send, to, receive, from, bytes) })
}

// Do runs f between two calls of MPI; what is under way does not move meanwhile.
func (c *mpiComm) Do(f func() error) error {
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
