package dist

import (
	"context"
	"fmt"
	"sync"

	"jmpi/kernels"
)

// exchange carries block-columns between devices: by the communicator between ranks, by copies inside a rank.
type exchange struct {
	ctx   context.Context // of the run
	comm  Comm
	rank  []int // of each device
	local []int // number of each device within its rank
	most  int   // devices of a rank, at most
	mu    sync.Mutex
	boxes map[address]chan parcel
}

// part says which part of a macro block-column a message carries.
type part struct {
	column int // macro block-column
	piece  int // of it, < pieces
	kind   int // 0: of G, 1: of V
}

// address is where a message inside a rank waits for its receiver.
type address struct {
	from, to int
	part
}

// parcel is memory on offer until done is told.
type parcel struct {
	from kernels.Panel
	done chan error
}

// mailCapacity bounds the messages of one address under way: one an exchange, and a device is
// never more than one exchange ahead of the one that it sends to.
const mailCapacity = 4

func newExchange(ctx context.Context, c Comm, rank []int) *exchange {
	x := &exchange{ctx: ctx, comm: c, rank: rank, boxes: map[address]chan parcel{}}
	count := map[int]int{}
	for _, r := range rank {
		x.local = append(x.local, count[r])
		count[r]++
		x.most = max(x.most, count[r])
	}
	return x
}

// tag keeps apart the messages of different pairs of devices, which are not ordered among each other. Those of one pair
// are sent and received in the order of the macro steps, so the block-column need not be told.
func (x *exchange) tag(from, to int, p part) int {
	return ((x.local[from]*x.most+x.local[to])*pieces+p.piece)*2 + p.kind
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
func (x *exchange) send(from, to int, what part, p kernels.Panel) *Request {
	if x.rank[to] != x.rank[from] {
		return x.comm.Isend(p.Data, p.Bytes(), x.rank[to], x.tag(from, to, what))
	}
	done := make(chan error, 1)
	x.box(address{from, to, what}) <- parcel{p, done}
	return &Request{done: done}
}

// receive starts to receive into the contiguous panel p, in the memory of back end be.
func (x *exchange) receive(be kernels.Backend, from, to int, what part, p kernels.Panel) *Request {
	if x.rank[to] != x.rank[from] {
		return x.comm.Irecv(p.Data, p.Bytes(), x.rank[from], x.tag(from, to, what))
	}
	done := make(chan error, 1)
	go func() {
		select {
		case offer := <-x.box(address{from, to, what}):
			err := be.Copy(p, offer.from)
			offer.done <- err
			done <- err
		case <-x.ctx.Done():
			done <- context.Cause(x.ctx)
		}
	}()
	return &Request{done: done}
}

// wait waits for requests, or for the end of the run.
func (x *exchange) wait(what string, requests []*Request) error {
	for _, r := range requests {
		select {
		case err := <-r.done:
			if err != nil {
				return fmt.Errorf("dist: %s: %w", what, err)
			}
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
	}
	return nil
}
