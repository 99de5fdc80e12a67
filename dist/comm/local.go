package comm

import (
	"fmt"
	"os"
	"sync"

	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// NewLocal returns n ≥ 1 ranks that are goroutines of this process, for tests and for runs without MPI.
// They are stricter than MPI: a send is done only when its receive has taken it (no hidden buffer lets
// a wrong order of calls pass), and a message whose length differs from its receive's is an error on
// both sides. The bytes are copied from the sender's memory to the receiver's when both are posted.
// Abort makes every pending and later call on all ranks return an error. Close does not wait for other ranks.
func NewLocal(n int) []Comm {
	w := &localWorld{size: n, unmatched: map[localKey][]*localMessage{}}
	comms := make([]Comm, n)
	for rank := range comms {
		comms[rank] = &localComm{world: w, rank: rank}
	}
	return comms
}

// localWorld is what the ranks share.
type localWorld struct {
	size int

	mu        sync.Mutex
	unmatched map[localKey][]*localMessage // in order of posting; of one key all sends, or all receives
	round     *localRound                  // the collective call under way, nil if there is none
	aborted   error                        // why all calls fail, nil if they do not
}

// localKey selects the messages that keep their order among themselves.
type localKey struct{ from, to, tag int }

// localMessage is one side of a message: a send or a receive.
type localMessage struct {
	CommError // Op, Rank, Peer and Tag; Err is set when it fails
	address   kernels.Address
	bytes     int64
	request   *Request
}

func (m *localMessage) fail(err error) {
	m.Err = err
	m.request.Finish(&m.CommError)
}

// localComm is one rank of a localWorld.
type localComm struct {
	world  *localWorld
	rank   int
	closed bool // guarded by world.mu
}

func (c *localComm) Rank() int { return c.rank }

func (c *localComm) Size() int { return c.world.size }

func (c *localComm) Library() string { return "ranks in one process, without MPI" }

// Node is the host's name, "localhost" if the system does not tell it.
func (c *localComm) Node() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

func (c *localComm) Isend(a kernels.Address, bytes int64, to, tag int) *Request {
	return c.post(opSend, to, tag, a, bytes, localKey{c.rank, to, tag})
}

func (c *localComm) Irecv(a kernels.Address, bytes int64, from, tag int) *Request {
	return c.post(opReceive, from, tag, a, bytes, localKey{from, c.rank, tag})
}

// post delivers a message if its other side waits already, else it begins to wait.
func (c *localComm) post(op string, peer, tag int, a kernels.Address, bytes int64, key localKey) *Request {
	w := c.world
	m := &localMessage{CommError{Op: op, Rank: c.rank, Peer: peer, Tag: tag}, a, bytes, NewRequest()}
	if err := checkMessage(bytes, peer, tag, w.size); err != nil {
		m.fail(err)
		return m.request
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.unusable(c); err != nil {
		m.fail(err)
		return m.request
	}
	queue := w.unmatched[key]
	if len(queue) == 0 || queue[0].Op == op {
		w.unmatched[key] = append(queue, m)
		return m.request
	}
	if len(queue) == 1 {
		delete(w.unmatched, key)
	} else {
		w.unmatched[key] = queue[1:]
	}
	send, receive := m, queue[0]
	if op != opSend {
		send, receive = receive, send
	}
	go parallel.Guard(func() { deliver(send, receive) }, func(err error) {
		send.fail(err)
		receive.fail(err)
	})
	return m.request
}

// deliver copies a message.
func deliver(send, receive *localMessage) {
	if send.bytes != receive.bytes {
		err := fmt.Errorf("%d bytes were sent, %d expected", send.bytes, receive.bytes)
		send.fail(err)
		receive.fail(err)
		return
	}
	copy(HostBytes(receive.address, receive.bytes), HostBytes(send.address, send.bytes))
	send.request.Finish(nil)
	receive.request.Finish(nil)
}

// unusable returns why c can not be used any more, nil if it can. w.mu is held.
func (w *localWorld) unusable(c *localComm) error {
	if c.closed {
		return errClosed
	}
	return w.aborted
}

func (c *localComm) Abort(code int) {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.aborted != nil {
		return
	}
	w.aborted = fmt.Errorf("rank %d aborted the run with exit code %d", c.rank, code)
	for _, queue := range w.unmatched {
		for _, m := range queue {
			m.fail(w.aborted)
		}
	}
	clear(w.unmatched)
	if w.round != nil {
		w.round.end(w.aborted)
		w.round = nil
	}
}

// Close fails if a message of this rank has not found its other side.
func (c *localComm) Close() error {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.unusable(c); err != nil {
		return collectiveError(opClose, c.rank, err)
	}
	c.closed = true
	for _, queue := range w.unmatched {
		for _, m := range queue {
			if m.Rank == c.rank {
				return collectiveError(opClose, c.rank,
					fmt.Errorf("the %s of %d bytes, rank %d, tag %d, has no other side", m.Op, m.bytes, m.Peer, m.Tag))
			}
		}
	}
	return nil
}
