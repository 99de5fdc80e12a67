package commtest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"jmpi/dist/comm"
)

// allreduceSum adds numbers of both signs, beyond 2³², on none, one and many words.
func allreduceSum(c comm.Comm) error {
	n := int64(c.Size())
	for _, words := range []int{0, 1, 3, 1000} {
		x := make([]int64, words)
		want := make([]int64, words)
		for i := range x {
			k := int64(i) * 5_000_000_000
			x[i] = k*int64(c.Rank()) - 7 // Σ rank = n(n−1)/2
			want[i] = k*n*(n-1)/2 - 7*n
		}
		if err := c.AllreduceSum(x); err != nil {
			return err
		}
		if !slices.Equal(x, want) {
			return fmt.Errorf("sum of %d words: %v, want %v", words, x, want)
		}
	}
	return nil
}

func allreduceMax(c comm.Comm) error {
	rank, last := int64(c.Rank()), int64(c.Size()-1)
	x := []int64{rank, -rank, -5 - rank, math.MinInt64, math.MinInt64 + rank, math.MaxInt64 - rank}
	want := []int64{last, 0, -5, math.MinInt64, math.MinInt64 + last, math.MaxInt64}
	if err := c.AllreduceMax(x); err != nil {
		return err
	}
	if !slices.Equal(x, want) {
		return fmt.Errorf("maximum %v, want %v", x, want)
	}
	return nil
}

// allgather gathers parts of different lengths, some and then all of them empty.
func allgather(c comm.Comm) error {
	for _, length := range []func(rank int) int{
		func(rank int) int { return 5 },
		func(rank int) int { return rank % 3 * 1000 },
		func(rank int) int { return (rank + 1) % 2 },
		func(rank int) int { return 100_000 + rank },
		func(rank int) int { return 0 },
	} {
		part := func(rank int) []byte {
			b := make([]byte, length(rank))
			message{from: rank}.fill(b)
			return b
		}
		parts, err := c.Allgather(part(c.Rank()))
		if err != nil {
			return err
		}
		if len(parts) != c.Size() {
			return fmt.Errorf("%d parts of %d ranks", len(parts), c.Size())
		}
		for rank, got := range parts {
			if !bytes.Equal(got, part(rank)) {
				return fmt.Errorf("what rank %d gave, %d bytes, came as %d others", rank, length(rank), len(got))
			}
		}
	}
	return nil
}

// bcast sends messages of several lengths from every rank, also none, and refuses what is no rank.
func bcast(c comm.Comm) error {
	for root := range c.Size() {
		for _, length := range []int{0, 1, 1000, 3_000_000} {
			want := make([]byte, length)
			message{from: root}.fill(want)
			mine := make([]byte, 7)
			if c.Rank() == root {
				mine = want
			}
			got, err := c.Bcast(mine, root)
			if err != nil {
				return err
			}
			if !bytes.Equal(got, want) {
				return fmt.Errorf("%d bytes of rank %d came as %d others", length, root, len(got))
			}
		}
	}
	for _, root := range []int{-1, c.Size()} {
		if _, err := c.Bcast(nil, root); err == nil {
			return fmt.Errorf("a message of rank %d of %d", root, c.Size())
		}
	}
	return nil
}

// collectiveAmongMessages makes collective calls while messages are under way.
func collectiveAmongMessages(c comm.Comm) error {
	const n = 500_000
	to, from := (c.Rank()+1)%c.Size(), (c.Rank()-1+c.Size())%c.Size()
	receive, err := NewBlock(n)
	if err != nil {
		return err
	}
	r := c.Irecv(receive.Address(0), n, from, 6)
	if err := allreduceSum(c); err != nil {
		return err
	}
	send, err := NewBlock(n)
	if err != nil {
		return err
	}
	message{c.Rank(), to, 6, 0}.fill(send.Bytes)
	s := c.Isend(send.Address(0), n, to, 6)
	if err := allgather(c); err != nil {
		return err
	}
	if err := waitAll([]*comm.Request{r, s}); err != nil {
		return err
	}
	return errors.Join(message{from, c.Rank(), 6, 0}.check(receive.Bytes), send.Free(), receive.Free())
}
