package exchange

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"jmpi/dist/comm"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// Exchange carries block-columns between devices: by the communicator between ranks, from memory to memory or
// along lanes; by copies beside what is queued inside a rank.
type Exchange struct {
	run   context.Context
	fail  context.CancelCauseFunc // ends the run
	comm  comm.Comm
	rank  []int            // of each device
	local []int            // number of each device within its rank
	most  int              // devices of a rank, at most
	chunk int64            // bytes of a chunk of staged messages, a multiple of 8, the same on all ranks
	lanes map[int][2]*lane // of this rank's devices, outward and inward; empty if messages are direct
	mu    sync.Mutex
	boxes map[address]chan parcel
}

// Label says what a message carries: a piece of a macro block-column.
type Label struct {
	Column int // macro block-column
	Piece  int // of it, < Pieces
	Kind   int // 0: of G, 1: of V, 2: of the norms of G's columns, 3: of Gram matrices; < Kinds
	Parity int // of the exchange: 0, 1, 0, 1, …
}

// address is where a message inside a rank waits for its receiver.
type address struct {
	from, to int
	Label
}

// Message is a panel on its way. In a rank it is done when the copy is queued on the device that receives it.
type Message struct {
	*comm.Request
	copied kernels.Mark // of the copy; 0 where the message has come when it is done
}

// finish says what has become of a message in a rank.
func (m *Message) finish(copied kernels.Mark, err error) {
	m.copied = copied
	m.Finish(err)
}

// parcel is a panel on offer, which is there when a mark is done.
type parcel struct {
	from    kernels.Panel
	ready   kernels.Mark
	message *Message
}

// mailCapacity bounds the messages of one address under way: one an exchange, and a device is
// never more than one exchange ahead of the one that it sends to.
const mailCapacity = 4

// New makes the exchange of a run, which ends with the context, and which fail ends.
// Staged messages travel in chunks of so many bytes, 0: the usual length.
func New(run context.Context, fail context.CancelCauseFunc, c comm.Comm, rank []int, chunk int64) *Exchange {
	x := &Exchange{run: run, fail: fail, comm: c, rank: rank, chunk: chunk, lanes: map[int][2]*lane{},
		boxes: map[address]chan parcel{}}
	count := map[int]int{}
	for _, r := range rank {
		x.local = append(x.local, count[r])
		count[r]++
		x.most = max(x.most, count[r])
	}
	return x
}

// Stage opens the lanes of one of this rank's devices, for messages of at most longest bytes. It belongs
// before the first message, and on all ranks or none.
func (x *Exchange) Stage(device int, be kernels.Memory, longest int64) error {
	outward, err := newLane(x, be, false, longest)
	if err != nil {
		return err
	}
	inward, err := newLane(x, be, true, longest)
	if err != nil {
		return errors.Join(err, outward.close())
	}
	x.lanes[device] = [2]*lane{outward, inward}
	return nil
}

// Close ends the lanes when all messages are through, or the run has ended.
func (x *Exchange) Close() (err error) {
	for device, l := range x.lanes {
		err = errors.Join(err, l[0].close(), l[1].close())
		delete(x.lanes, device)
	}
	return err
}

// tag keeps apart all messages that may be under way between two ranks at once: a device sends only when its
// messages of the exchange before are through, and receives into one landing slot while the other may still
// be filled, so a parity does.
func (x *Exchange) tag(from, to int, p Label) int {
	return (((x.local[from]*x.most+x.local[to])*Pieces+p.Piece)*Kinds+p.Kind)*2 + p.Parity
}

func (x *Exchange) box(a address) chan parcel {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.boxes[a]
	if b == nil {
		b = make(chan parcel, mailCapacity)
		x.boxes[a] = b
	}
	return b
}

// Send starts to send the contiguous panel p from one device, whose back end is be, to another. The panel is
// there when ready is done, and must stay unchanged until the message is.
func (x *Exchange) Send(be kernels.Memory, from, to int, what Label, p kernels.Panel,
	ready kernels.Mark) *Message {
	if x.rank[to] == x.rank[from] {
		m := &Message{Request: comm.NewRequest()}
		x.box(address{from, to, what}) <- parcel{p, ready, m}
		return m
	}
	if err := be.Await(ready); err != nil {
		return failed(err)
	}
	if l, staged := x.lanes[from]; staged {
		return &Message{Request: l[0].put(p.Data, p.Bytes(), x.rank[to], x.tag(from, to, what))}
	}
	return &Message{Request: x.comm.Isend(p.Data, p.Bytes(), x.rank[to], x.tag(from, to, what))}
}

// Receive starts to receive into the contiguous panel p, in the memory of back end be. The panel may be
// written when the marks are done.
func (x *Exchange) Receive(be kernels.Memory, from, to int, what Label, p kernels.Panel,
	free []kernels.Mark) *Message {
	if x.rank[to] == x.rank[from] {
		m := &Message{Request: comm.NewRequest()}
		go parallel.Guard(func() {
			select {
			case offer := <-x.box(address{from, to, what}):
				copied, err := be.Bring([]kernels.Panel{p}, []kernels.Panel{offer.from},
					append([]kernels.Mark{offer.ready}, free...)...)
				offer.message.finish(copied, err)
				m.finish(copied, err)
			case <-x.run.Done():
				m.Finish(context.Cause(x.run))
			}
		}, x.fail)
		return m
	}
	if err := be.Await(free...); err != nil {
		return failed(err)
	}
	if l, staged := x.lanes[to]; staged {
		return &Message{Request: l[1].put(p.Data, p.Bytes(), x.rank[from], x.tag(from, to, what))}
	}
	return &Message{Request: x.comm.Irecv(p.Data, p.Bytes(), x.rank[from], x.tag(from, to, what))}
}

// failed returns a message that has failed.
func failed(err error) *Message {
	m := &Message{Request: comm.NewRequest()}
	m.Finish(err)
	return m
}

// Wait waits until messages are done, or for the end of the run. It returns their marks.
func (x *Exchange) Wait(what string, messages []*Message) (marks []kernels.Mark, err error) {
	for _, m := range messages {
		select {
		case err := <-m.Done():
			if err != nil {
				return nil, fmt.Errorf("exchange: %s: %w", what, err)
			}
		case <-x.run.Done():
			return nil, context.Cause(x.run)
		}
		if m.copied != 0 {
			marks = append(marks, m.copied)
		}
	}
	return marks, nil
}

// Pieces is the largest number of messages in which a macro block-column of G travels, so that its first
// narrow block-columns are under way, or already worked on, while its last are still computed.
const Pieces = 4

// Kinds is the largest number of messages in which a piece travels.
const Kinds = 4
