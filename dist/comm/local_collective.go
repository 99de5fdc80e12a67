package comm

import (
	"errors"
	"fmt"
	"slices"
)

// localRound is one collective call: every rank brings its contribution, and takes what all have brought.
type localRound struct {
	op      string
	parts   []contribution
	missing int           // ranks that have not come yet
	over    chan struct{} // closed when the last one has come, or by Abort
	err     error         // may be read when over is closed
}

// contribution is what one rank brings: words to allreduce or bytes to allgather.
type contribution struct {
	here  bool
	words []int64
	bytes []byte
}

func (r *localRound) end(err error) {
	if err != nil {
		r.err = err
	}
	close(r.over)
}

// meet adds this rank's contribution to the round under way and returns those of all ranks.
func (c *localComm) meet(op string, part contribution) ([]contribution, error) {
	r, err := c.join(op, part)
	if err != nil {
		return nil, err
	}
	<-r.over
	return r.parts, r.err
}

func (c *localComm) join(op string, part contribution) (*localRound, error) {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.unusable(c); err != nil {
		return nil, err
	}
	if w.round == nil {
		w.round = &localRound{op: op, parts: make([]contribution, w.size), missing: w.size,
			over: make(chan struct{})}
	}
	r := w.round
	if r.parts[c.rank].here {
		return nil, errors.New("a collective call of this rank is under way already")
	}
	if r.op != op {
		r.err = fmt.Errorf("rank %d called %s where another rank called %s", c.rank, op, r.op)
	}
	r.parts[c.rank] = part
	r.missing--
	if r.missing == 0 {
		w.round = nil
		r.end(nil)
	}
	return r, nil
}

func (c *localComm) AllreduceSum(x []int64) error {
	return c.allreduce("sum", x, func(a, b int64) int64 { return a + b })
}

func (c *localComm) AllreduceMax(x []int64) error {
	return c.allreduce("maximum", x, func(a, b int64) int64 { return max(a, b) })
}

func (c *localComm) allreduce(name string, x []int64, combine func(a, b int64) int64) error {
	parts, err := c.meet(opAllreduce+" "+name, contribution{here: true, words: slices.Clone(x)})
	if err != nil {
		return collectiveError(opAllreduce, c.rank, err)
	}
	for rank, part := range parts {
		if len(part.words) != len(parts[0].words) {
			return collectiveError(opAllreduce, c.rank,
				fmt.Errorf("%d numbers on rank 0, but %d on rank %d", len(parts[0].words), len(part.words), rank))
		}
	}
	copy(x, parts[0].words)
	for _, part := range parts[1:] {
		for i := range x {
			x[i] = combine(x[i], part.words[i])
		}
	}
	return nil
}

func (c *localComm) Bcast(b []byte, root int) ([]byte, error) {
	if err := checkRoot(root, c.world.size); err != nil {
		return nil, collectiveError(opBcast, c.rank, err)
	}
	part := contribution{here: true}
	if c.rank == root {
		part.bytes = slices.Clone(b)
	}
	parts, err := c.meet(fmt.Sprintf("%s from rank %d", opBcast, root), part)
	if err != nil {
		return nil, collectiveError(opBcast, c.rank, err)
	}
	return slices.Clone(parts[root].bytes), nil // ranks share no memory
}

func (c *localComm) Allgather(b []byte) ([][]byte, error) {
	parts, err := c.meet(opAllgather, contribution{here: true, bytes: slices.Clone(b)})
	if err != nil {
		return nil, collectiveError(opAllgather, c.rank, err)
	}
	lengths := make([]int64, len(parts))
	for rank, part := range parts {
		lengths[rank] = int64(len(part.bytes))
	}
	if err := checkGather(lengths); err != nil {
		return nil, collectiveError(opAllgather, c.rank, err)
	}
	gathered := make([][]byte, len(parts))
	for rank, part := range parts {
		gathered[rank] = slices.Clone(part.bytes) // ranks share no memory
	}
	return gathered, nil
}
