package commtest

import (
	"errors"
	"fmt"
	"sync"

	"jmpi/dist/comm"
)

func rankAndSize(c comm.Comm) error {
	if c.Size() < 1 || c.Rank() < 0 || c.Rank() >= c.Size() {
		return fmt.Errorf("rank %d of %d", c.Rank(), c.Size())
	}
	if c.Library() == "" || c.Node() == "" {
		return fmt.Errorf("library %q, node %q", c.Library(), c.Node())
	}
	ranks := make([]int64, c.Size())
	ranks[c.Rank()] = 1
	if err := c.AllreduceSum(ranks); err != nil {
		return err
	}
	for rank, n := range ranks {
		if n != 1 {
			return fmt.Errorf("rank %d exists %d times", rank, n)
		}
	}
	return nil
}

// exchange sends the messages `out` and receives the messages `in`, all outstanding at once, each
// of length(m) bytes, posted in the order of the slices.
func exchange(c comm.Comm, out, in []message, length func(message) int) error {
	send, sent, err := post(c.Isend, out, length, func(m message) int { return m.to }, true)
	if err != nil {
		return err
	}
	receive, received, err := post(c.Irecv, in, length, func(m message) int { return m.from }, false)
	if err != nil {
		return err
	}
	if err := waitAll(append(sent, received...)); err != nil {
		return err
	}
	offset := 0
	for _, m := range in {
		n := length(m)
		if err := m.check(receive.Bytes[offset : offset+n]); err != nil {
			return err
		}
		offset += n
	}
	return errors.Join(send.Free(), receive.Free())
}

// post puts the messages one after the other into a new block, filled if they are to be sent, and
// starts them.
func post(start startFunc, messages []message, length, peer func(message) int,
	fill bool) (*Block, []*comm.Request, error) {
	total := 0
	for _, m := range messages {
		total += length(m)
	}
	block, err := NewBlock(total)
	if err != nil {
		return nil, nil, err
	}
	offset := 0
	var requests []*comm.Request
	for _, m := range messages {
		n := length(m)
		if fill {
			m.fill(block.Bytes[offset : offset+n])
		}
		requests = append(requests, start(block.Address(offset), int64(n), peer(m), m.tag))
		offset += n
	}
	return block, requests, nil
}

// everyPair returns the messages of this tag from and to every rank, its own included, `count` of each.
func everyPair(c comm.Comm, tag, count int) (out, in []message) {
	for number := range count {
		for peer := range c.Size() {
			out = append(out, message{c.Rank(), peer, tag, number})
			in = append(in, message{peer, c.Rank(), tag, number})
		}
	}
	return out, in
}

func zeroLength(c comm.Comm) error {
	out, in := everyPair(c, 1, 2)
	return exchange(c, out, in, func(message) int { return 0 })
}

func self(c comm.Comm) error {
	m := []message{{c.Rank(), c.Rank(), 3, 0}, {c.Rank(), c.Rank(), 3, 1}}
	return exchange(c, m, m, func(message) int { return 300_001 })
}

// firstInFirstOut alternates short and long messages: MPI carries them by different protocols.
func firstInFirstOut(c comm.Comm) error {
	out, in := everyPair(c, 7, 8)
	return exchange(c, out, in, func(m message) int { return 1 + m.number%2*100_000 + m.number })
}

func manyOutstanding(c comm.Comm) error {
	out, in := everyPair(c, 11, 200)
	return exchange(c, out, in, func(m message) int { return 64 + m.number })
}

// ring passes every rank's block around until each has its own again.
func ring(c comm.Comm) error {
	const n = 1<<20 + 3
	size, rank := c.Size(), c.Rank()
	right, left := (rank+1)%size, (rank-1+size)%size
	here, err := NewBlock(n)
	if err != nil {
		return err
	}
	landing, err := NewBlock(n)
	if err != nil {
		return err
	}
	message{from: rank}.fill(here.Bytes)
	for step := 1; step <= size; step++ {
		r := c.Irecv(landing.Address(0), n, left, 2)
		s := c.Isend(here.Address(0), n, right, 2)
		if err := waitAll([]*comm.Request{r, s}); err != nil {
			return err
		}
		here, landing = landing, here
		if err := (message{from: (rank - step + size) % size}).check(here.Bytes); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return errors.Join(here.Free(), landing.Free())
}

// fiveTags posts the receives of five tags in another order than the sends.
func fiveTags(c comm.Comm) error {
	var out, in []message
	for number := range 6 {
		for k := range 5 {
			out = append(out, message{c.Rank(), (c.Rank() + 1) % c.Size(), 100 + k, number})
		}
	}
	for k := range 5 {
		for number := range 6 {
			in = append(in, message{(c.Rank() - 1 + c.Size()) % c.Size(), c.Rank(), 104 - k, number})
		}
	}
	return exchange(c, out, in, func(m message) int { return 10 + 3000*(m.tag-100) })
}

// manyGoroutines uses one communicator from several goroutines, a tag each.
func manyGoroutines(c comm.Comm) error {
	errs := make([]error, 6)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			for range 10 {
				out, in := everyPair(c, 20+i, 2)
				if errs[i] = exchange(c, out, in, func(message) int { return 5000 }); errs[i] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// sendBufferIsFree overwrites the memory of a message as soon as it has been sent.
func sendBufferIsFree(c comm.Comm) error {
	const n = 200_000
	to, from := (c.Rank()+1)%c.Size(), (c.Rank()-1+c.Size())%c.Size()
	send, err := NewBlock(n)
	if err != nil {
		return err
	}
	receive, err := NewBlock(2 * n)
	if err != nil {
		return err
	}
	first := c.Irecv(receive.Address(0), n, from, 4)
	second := c.Irecv(receive.Address(n), n, from, 4)
	for number := range 2 {
		message{c.Rank(), to, 4, number}.fill(send.Bytes)
		if err := c.Isend(send.Address(0), n, to, 4).Wait(); err != nil {
			return err
		}
	}
	clear(send.Bytes)
	if err := waitAll([]*comm.Request{first, second}); err != nil {
		return err
	}
	for number := range 2 {
		m := message{from, c.Rank(), 4, number}
		if err := m.check(receive.Bytes[number*n : (number+1)*n]); err != nil {
			return err
		}
	}
	return errors.Join(send.Free(), receive.Free())
}

// lengths sends around the bounds of a piece (1 KiB where the test of an implementation has set
// it so), two messages of each length under one tag.
func lengths(c comm.Comm) error {
	for _, n := range []int{1, 1023, 1024, 1025, 2047, 2048, 2049, 10_000} {
		out, in := everyPair(c, 5, 2)
		if err := exchange(c, out, in, func(message) int { return n }); err != nil {
			return fmt.Errorf("%d bytes: %w", n, err)
		}
	}
	return nil
}
