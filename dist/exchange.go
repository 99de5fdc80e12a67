package dist

import (
	"context"
	"fmt"
	"sync"

	"jmpi/kernels"
)

// exchange carries block-columns between devices: by the communicator between ranks, by copies inside a rank.
type exchange struct {
	comm  Comm
	rank  []int // of each device
	mu    sync.Mutex
	boxes map[address]chan parcel
}

// address is where a message inside a rank waits for its receiver.
type address struct{ from, to, tag int }

// parcel is memory on offer until done is told.
type parcel struct {
	from kernels.Panel
	done chan error
}

// mailCapacity bounds the messages of one address under way: one an exchange, and a device is
// never more than one exchange ahead of the one that it sends to.
const mailCapacity = 4

func newExchange(c Comm, rank []int) *exchange {
	return &exchange{comm: c, rank: rank, boxes: map[address]chan parcel{}}
}

func (x *exchange) box(a address) chan parcel {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.boxes[a]
	if b == nil {
		b = make(chan parcel, mailCapacity)
		x.boxes[a] = b
	}
	return b
}

// send starts to send the contiguous panel p from one device to another. p must stay unchanged until the request is done.
func (x *exchange) send(from, to, tag int, p kernels.Panel) *Request {
	if x.rank[to] != x.rank[from] {
		return x.comm.Isend(p.Data, p.Bytes(), x.rank[to], tag)
	}
	done := make(chan error, 1)
	x.box(address{from, to, tag}) <- parcel{p, done}
	return &Request{done: done}
}

// receive starts to receive into the contiguous panel p, in the memory of back end be.
func (x *exchange) receive(ctx context.Context, be kernels.Backend, from, to, tag int, p kernels.Panel) *Request {
	if x.rank[to] != x.rank[from] {
		return x.comm.Irecv(p.Data, p.Bytes(), x.rank[from], tag)
	}
	done := make(chan error, 1)
	go func() {
		select {
		case offer := <-x.box(address{from, to, tag}):
			err := be.Copy(p, offer.from)
			offer.done <- err
			done <- err
		case <-ctx.Done():
			done <- context.Cause(ctx)
		}
	}()
	return &Request{done: done}
}

// wait waits for requests, or for the end of the run.
func wait(ctx context.Context, what string, requests []*Request) error {
	for _, r := range requests {
		select {
		case err := <-r.done:
			if err != nil {
				return fmt.Errorf("dist: %s: %w", what, err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
