package comm

import (
	"fmt"
	"sync"

	"jmpi/internal/parallel"
)

// worthPolling is the pace of a transfer, in bytes per second, that is worth a core's full attention.
// A slower network moves the bytes by itself, between its own buffers, while MPI's thread pauses.
const worthPolling = 500e6

// operation is a call of Comm on its way through MPI.
type operation struct {
	call    CommError // what to report if it fails
	request *Request
	bytes   int64 // length of a message
	// post starts n MPI requests under this id, on MPI's thread.
	post func(t *mpiThread, id int64) (n int, err error)

	left     int   // requests under way
	received int64 // bytes
}

func newOperation(call CommError) *operation { return &operation{call: call, request: NewRequest()} }

func (o *operation) finish(err error) {
	if err == nil {
		o.request.Finish(nil)
		return
	}
	failed := o.call
	failed.Err = err
	o.request.Finish(&failed)
}

// mpiQueue carries operations to MPI's thread.
type mpiQueue struct {
	mu         sync.Mutex
	operations []*operation
	closed     error // why operations fail, nil while they do not
}

// put appends an operation and wakes MPI's thread. After close the operation fails.
func (q *mpiQueue) put(o *operation) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		o.finish(q.closed)
		return
	}
	q.operations = append(q.operations, o)
	rawRing()
}

// take returns what has been put since the last take.
func (q *mpiQueue) take() []*operation {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.operations
	q.operations = nil
	return taken
}

// why tells why operations fail, nil while they do not.
func (q *mpiQueue) why() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// close fails what has been put too late.
func (q *mpiQueue) close(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = why
	for _, o := range q.operations {
		o.finish(why)
	}
}

// mpiThread is what the thread that calls MPI knows of the operations under way.
type mpiThread struct {
	running map[int64]*operation
	lastID  int64
	bytes   int64 // of the running messages
	spin    bool  // poll without pause
	stopped bool  // MPI has ended
}

// serve runs the queue's operations until one of them has stopped MPI. After a panic all operations fail.
func serve(q *mpiQueue) {
	t := &mpiThread{running: map[int64]*operation{}}
	parallel.Guard(func() { t.serve(q) }, func(err error) {
		q.close(err)
		for id := range t.running {
			t.end(id, err)
		}
	})
}

func (t *mpiThread) serve(q *mpiQueue) {
	for {
		for _, o := range q.take() {
			if t.stopped {
				o.finish(errClosed)
			} else {
				t.begin(o)
			}
		}
		if t.stopped {
			q.close(errClosed)
			return
		}
		completions, err := rawWait(int64(float64(t.bytes)/worthPolling*1e9), t.spin)
		for _, c := range completions {
			t.advance(c)
		}
		if err != nil {
			for id := range t.running {
				t.end(id, err)
			}
		}
	}
}

// begin posts an operation, to which a panic in its function belongs.
func (t *mpiThread) begin(o *operation) {
	t.lastID++
	var n int
	var err error
	parallel.Guard(func() { n, err = o.post(t, t.lastID) }, func(lost error) { err = lost })
	if err != nil || n == 0 {
		o.finish(err)
		return
	}
	o.left = n
	t.running[t.lastID] = o
	t.bytes += o.bytes
}

// advance takes note of a request that is done. Those of an operation that has failed are strangers.
func (t *mpiThread) advance(c rawCompletion) {
	o, ok := t.running[c.id]
	if !ok {
		return
	}
	o.left--
	o.received += c.bytes
	switch {
	case c.err != nil:
		t.end(c.id, c.err)
	case o.left > 0:
	case o.call.Op == opReceive && o.received != o.bytes:
		t.end(c.id, fmt.Errorf("%d bytes were sent, %d expected", o.received, o.bytes))
	default:
		t.end(c.id, nil)
	}
}

// end finishes a running operation.
func (t *mpiThread) end(id int64, err error) {
	o := t.running[id]
	delete(t.running, id)
	t.bytes -= o.bytes
	o.finish(err)
}
