package comm

import (
	"time"

	"jmpi/kernels"
)

// Comm is what the solver needs of a message passing library. There are two: ranks that are
// goroutines of one process (NewLocal) and MPI (StartMPI).
//
// Isend and Irecv may be called from any goroutine. Between two ranks messages of one tag arrive in the order
// in which they were sent; tags from 0 to 32767 suit every MPI. The collective calls (Allreduce…, Allgather,
// Bcast) must be made in the same order on every rank, one at a time. Errors are a *CommError; they are fatal
// for the communicator, except ErrTooLong.
type Comm interface {
	Rank() int
	Size() int

	// Isend starts to send bytes from a, which must stay unchanged until the request is done; 0 bytes are
	// allowed. The address is host memory outside the Go heap, or device memory where the library takes it.
	Isend(a kernels.Address, bytes int64, to, tag int) *Request
	// Irecv starts to receive exactly bytes into a.
	Irecv(a kernels.Address, bytes int64, from, tag int) *Request

	// AllreduceSum and AllreduceMax combine x of all ranks, element by element, into x of every rank.
	AllreduceSum(x []int64) error
	AllreduceMax(x []int64) error
	// Allgather returns the b of every rank, which may differ in length.
	Allgather(b []byte) ([][]byte, error)
	// Bcast returns the b of one rank, the root, to every rank. That of the others is not looked at.
	Bcast(b []byte, root int) ([]byte, error)

	// Node names the machine that this rank runs on.
	Node() string
	// Library names the library and its version, and what it says of GPUs.
	Library() string
	// Abort ends all ranks with this exit code; it does not return under MPI.
	Abort(code int)
	// Close ends the use of the library (MPI_Finalize). Collective.
	Close() error
}

// DeviceMemory is what a Comm may offer besides, if its library may take device memory in messages.
type DeviceMemory interface {
	// Do runs f on the thread that calls the library, and returns its error: for what belongs to a thread, as a
	// device's context does. f must not call the Comm.
	Do(f func() error) error
	// Spin lets the calls under way be watched without pause: the least delay, at the price of a core. Without
	// it the core is free most of the time; but device memory moves without a trace in the library's own time,
	// by which the pauses are chosen.
	Spin(on bool)
	// ClaimsDevices says whether the library was built, by its own account, to take device memory in messages.
	// It may be wrong both ways.
	ClaimsDevices() bool
	// Probe sends bytes at address send to rank to, receives as many from rank from at address receive, and
	// survives a library that cannot: a segmentation fault in it, or a message that does not come within
	// seconds, is an error. After one both memories may still be in use, but the communicator goes on. No other
	// message meets those of a probe.
	Probe(send kernels.Address, to int, receive kernels.Address, from int, bytes int64) error
}

// Request is a message under way.
type Request struct {
	done  chan error // receives once, buffered
	ended time.Time
}

// NewRequest returns a message under way, which Finish ends.
func NewRequest() *Request { return &Request{done: make(chan error, 1)} }

// Finish says, once, what has become of the message.
func (r *Request) Finish(err error) {
	r.ended = time.Now()
	r.done <- err
}

// Ended tells when the message was sent or received. It may be asked after Wait or Done.
func (r *Request) Ended() time.Time { return r.ended }

// Wait returns when the message has been sent or received. It, or Done, may be asked once.
func (r *Request) Wait() error { return <-r.done }

// Done tells what Wait would return.
func (r *Request) Done() <-chan error { return r.done }
