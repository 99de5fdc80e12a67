package exchange

import (
	"context"
	"fmt"
	"sync"

	"jmpi/dist/comm"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// StageBytes is the usual length of the chunks in which messages pass through pinned host memory.
const StageBytes = 4 << 20

// stageBuffers is the number of pinned buffers of a device in one direction: one is copied, others travel.
const stageBuffers = 4

// lane carries the messages of one device in one direction between ranks through pinned host memory, in the
// order in which they are put: the first chunks of a message enter while the last ones of the message before
// are under way. Outward, chunk i+1 is fetched from the device while chunk i travels; inward, chunk i is
// stored while i+1 arrives.
type lane struct {
	run    context.Context
	fail   context.CancelCauseFunc // ends the run
	comm   comm.Comm
	be     kernels.Memory
	inward bool

	memory kernels.Address // stageBuffers chunks
	chunk  int64
	free   chan kernels.Address
	queue  chan *message
	flying chan flight
	ends   sync.WaitGroup
}

// message is contiguous device memory on its way to or from a device of another rank.
type message struct {
	device    kernels.Address
	bytes     int64
	peer, tag int
	request   *comm.Request
}

// flight is a chunk of a message under way, in a buffer.
type flight struct {
	*message
	buffer        kernels.Address
	offset, bytes int64
	chunk         *comm.Request
}

// newLane allocates the buffers, for messages of at most longest bytes.
func newLane(x *Exchange, be kernels.Memory, inward bool, longest int64) (*lane, error) {
	chunk := x.chunk
	if chunk == 0 {
		chunk = StageBytes
	}
	l := &lane{
		run: x.run, fail: x.fail, comm: x.comm, be: be, inward: inward,
		chunk: max(kernels.WordBytes, min(chunk, longest)),
		free:  make(chan kernels.Address, stageBuffers), flying: make(chan flight, stageBuffers),
		queue: make(chan *message, 2*Kinds*Pieces), // of two exchanges
	}
	var err error
	if l.memory, err = be.AllocHost(stageBuffers * l.chunk); err != nil {
		return nil, fmt.Errorf("exchange: host memory for messages: %w", err)
	}
	for i := range stageBuffers {
		l.free <- l.memory + kernels.Address(int64(i)*l.chunk)
	}
	l.ends.Go(func() {
		defer close(l.flying)
		parallel.Guard(l.depart, l.fail)
	})
	l.ends.Go(func() { parallel.Guard(l.arrive, l.fail) })
	return l, nil
}

// put starts to carry a message.
func (l *lane) put(device kernels.Address, bytes int64, peer, tag int) *comm.Request {
	m := &message{device, bytes, peer, tag, comm.NewRequest()}
	select {
	case l.queue <- m:
	case <-l.run.Done():
		m.request.Finish(context.Cause(l.run))
	}
	return m.request
}

// close ends the lane when it has carried all messages, or the run has ended. Where the run has ended the
// library may still use the buffers, and they are left to Close of the back end.
func (l *lane) close() error {
	close(l.queue)
	l.ends.Wait()
	if l.run.Err() != nil {
		return nil
	}
	return l.be.FreeHost(l.memory)
}

// depart starts the chunks of all messages.
func (l *lane) depart() {
	for m := range l.queue {
		for offset := int64(0); offset < m.bytes; offset += l.chunk {
			f := flight{message: m, offset: offset, bytes: min(l.chunk, m.bytes-offset)}
			select {
			case f.buffer = <-l.free:
			case <-l.run.Done():
				return
			}
			if l.inward {
				f.chunk = l.comm.Irecv(f.buffer, f.bytes, m.peer, m.tag)
			} else if err := l.be.Fetch(f.buffer, m.device+kernels.Address(offset), f.bytes); err != nil {
				l.fail(fmt.Errorf("exchange: staging: %w", err))
				return
			} else {
				f.chunk = l.comm.Isend(f.buffer, f.bytes, m.peer, m.tag)
			}
			l.flying <- f // has room for all buffers
		}
	}
}

// arrive ends the chunks in their order, and with the last one the message.
func (l *lane) arrive() {
	for f := range l.flying {
		var err error
		select {
		case err = <-f.chunk.Done():
		case <-l.run.Done():
			return
		}
		if err == nil && l.inward {
			err = l.be.Store(f.device+kernels.Address(f.offset), f.buffer, f.bytes)
		}
		if err != nil {
			l.fail(fmt.Errorf("exchange: staging: %w", err))
			return
		}
		l.free <- f.buffer
		if f.offset+f.bytes == f.message.bytes {
			f.request.Finish(nil)
		}
	}
}
