package comm

import (
	"encoding/binary"
	"slices"
)

// collective runs one non-blocking collective operation of MPI to its end.
func (c *mpiComm) collective(op string, post func(id int64) error) error {
	o := newOperation(CommError{Op: op, Rank: c.rank, Peer: -1, Tag: -1})
	o.post = func(_ *mpiThread, id int64) (int, error) { return 1, post(id) }
	c.queue.put(o)
	return o.request.Wait()
}

// open fails after Close. A rank that is alone knows what all ranks say: it asks no more than this, since
// MPI's thread would need some 50 µs to wake up.
func (c *mpiComm) open(op string) error {
	if why := c.queue.why(); why != nil {
		return collectiveError(op, c.rank, why)
	}
	return nil
}

func (c *mpiComm) AllreduceSum(x []int64) error { return c.allreduce(x, false) }

func (c *mpiComm) AllreduceMax(x []int64) error { return c.allreduce(x, true) }

func (c *mpiComm) allreduce(x []int64, maximum bool) error {
	if len(x) == 0 {
		return nil
	}
	if c.size == 1 {
		return c.open(opAllreduce)
	}
	both, err := newCSlice[int64](2 * len(x))
	if err != nil {
		return collectiveError(opAllreduce, c.rank, err)
	}
	defer freeCSlice(both)
	in, out := both[:len(x)], both[len(x):]
	copy(in, x)
	err = c.collective(opAllreduce, func(id int64) error { return rawIallreduce(in, out, maximum, id) })
	if err != nil {
		return err
	}
	copy(x, out)
	return nil
}

// Bcast first sends the length, then the bytes, in pieces.
func (c *mpiComm) Bcast(b []byte, root int) ([]byte, error) {
	if err := checkRoot(root, c.size); err != nil {
		return nil, collectiveError(opBcast, c.rank, err)
	}
	if c.size == 1 {
		return slices.Clone(b), c.open(opBcast)
	}
	length, err := c.bcast(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), 8, root)
	if err != nil {
		return nil, err
	}
	return c.bcast(b, int(binary.LittleEndian.Uint64(length)), root)
}

// bcast is Bcast where every rank knows the length.
func (c *mpiComm) bcast(b []byte, length, root int) ([]byte, error) {
	if length == 0 {
		return nil, nil
	}
	both, err := newCSlice[byte](length)
	if err != nil {
		return nil, collectiveError(opBcast, c.rank, err)
	}
	defer freeCSlice(both)
	if c.rank == root {
		copy(both, b)
	}
	for from := 0; from < length; from += int(pieceBytes) {
		piece := both[from:min(length, from+int(pieceBytes))]
		err := c.collective(opBcast, func(id int64) error { return rawIbcast(piece, root, id) })
		if err != nil {
			return nil, err
		}
	}
	return slices.Clone(both), nil
}

// Allgather first gathers the lengths, then the bytes.
func (c *mpiComm) Allgather(b []byte) ([][]byte, error) {
	lengths, err := c.gatherLengths(len(b))
	if err != nil {
		return nil, err
	}
	if err := checkGather(lengths); err != nil {
		return nil, collectiveError(opAllgather, c.rank, err)
	}
	all, err := c.gatherBytes(b, lengths)
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, c.size)
	for rank, length := range lengths {
		parts[rank], all = all[:length:length], all[length:]
	}
	return parts, nil
}

func (c *mpiComm) gatherLengths(length int) ([]int64, error) {
	if c.size == 1 {
		return []int64{int64(length)}, c.open(opAllgather)
	}
	both, err := newCSlice[int64](1 + c.size)
	if err != nil {
		return nil, collectiveError(opAllgather, c.rank, err)
	}
	defer freeCSlice(both)
	in, out := both[:1], both[1:]
	in[0] = int64(length)
	if err := c.collective(opAllgather, func(id int64) error { return rawIallgather(in, out, id) }); err != nil {
		return nil, err
	}
	return slices.Clone(out), nil
}

// gatherBytes returns the b of all ranks, one after the other.
func (c *mpiComm) gatherBytes(b []byte, lengths []int64) ([]byte, error) {
	if c.size == 1 {
		return slices.Clone(b), nil
	}
	counts, err := newCSlice[cInt](2 * c.size)
	if err != nil {
		return nil, collectiveError(opAllgather, c.rank, err)
	}
	defer freeCSlice(counts)
	cLengths, cOffsets := counts[:c.size], counts[c.size:]
	total := int64(0)
	for rank, length := range lengths {
		cLengths[rank], cOffsets[rank] = cInt(length), cInt(total)
		total += length
	}
	both, err := newCSlice[byte](len(b) + int(total))
	if err != nil {
		return nil, collectiveError(opAllgather, c.rank, err)
	}
	defer freeCSlice(both)
	in, out := both[:len(b)], both[len(b):]
	copy(in, b)
	err = c.collective(opAllgather, func(id int64) error {
		return rawIallgatherv(in, out, cLengths, cOffsets, id)
	})
	if err != nil {
		return nil, err
	}
	return slices.Clone(out), nil
}
