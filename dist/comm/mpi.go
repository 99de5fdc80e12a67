package comm

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	mpi "github.com/sbromberger/gompi"

	"jmpi/internal/parallel"
	"jmpi/internal/stall"
	"jmpi/kernels"
)

// pieceBytes is the length of the pieces into which a long message is cut: MPI counts in a C int.
var pieceBytes int64 = 1 << 30

// StartMPI starts MPI and returns the communicator of all its ranks. It works once in a process.
// gompi starts and ends MPI and tells rank and size; all other calls go through mpi_raw.go.
//
// MPI is called from one goroutine, locked to its thread (mpi_thread.go). While calls are under way it
// polls with growing pauses, which leave the core to the computation; between calls it sleeps.
// The collective calls too are non-blocking ones, polled in the same way.
//
// MPI tells the receiver of a wrong length only within a piece of 1 GiB. Where a message has failed its
// memory may still be written to; the way out is Abort. Close fails, without ending MPI, if messages
// are under way. An MPI that can not start ends the process itself, with a text of its own.
func StartMPI() (Comm, error) {
	if mpi.IsOn() {
		return nil, collectiveError(opStart, 0,
			errors.New("MPI runs already, or has ended; it starts once in a process"))
	}
	stall.Prevent() // MPI's thread waits in C
	c := &mpiComm{mpiDevices: mpiDevices{queue: &mpiQueue{}}, ended: make(chan struct{})}
	started := make(chan error)
	go parallel.Guard(func() { c.run(started) }, func(err error) { started <- err })
	if err := <-started; err != nil {
		return nil, collectiveError(opStart, c.rank, err)
	}
	return c, nil
}

// mpiComm is this process's rank.
type mpiComm struct {
	mpiDevices
	size          int
	node, library string
	watch         *mpiWatch     // nil without one
	ended         chan struct{} // closed after MPI_Finalize
}

// run is the goroutine that calls MPI. Its thread stays locked and ends with it.
func (c *mpiComm) run(started chan<- error) {
	runtime.LockOSThread()
	keepSignals(func() { mpi.Start(false) })
	c.rank, c.size = mpi.WorldRank(), mpi.WorldSize()
	err := rawStart()
	if err == nil {
		err = rawProbeStart()
	}
	c.node, c.library, c.claim = rawNode(), rawLibrary(), rawClaim()
	started <- err
	if err == nil {
		serve(c.queue)
		close(c.ended)
	}
}

func (c *mpiComm) Rank() int { return c.rank }

func (c *mpiComm) Size() int { return c.size }

func (c *mpiComm) Node() string { return c.node }

func (c *mpiComm) Library() string { return c.library }

// Watch is that of Watcher.
func (c *mpiComm) Watch(silence time.Duration, lost func(error)) error {
	if silence <= 0 || c.size == 1 {
		return nil
	}
	if c.watch != nil {
		return collectiveError(opWatch, c.rank, errors.New("the ranks watch each other already"))
	}
	hosts, err := c.Allgather([]byte(c.node))
	if err != nil {
		return err
	}
	c.watch, err = startWatch(c, hosts, silence, lost)
	return err
}

func (c *mpiComm) Isend(a kernels.Address, bytes int64, to, tag int) *Request {
	return c.message(opSend, bytes, to, tag, func(offset, length, id int64) error {
		return rawIsend(a+kernels.Address(offset), length, to, tag, id)
	})
}

func (c *mpiComm) Irecv(a kernels.Address, bytes int64, from, tag int) *Request {
	return c.message(opReceive, bytes, from, tag, func(offset, length, id int64) error {
		return rawIrecv(a+kernels.Address(offset), length, from, tag, id)
	})
}

// message queues a message that is posted piece by piece. MPI keeps the pieces in order, and both
// sides cut alike.
func (c *mpiComm) message(op string, bytes int64, peer, tag int,
	post func(offset, length, id int64) error) *Request {
	o := newOperation(CommError{Op: op, Rank: c.rank, Peer: peer, Tag: tag})
	if err := checkMessage(bytes, peer, tag, c.size); err != nil {
		o.finish(err)
		return o.request
	}
	piece := pieceBytes
	o.bytes = bytes
	o.post = func(t *mpiThread, id int64) (n int, err error) {
		for offset := int64(0); err == nil && (n == 0 || offset < bytes); offset += piece {
			if err = post(offset, min(piece, bytes-offset), id); err == nil {
				n++
			}
		}
		return n, err
	}
	c.queue.put(o)
	return o.request
}

// lastWords is how long MPICH's launcher is given to read what a rank has printed before it aborts. Otherwise
// it lost that in one of 20 runs on a busy machine. Open MPI's needs no time, in which other ranks go on.
const lastWords = 100 * time.Millisecond

// Abort ends all ranks with this exit code, whatever is under way. It returns only after Close.
func (c *mpiComm) Abort(code int) {
	if !strings.Contains(c.library, "Open MPI") {
		time.Sleep(lastWords)
	}
	o := newOperation(CommError{})
	o.post = func(*mpiThread, int64) (int, error) {
		rawAbort(code)
		return 0, nil
	}
	c.queue.put(o)
	<-c.ended
}

// lingers is how long a rank goes on polling MPI before it exits without MPI_Finalize.
const lingers = 500 * time.Millisecond

// Close waits for the other ranks' Close without keeping a core busy, and ends MPI.
func (c *mpiComm) Close() error {
	leave, err := c.leaves()
	if err != nil {
		return err
	}
	if err := c.collective(opClose, rawIbarrier); err != nil {
		return err
	}
	if c.watch != nil {
		c.watch.end() // not before: a rank that stands still must not keep the others in the barrier
	}
	o := newOperation(CommError{Op: opClose, Rank: c.rank, Peer: -1, Tag: -1})
	o.post = func(t *mpiThread, _ int64) (int, error) {
		if n := len(t.running); n > 0 {
			return 0, fmt.Errorf("%d messages of this rank are under way", n)
		}
		if c.watch != nil {
			if err := c.watch.rawStop(); err != nil {
				return 0, err
			}
		}
		if leave {
			t.stopped = true
			return 0, rawLinger(lingers)
		}
		if err := rawFinish(); err != nil {
			return 0, err
		}
		mpi.Stop()
		t.stopped = true
		return 0, nil
	}
	c.queue.put(o)
	return o.request.Wait()
}

// leaves tells whether the ranks exit without MPI_Finalize, which the launchers of MPICH allow. In MPICH 4.0
// over UCX 1.13 and TCP, on two hosts, it did not return in every second run, also of a program of ten lines.
func (c *mpiComm) leaves() (bool, error) {
	if !strings.Contains(c.library, "ch4:ucx") {
		return false, nil
	}
	hosts, err := c.Allgather([]byte(c.node))
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(hosts, func(host []byte) bool { return string(host) != c.node }), nil
}
