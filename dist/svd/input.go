package svd

import (
	"errors"
	"fmt"
	"sync"

	"jmpi/dist/comm"
	"jmpi/internal/parallel"
)

// input is a matrix that all ranks share. Where its columns lie on ranks, each rank answers the others'
// requests until all have been served: which parts a rank needs, and when, the decomposition decides.
type input struct {
	comm   comm.Comm
	source Source
	m, n   int
	from   []int // rank r has columns from[r] ≤ j < from[r+1]; not of a Func

	ask, answer []*line // for own requests, for those of others
	serving     sync.WaitGroup
	mu          sync.Mutex
	failed      error // of an answer
}

// textWords is the room for an error in an answer, in numbers.
const textWords = 64

// serve begins to answer requests.
func (in *input) serve() {
	if in.source.fill != nil {
		return
	}
	in.ask, in.answer = lines(in.comm), lines(in.comm)
	if in.source.mine == nil {
		return
	}
	for _, l := range in.answer {
		if l.peer != in.comm.Rank() {
			in.serving.Go(func() {
				parallel.Guard(func() { in.fail(in.serveOne(l)) }, func(e error) { in.fail(lost(in.comm, e)) })
			})
		}
	}
}

// fail keeps an error of an answer.
func (in *input) fail(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.failed = errors.Join(in.failed, err)
}

// serveOne answers the requests of one rank: a rectangle each; one with a negative number is the last. An
// answer begins with the length of an error in bytes, 0 for none, and the error.
func (in *input) serveOne(l *line) error {
	for {
		q, err := l.receive(requestTag, 4)
		if err != nil || q[0] < 0 {
			return err
		}
		x := rectangle{int(q[0]), int(q[1]), int(q[2]), int(q[3])}
		words := textWords + x.size()
		data, err := l.room(words)
		if err != nil {
			return err
		}
		data[0] = 0
		if err := in.own(x, place{data[textWords:], 1, x.i1 - x.i0}); err != nil {
			data[0] = float64(copy(comm.BytesOf(data[1:textWords]), err.Error()))
		}
		if err := l.send(replyTag, words); err != nil {
			return err
		}
	}
}

// fetch writes a rectangle that lies in the columns of another rank.
func (in *input) fetch(rank int, x rectangle, to place) error {
	l := in.ask[rank]
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.tell(requestTag, float64(x.i0), float64(x.i1), float64(x.j0), float64(x.j1)); err != nil {
		return err
	}
	data, err := l.receive(replyTag, textWords+x.size())
	if err != nil {
		return err
	}
	if bytes := int(data[0]); bytes > 0 {
		return fmt.Errorf("rank %d: %s", rank, comm.BytesOf(data[1:textWords])[:bytes])
	}
	to.put(x.i1-x.i0, x.j1-x.j0, data[textWords:], 1, x.i1-x.i0)
	return nil
}

// end tells the ranks that have columns that this one needs no more, and waits until all have said so. It is
// collective.
func (in *input) end() error {
	if in.source.fill != nil {
		return nil
	}
	for rank, l := range in.ask {
		if rank != in.comm.Rank() && in.from[rank] < in.from[rank+1] {
			if err := l.tell(requestTag, -1, 0, 0, 0); err != nil {
				return err
			}
		}
	}
	in.serving.Wait()
	freeAll(in.ask)
	freeAll(in.answer)
	return in.failed
}
